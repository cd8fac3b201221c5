//go:build cgo && duckdb_arrow

package sql_test

import (
	"testing"

	"microbatch/transforms/transformtest"
)

func TestDbg(t *testing.T) {
	in := orders(t)
	for _, q := range []string{"SELECT id, amount, ts, ts::DATE as d, day(ts) as dd FROM batch", "SELECT day(ts) AS d, count(*) AS n, sum(amount) AS total FROM batch GROUP BY ALL"} {
		op := operator(t, q)
		rows, _ := transformtest.Rows(t, op, in, 1)
		for _, r := range rows[:min(len(rows), 5)] {
			t.Log(r)
		}
	}
	rows, _ := transformtest.Rows(t, identity{}, in, 1)
	for _, r := range rows[:5] {
		t.Log(r)
	}
}
