//go:build cgo && duckdb_arrow

package query

import (
	"testing"

	"microbatch/table/action"
)

// Statistics say that all files have all columns only where each file's own name them.
func TestStatisticsNameTheColumns(t *testing.T) {
	const columns = "id BIGINT, `nullCount` STRUCT<id: BIGINT, `nullCount`: BIGINT>, s STRING"
	whole := `"nullCount":{"id":0,"nullCount":{"id":0,"nullCount":0},"s":0}}`
	for _, c := range []struct {
		name    string
		columns string
		stats   []string
		want    bool
	}{
		{"all the same", "id BIGINT, s STRING", []string{`{"numRecords":1,"nullCount":{"id":0,"s":0}}`, `{"numRecords":2,"nullCount":{"id":0,"s":0}}`}, true},
		{"other counts", "id BIGINT, s STRING", []string{`{"nullCount":{"id":0,"s":0}}`, `{"nullCount":{"s":7,"id":0}}`}, true},
		{"one lacks a column", "id BIGINT, s STRING", []string{`{"nullCount":{"id":0,"s":0}}`, `{"nullCount":{"id":0}}`, `{"nullCount":{"id":0,"s":0}}`}, false},
		{"the first lacks a column", "id BIGINT, s STRING", []string{`{"nullCount":{"id":0}}`, `{"nullCount":{"id":0,"s":0}}`}, false},
		{"no statistics", "id BIGINT", []string{`{"nullCount":{"id":0}}`, ""}, false},
		{"no counts", "id BIGINT", []string{`{"numRecords":1}`}, false},
		{"cut off", "id BIGINT", []string{`{"nullCount":{"id":0`}, false},
		{"a value that looks like counts", "id BIGINT, s STRING", []string{`{"minValues":{"s":"\"nullCount\":{\"id\":0,\"s\":0}}"},"nullCount":{"s":0}}`}, false},
		{"counts are not the last", "id BIGINT, s STRING", []string{`{"nullCount":{"id":0,"s":0},"numRecords":1}`, `{"nullCount":{"id":0},"numRecords":1}`}, false},
		{"a column of that name", columns, []string{`{"numRecords":1,` + whole, `{"numRecords":2,` + whole}, false}, // all files are opened
	} {
		o := &opened{schema: ddl(t, c.columns)}
		for _, s := range c.stats {
			o.files = append(o.files, &action.Add{Stats: s})
		}
		if got := o.sameColumns(); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
