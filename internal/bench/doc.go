// Command bench measures microbatch and prints what it found as ratios: against DuckDB on the same file, against the bare disk, and from a Kafka broker.
// `make bench` runs it.
//
// Everything that is compared runs in one call of the program, in rounds that take turns, each side in a process of its own; a ratio is taken within a
// round, and the median of the rounds is shown with the least and the greatest. So a machine that is slow or busy changes the figures, but hardly the ratios.
// Our side is the program as a user starts it (`microbatch start --once`), from exec to exit, table and checkpoint on disk; the peer's time is that of its
// statement alone.
//
// Files: bench/results.json (name, unit, ours, peer, ratio, required, spread), docs/benchmarks.md (the same for people), bench/data (input and output, of
// which only the input stays).
package main
