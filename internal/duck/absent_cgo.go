//go:build !cgo

package duck

const missing = "cgo was off (CGO_ENABLED=0, or no C compiler); build with CGO_ENABLED=1 and -tags duckdb_arrow"
