// Package textfile reads the units of text files for the formats whose rows are lines: large reads into one reused buffer, in which whole lines
// stand one behind the other, followed by slack.
//
//	(X1) A unit owns the lines that begin in [From, To). A line that begins before From belongs to the unit before, one that begins in the
//	     unit is read to its end, wherever that is.
//	(X2) The last line of a file may lack its line end: one is put behind it in memory.
//	(X3) Of a line longer than MaxLine only the beginning is kept; the buffer grows no further.
package textfile
