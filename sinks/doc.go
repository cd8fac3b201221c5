// Package sinks is the contract of a sink: something that makes a batch visible in one atomic step, at most once.
//
// It is two-phase commit with the engine as coordinator: Prepare stages, Commit makes visible, Abort forgets.
//
//	(K1) Nothing of a batch is visible before Commit, and all of it after: one atomic step.
//	(K2) The step stores the batch id, the digest of its offsets entry and the epoch, atomically with the rows.
//	(K3) Commit of a batch that is visible already with our digest does nothing and says AlreadyCommitted. With another digest it is an error.
//	(K4) Commit of an older epoch than one the sink has seen is refused inside the same step: Fenced.
//	(K5) After Uncertain nothing is deleted: staged output may have become part of the result.
//	(K6) Check and Visible write nothing and fence nothing. Recover may.
package sinks
