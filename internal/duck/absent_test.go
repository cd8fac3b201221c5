//go:build !cgo || !duckdb_arrow

package duck

import (
	"strings"
	"testing"

	"microbatch/internal/errcode"
)

func TestWithoutDuckDBTheErrorSaysWhatIsMissing(t *testing.T) {
	_, err := Open(Config{})
	if !errcode.Has(err, errcode.DuckDBMissing) || !strings.Contains(err.Error(), "-tags duckdb_arrow") {
		t.Fatal(err)
	}
}
