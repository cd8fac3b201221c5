//go:build services

package postgres

import (
	"errors"
	"strings"
	"testing"

	"microbatch/internal/errcode"
	"microbatch/sinks"
	"microbatch/sinks/sinktest"
)

// statements keep the ids in a table of the user's, and how often a batch was applied.
var statements = []string{
	"INSERT INTO kept SELECT id FROM batch",
	"INSERT INTO log SELECT $batch_id, $query_id, count(*), '$batch_id; COMMIT' FROM batch",
}

// newStatements is a place whose rows are those of the table kept.
func newStatements(t *testing.T, sql ...string) *place {
	t.Helper()
	p := newPlace(t, Config{Mode: SQL, SQL: sql, Table: "kept"})
	p.server.Exec(t, p.name, "CREATE TABLE kept (id bigint)", "CREATE TABLE log (batch bigint, query text, rows bigint, text text)")
	return p
}

// TestStatementsConform: what a sink of statements promises is the same.
func TestStatementsConform(t *testing.T) {
	sinktest.Run(t, func(t *testing.T) sinktest.Harness { return newStatements(t, statements...).harness() })
}

// TestStatements: they see the batch by its columns' names and its number, and what fails leaves nothing.
func TestStatements(t *testing.T) {
	p := newStatements(t, statements...)
	d := sinktest.Start(t, p.harness(), sinktest.Query("q", 1), nil)
	d.Commit(sinks.Committed, 0, "a", []int64{1, 2}, []int64{3})
	d.Commit(sinks.AlreadyCommitted, 0, "a", []int64{1, 2}, []int64{3})
	d.Commit(sinks.Committed, 1, "a", []int64{4})
	var log string
	must(t, p.conn.QueryRow(t.Context(), "SELECT string_agg(concat_ws(' ', batch, query, rows, text), ', ' ORDER BY batch) FROM log").Scan(&log))
	if log != "0 q 3 $batch_id; COMMIT, 1 q 1 $batch_id; COMMIT" {
		t.Error(log)
	}
	for _, bad := range [][]string{
		{"INSERT INTO kept SELECT id FROM batch", "SELECT * FROM nowhere"},
		{"INSERT INTO kept SELECT id FROM batch", "SELECT 1/0"},
		{"INSERT INTO kept SELECT id FROM batch; COMMIT; SELECT 1/0"},
	} {
		broken := newStatements(t, bad...)
		d := sinktest.Start(t, broken.harness(), sinktest.Query("q", 1), nil)
		staged := d.Prepare(0, "a", []int64{1})
		_, err := d.Sink.Commit(t.Context(), staged)
		if !errcode.Has(err, errcode.ForeachSQL) || !strings.Contains(err.Error(), "statement") {
			t.Errorf("%q: %v", bad, err)
		}
		must(t, errors.Join(d.Sink.Abort(t.Context(), staged)))
		if ids := broken.harness().Rows(t); len(ids) > 0 {
			t.Errorf("%q has left %v", bad, ids)
		}
		if v := d.Visible(); v.Batch != -1 {
			t.Errorf("%q: %+v", bad, v)
		}
	}
}

// TestStatementsThatCannotBe are refused before anything is asked.
func TestStatementsThatCannotBe(t *testing.T) {
	for _, c := range []Config{
		{Mode: SQL}, {Mode: SQL, SQL: []string{"SELECT $no"}}, {Mode: SQL, SQL: []string{"SELECT 1", " /* x */ commit"}}, {Mode: SQL, SQL: []string{"PREPARE TRANSACTION 'x'"}},
		{Mode: Append, Table: "t", SQL: []string{"SELECT 1"}}, {Mode: SQL, SQL: []string{"SELECT 1"}, Keys: []string{"id"}},
	} {
		if _, err := c.withDefaults(); err == nil || !strings.Contains(err.Error(), "sql") {
			t.Errorf("%+v: %v", c.SQL, err)
		}
	}
}
