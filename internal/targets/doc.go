// Package targets reads what sinks that are no tables hold, as somebody who has no part in their work: for package checker, which compares it with a query's
// checkpoint. It has its own readers of the positions, and shares no code with the sinks that write them.
//
//	Kafka      the marker: the position of the group microbatch-<query>[-<shard>], with its metadata, as it stands when no transaction is about to end
//	Postgres   the row of the table microbatch_positions
//	Files      the ledger below _microbatch, and the folders that it names, which are whole or deleted by readers
//	DuckDB     the table microbatch_ledger
//	None       nothing: the place keeps no batches
//
// All of them only read.
package targets
