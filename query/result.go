package query

import (
	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/internal/duck"
)

// Result is a running query. The caller closes it before the session's next one.
type Result struct {
	session *Session
	rows    *duck.Rows
	sql     string
}

// Schema is the result's columns, in DuckDB's Arrow types: they may be others than those of tables.
func (r *Result) Schema() *arrow.Schema { return r.rows.Schema() }

// Next is the next record, nil after the last one. The caller releases it, and copies texts that it keeps: they are in DuckDB's memory. Rows come as they are
// found: an error may follow some.
func (r *Result) Next() (arrow.RecordBatch, error) {
	rec, err := r.rows.Next()
	if err != nil {
		return nil, r.session.failed(r.sql, err)
	}
	return rec, nil
}

// Close ends the query, finished or not.
func (r *Result) Close() { r.rows.Close() }
