// Command bench measures microbatch and prints what it found as ratios: against DuckDB on the same file, against the bare disk and the bare store, against what
// fetching, decoding and encoding cost alone, and, with --peers, against Spark. `make bench` and `make bench-peers` run it.
//
// Everything that is compared runs in one call of the program, in rounds that take turns, each side in a process of its own; a ratio is taken within a
// round, and the median of the rounds is shown with the least and the greatest. So a machine that is slow or busy changes the figures, but hardly the ratios.
// Our side is the program as a user starts it (`microbatch start --once`), from exec to exit, table and checkpoint on disk; DuckDB's time is that of its
// statement alone.
//
// workloads.go is the table of all that is measured; each workload has one function. An interrupted run goes on where it stopped, as long as the code is the
// same: what it has measured is noted in the data folder.
//
// Files: bench/results.json, docs/benchmarks.md and docs/benchmarks (package report), bench/data (input and output, of which only the input stays).
package main
