// Package rate is a source of counted rows at a fixed pace, like Spark's rate source, for tries and load tests.
//
// The offset is the bare number of whole seconds since the start. Row v (from 0) has
//
//	value      v
//	timestamp  start + v * 1000 ms / rows per second, rounded to whole milliseconds
//
// so second s holds the values [s * RowsPerSecond, (s+1) * RowsPerSecond), whenever and however it is read. The start is resolved at
// the first start of the query and pinned in the checkpoint as Spark does it:
//
//	sources/<n>/0    v1 LF <milliseconds since 1970>
package rate
