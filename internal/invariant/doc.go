// Package invariant panics when something that is always true is not: a bug in this program, never bad input.
package invariant
