// Package parquettest makes Arrow schemas and records for tests of what is written to and read from Parquet: all types of the project, with nulls where they
// are allowed, from a seed.
package parquettest
