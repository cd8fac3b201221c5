//go:build cgo && duckdb_arrow

package foreachbatch

import (
	"strings"
	"testing"
)

// TestStatementsMayNotEndTheTransaction: a COMMIT of the user's would make rows visible without the batch's entry, and a crash after it would double them.
func TestStatementsMayNotEndTheTransaction(t *testing.T) {
	for _, text := range []string{"COMMIT", "end", "-- now\nCommit", "/* */ rollback", "BEGIN", "start transaction", "; ABORT"} {
		_, err := DuckDB(DuckDBConfig{Path: "x", SQL: []string{"SELECT 1", text}})
		if err == nil || !strings.Contains(err.Error(), "statement 2") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := DuckDB(DuckDBConfig{Path: "x", SQL: []string{"INSERT INTO commits SELECT 'COMMIT' FROM batch"}}); err != nil {
		t.Error(err)
	}
}
