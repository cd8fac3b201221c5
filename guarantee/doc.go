// Package guarantee computes what a pipeline promises from end to end.
//
// Each component describes its own link as plain data: how it may fail a row (Level), and why. Compute puts the links together and nothing else:
//
//	a link may repeat a row       at least once
//	a link may lose a row         at most once
//	neither                       exactly once
//
// Repeating and losing are two kinds of weakness, so no chain hides one behind the other: if one link may repeat and another may lose, the pipeline promises neither.
// What a link may do is about rows that the source has delivered and the pipeline wants: rows that a filter leaves out, or that do not decode and are dropped on
// request, are no loss but warnings where they deserve one.
package guarantee
