// Package query reads tables with SQL: each table is a view of DuckDB over exactly the files that its log names at one version, never over a glob. So an
// answer holds no orphans, no rows of half a batch, and nothing twice.
//
// Who reads the files:
//
//	DuckDB itself    its read_parquet over the list of files, on local disk, and on S3 where its httpfs extension can be loaded
//	our own reader   everywhere else, and where DuckDB would be wrong: files with deletion vectors, partition values that do not stand in the names of
//	                 the directories as the log has them, columns that no file has yet
//
// The rows are the same; Reading says which it was, and why. Partition values come from the log: DuckDB takes them from the directories only after they
// were compared.
//
// DuckDB's extensions are never downloaded. They are looked for in Options.Extensions, in the folders of $MICROBATCH_DUCKDB_EXTENSIONS and in
// ~/.duckdb/extensions.
package query
