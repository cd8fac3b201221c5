//go:build cgo && duckdb_arrow

package sql

import (
	"slices"
	"strings"
	"testing"
)

// TestSteadyFunctionsAreSteadyToDuckDB: it has them, and calls none of them anything else.
func TestSteadyFunctionsAreSteadyToDuckDB(t *testing.T) {
	s := newSession(t)
	unstable, err := s.unstable(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !unstable["random"] || unstable["now"] {
		t.Errorf("%v", unstable)
	}
	conn, err := s.duck.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	all, err := conn.Text(t.Context(), "SELECT string_agg(DISTINCT function_name, ' ') FROM duckdb_functions()")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range steady {
		if unstable[name] || !slices.Contains(strings.Fields(all), name) {
			t.Error(name)
		}
	}
}
