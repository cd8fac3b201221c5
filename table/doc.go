// Package table is a lakehouse table: Parquet files, and a transaction log with Delta Lake's actions that says which of them count.
//
//	orders/                                            orders/
//	  _metadata/_00000000000000000000.json               _delta_log/00000000000000000000.json
//	  day=2026-01-01/part-00000-...snappy.parquet        day=2026-01-01/part-00000-...snappy.parquet
//	format parquet: for plain Parquet readers          format delta: a conforming Delta table
//
// A Table is a handle; a Snapshot is the table at one version and never changes. Opening, refreshing and appending read no list of files: that happens
// only in Snapshot.Files and what is built on it. The parts do the work: action (the vocabulary), translog (the log and its commits), datafile
// (the Parquet files), maintain (optimize, vacuum, check).
//
// What a commit guarantees: it becomes visible as a whole or not at all, at exactly one version; no two writers ever commit the same version; and a commit
// whose answer was lost is told apart from another's by its own id. What it does not: files that were staged and never committed stay until vacuum.
package table
