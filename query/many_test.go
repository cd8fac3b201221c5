//go:build cgo && duckdb_arrow

package query

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"microbatch/table"
	"microbatch/table/action"
	"microbatch/table/translog"
)

// manyFiles is a table of n files, which are links to one.
func manyFiles(t testing.TB, n int) *maker {
	store := folder(t)
	m := create(t, store, translog.Parquet, "id BIGINT, a STRING, b STRING, c DOUBLE, ts TIMESTAMP")
	adds := m.stage(m.table.Snapshot().Schema(), `{"id": 1, "a": "x", "b": "y", "c": 1.5, "ts": "2024-01-01 00:00:00Z"}`)
	actions := make([]action.Action, n)
	for i := range n {
		one := *adds[0]
		one.Path = fmt.Sprintf("part-%06d.snappy.parquet", i)
		if err := os.Link(filepath.Join(store.URL(), adds[0].Path), filepath.Join(store.URL(), one.Path)); err != nil {
			t.Fatal(err)
		}
		actions[i].Add = &one
	}
	for len(actions) > 0 {
		k := min(len(actions), 1000)
		m.commit(actions[:k])
		actions = actions[k:]
	}
	if _, err := m.table.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	return m
}

// BenchmarkStartOn100kFiles compares naming a table in a session with opening its log, which anybody has to do.
func BenchmarkStartOn100kFiles(b *testing.B) {
	m := manyFiles(b, 100_000)
	var opening, naming time.Duration
	for b.Loop() {
		start := time.Now()
		t, err := table.Open(b.Context(), m.store, table.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := t.Snapshot().Files(b.Context()); err != nil {
			b.Fatal(err)
		}
		opening += time.Since(start)
		s := session(b, Options{})
		start = time.Now()
		if r := add(b, s, "t", Table{Store: m.store}); !r.DuckDB || r.Files != 100_000 {
			b.Fatal(r)
		}
		naming += time.Since(start)
	}
	b.ReportMetric(naming.Seconds()/float64(b.N), "s/add")
	b.ReportMetric(float64(naming)/float64(opening), "times-the-log")
}
