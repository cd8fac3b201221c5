//go:build cgo && duckdb_arrow

package duck

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	bindings "github.com/duckdb/duckdb-go-bindings"
	"github.com/duckdb/duckdb-go/v2/arrowmapping"
	"github.com/duckdb/duckdb-go/v2/mapping"
)

// Rows is a running query. It is closed by the caller, before the next statement of its connection.
type Rows struct {
	conn    *Conn
	ended   func() error // of the query's context
	stop    func()       // the interrupter
	stmt    mapping.PreparedStatement
	result  mapping.Result
	options arrowmapping.ArrowOptions
	schema  *arrow.Schema
	running bool // DuckDB still holds what the query reads from
	closed  bool
}

// Query starts one statement. The statement is interrupted when ctx ends, until Rows.Close.
func (c *Conn) Query(ctx context.Context, sql string) (*Rows, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := &Rows{conn: c, ended: ctx.Err, stop: c.interruptOn(ctx)}
	if err := r.start(c, sql); err != nil {
		r.Close()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	return r, nil
}

func (r *Rows) start(c *Conn, sql string) (err error) {
	if r.stmt, err = c.prepareShort(sql); err != nil {
		return err
	}
	if c.short() && mapping.PreparedStatementType(r.stmt) != mapping.StatementTypeSelect { // it changes something: it runs once, by a plan that is whole
		err = r.again(sql)
	} else if err = r.execute(); err == nil && c.short() { // DuckDB has not bound it again, as it need not where no files are read
		mapping.DestroyResult(&r.result)
		err = r.again(sql)
	}
	if err != nil {
		return err
	}
	r.options = arrowmapping.ResultGetArrowOptions(&r.result)
	r.schema, err = arrowSchema(r.options, &r.result)
	return err
}

// again prepares and executes with all texts of all lists.
func (r *Rows) again(sql string) (err error) {
	mapping.DestroyPrepare(&r.stmt)
	if r.stmt, err = r.conn.prepare(sql); err != nil {
		return err
	}
	return r.execute()
}

func (r *Rows) execute() error {
	// The mapping layer has no name for streaming results, the bindings below it do.
	if bindings.ExecutePreparedStreaming(r.stmt, &r.result) == mapping.StateError {
		return parseError(mapping.ResultError(&r.result))
	}
	r.running = true
	return nil
}

// Schema is the result's schema in DuckDB's own Arrow types.
func (r *Rows) Schema() *arrow.Schema { return r.schema }

// Next is the next record, of up to 2,048 rows; nil after the last one. The caller releases it.
func (r *Rows) Next() (arrow.RecordBatch, error) {
	if err := r.ended(); err != nil {
		return nil, err
	}
	var chunk mapping.DataChunk
	if bindings.StreamFetchChunk(r.result, &chunk) == mapping.StateError {
		if err := r.ended(); err != nil {
			return nil, err
		}
		if text := mapping.ResultError(&r.result); text != "" {
			return nil, parseError(text)
		}
		r.running = false // DuckDB lets go at the end by itself
		return nil, nil
	}
	defer mapping.DestroyDataChunk(&chunk)
	if mapping.DataChunkGetSize(chunk) == 0 {
		r.running = false
		return nil, nil
	}
	rec, failure := arrowmapping.DataChunkToArrowArray(r.options, r.schema, chunk)
	if err := takeError(failure); err != nil {
		return nil, fmt.Errorf("duckdb: result to arrow: %w", err)
	}
	return rec, nil
}

// Close ends the query, finished or not: no view is read any more. A second call does nothing.
func (r *Rows) Close() {
	if r.closed {
		return
	}
	r.closed = true
	r.stop()
	arrowmapping.DestroyArrowOptions(&r.options)
	mapping.DestroyResult(&r.result)
	mapping.DestroyPrepare(&r.stmt)
	if r.running {
		r.conn.settle()
	}
}

// settle ends what a query that was left early still holds and runs: DuckDB keeps it until the connection's next statement.
func (c *Conn) settle() {
	var result mapping.Result
	mapping.Query(c.conn, "SELECT 1", &result)
	mapping.DestroyResult(&result)
}

// Text runs a query and returns the last column of its first row, which must be text: the answer of EXPLAIN and of functions that return JSON.
func (c *Conn) Text(ctx context.Context, sql string) (string, error) {
	rows, err := c.Query(ctx, sql)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	rec, err := rows.Next()
	if err != nil {
		return "", err
	}
	if rec == nil {
		return "", fmt.Errorf("duckdb: no row from %s", sql)
	}
	defer rec.Release()
	text, ok := rec.Column(int(rec.NumCols()) - 1).(*array.String)
	if !ok {
		return "", fmt.Errorf("duckdb: %s is no text", rec.Schema().Field(int(rec.NumCols())-1))
	}
	return string([]byte(text.Value(0))), nil // a copy: the record's memory goes
}
