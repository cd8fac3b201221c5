// Package transforms is the contract of an operator: a step between source and sink.
//
// What every operator promises:
//
//	(T1) The result is a function of the rows, the state at the previous version and Env; in particular time is Env.Timestamp, never the clock. So a rerun gives the same rows.
//	(T2) The output schema is a function of the input schema, and known before any row.
//	(T3) Chunk ownership as in package batch; Chunk.Rejected passes through.
//	(T4) In == Out + Filtered for row-wise operators (Counts).
package transforms
