// Package csv decodes delimited text by a declared schema into the columns of package column; the texts of values are read there, as in JSON strings.
//
// A row is fields between delimiters up to a line end ("\n" or "\r\n"); RFC 4180:
//
//	row    = field *(delimiter field) line-end
//	field  = plain | '"' quoted '"'
//	plain  = anything but delimiter and line end; a quote inside is itself
//	quoted = anything, line ends too; a quote is written twice
//
//	(V1) A quote opens a quoted field at the beginning of a field only. What stands behind the closing quote rejects the row.
//	(V2) Rows have as many fields as the header, or the schema if there is none. Others are rejected.
//	(V3) With a header columns are found by their names, exactly or but for case; declared columns that it lacks are null, others are ignored. Without
//	     one they are taken in order.
//	(V4) A quote that is open at the end of the file rejects its row, which is all of the rest.
//	(V5) A file is cut at the beginning of rows only. Where quotes stand, that takes a look at them all from the start (fast: from quote to quote);
//	     Options.SingleLine says that no row has a line end in quotes, and saves that.
//
// Null is an unquoted field that equals Options.Null; for types other than STRING an empty field too. Blank lines are no rows. Where Spark's reader
// makes up nulls (too few fields, values that do not fit), the row is rejected here.
package csv
