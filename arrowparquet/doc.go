// Package arrowparquet writes Arrow records as Parquet files and reads them back.
package arrowparquet
