// Package report keeps what the benchmarks have measured and shows it: as rows of bench/results.json, as a table on a terminal, and as docs/benchmarks.md with
// bar charts.
//
//	bench/results.json       an array of Result, in the order of the sections
//	docs/benchmarks.md       all of it for people; rows that were never measured say so
//	docs/benchmarks/*.svg    one chart for each name in Row.Chart
//
// A row keeps the commit it was measured at, so rows may be measured one by one, and a reader sees which are older than the rest.
package report
