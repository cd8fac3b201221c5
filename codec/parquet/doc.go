// Package parquet decodes Parquet files by a declared schema, on package arrowparquet.
//
// A unit is a run of row groups: a unit owns the row groups whose first byte is in [From, To). Columns are found by name, without regard to case, at every
// level; a column that a file lacks is null; integers, floats and decimals may be narrower in the file than declared. Any other difference is an
// error that names file and column: in a format with types no single row is to blame, so nothing is rejected row by row.
package parquet
