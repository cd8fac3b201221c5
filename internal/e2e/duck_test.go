package e2e

import (
	"database/sql"
	"fmt"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"
)

// duckText runs statements in an embedded DuckDB of its own and returns the last one's single value as text.
func duckText(t *testing.T, statements ...string) string {
	t.Helper()
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	last := len(statements) - 1
	for _, s := range statements[:last] {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
	var v any
	if err := db.QueryRow(statements[last]).Scan(&v); err != nil {
		t.Fatalf("%s: %v", statements[last], err)
	}
	return fmt.Sprint(v)
}
