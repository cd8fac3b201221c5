// Package json decodes JSON objects, as messages or as the lines of files (NDJSON), into Arrow columns by a declared schema, infers schemas, and
// encodes rows as JSON.
//
// One parser serves all. It goes over the text once, without maps, reflection or allocation for a row:
//
//	(J1) An object's fields are expected in the order of the object before. A name is compared as one or two words; only a name that stands
//	     elsewhere than last time is looked up. So any order of keys costs the same, as long as rows resemble each other.
//	(J2) Values go straight to the buffers of package column. A string is scanned for its end and copied in the same loop, eight bytes a step.
//	(J3) Loads are not guarded by the text's length: the text is followed by 64 bytes of slack, and by a byte that ends every construct.
//	(J4) A line end is no blank in a file, so a row that is broken off ends there, and reading a row needs no search for its end first.
//	(J5) A row that is refused is taken back from all columns.
//
// How each JSON value is decided for each type stands in docs/json.md; the tests in testdata show every line of that table. Where Spark's reader
// turns a value that does not fit into null (mode PERMISSIVE), the row is rejected here.
package json
