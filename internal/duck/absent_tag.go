//go:build cgo && !duckdb_arrow

package duck

const missing = "the build tag duckdb_arrow was not set; build with -tags duckdb_arrow"
