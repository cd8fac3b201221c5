// Package translog is a table's transaction log: numbered commits that are created by put-if-absent, and checkpoints that sum them up.
//
//	format parquet                                 format delta
//	_metadata/_<v>.json               commit       _delta_log/<v>.json
//	_metadata/_<v>.checkpoint.json    checkpoint   _delta_log/<v>.checkpoint.parquet, found by _last_checkpoint or listing
//
// v has 20 digits. A commit is the JSON lines of package action. A checkpoint of version v holds what versions 0..v add up to: protocol, metaData,
// all txns, live adds, and removes younger than the retention. Checkpoints of the parquet format are JSON lines too: checkpointMetadata with the number
// of lines and a checksum first, then what a writer needs (protocol, metaData, txn, domainMetadata), then removes and adds. Of foreign Delta tables,
// multi-part checkpoints and v2 checkpoints with sidecars are read too.
//
// Invariants:
//
//	(T1) The put of <v>.json is the commit. It is tried at the version after the newest that was seen; a taken slot is never overwritten.
//	(T2) Before a commit is built on an entry that this process did not write, the entry is made durable (Store.Sync).
//	(T3) Whose entry stands at a version is decided by commitInfo.txnId, never by equal bytes.
//	(T4) After the put of v, version v-1 still is what it was, as a commit or as a checkpoint. If it is gone, the log had been cleaned while this
//	     process slept, v landed in the hole and no reader sees it; if it is another, so is the table.
//	(T5) Nothing is deleted that a checkpoint does not cover, and nothing younger than 48 hours; always from the oldest on.
//	(T6) To append, no list of files is ever read.
//	(T7) A commit goes behind versions of other writers only if these removed nothing that it reads and added nothing that it would have had to see (Change).
//	(T8) What Follow adds up to is what a fresh reading of the log at that version gives.
package translog
