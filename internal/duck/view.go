//go:build cgo && duckdb_arrow

package duck

import (
	"context"
	"fmt"
	"runtime/cgo"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/duckdb/duckdb-go/v2/arrowmapping"
	"github.com/duckdb/duckdb-go/v2/mapping"
)

// View is a name in a connection's SQL for a stream of Arrow records. It stays while the streams change: one for each query, read once.
//
// It is a temporary view over a table function of ours (scan.go), because the Arrow scan of DuckDB's C API drops the filters and the choice of
// columns that the optimizer pushes into it, in silence.
type View struct {
	conn    *Conn
	name    string
	columns []viewColumn
	handle  cgo.Handle // of the view itself: what the table function gets as its argument
	source  Source
	whole   bool // records of the source have all columns, whatever is asked for
	err     error
}

// Source opens a stream of records for one reading of a view, which wants the columns named, in this order. next returns a record, which the view
// releases, or nil at the end. It is called on threads of DuckDB, one call at a time. done is called once, finished or not.
type Source func(columns []string) (next func() (arrow.RecordBatch, error), done func())

// viewColumn is how DuckDB takes a column.
type viewColumn struct {
	field     arrow.Field
	converted arrowmapping.ArrowConvertedSchema
	kind      mapping.LogicalType
}

// Register makes a view of the schema. The caller drops it before the connection is closed.
func (c *Conn) Register(ctx context.Context, name string, schema *arrow.Schema) (*View, error) {
	v := &View{conn: c, name: Ident(name)}
	v.handle = cgo.NewHandle(v)
	for _, f := range schema.Fields() {
		column, err := c.convert(f)
		if err != nil {
			v.free()
			return nil, err
		}
		v.columns = append(v.columns, column)
	}
	if err := c.Exec(ctx, fmt.Sprintf("CREATE TEMP VIEW %s AS FROM %s(%d)", v.name, scanFunction, v.handle)); err != nil {
		v.free()
		return nil, err
	}
	return v, nil
}

// convert finds DuckDB's type for a field, by converting no rows.
func (c *Conn) convert(f arrow.Field) (viewColumn, error) {
	schema := arrow.NewSchema([]arrow.Field{f}, nil)
	converted, failure := arrowmapping.SchemaFromArrow(c.conn, schema)
	if err := takeError(failure); err != nil {
		return viewColumn{}, fmt.Errorf("duckdb: column %s: %w", f.Name, err)
	}
	column := viewColumn{field: f, converted: converted}
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer b.Release()
	empty := b.NewRecordBatch()
	defer empty.Release()
	chunk, failure := arrowmapping.DataChunkFromArrow(c.conn, empty, converted)
	if err := takeError(failure); err != nil {
		column.free()
		return viewColumn{}, fmt.Errorf("duckdb: column %s: %w", f.Name, err)
	}
	defer mapping.DestroyDataChunk(&chunk)
	column.kind = mapping.VectorGetColumnType(mapping.DataChunkGetVector(chunk, 0))
	return column, nil
}

// Feed sets the one stream that the next query reads: next returns a record of all columns, which the view releases, or nil at the end. It is called
// on threads of DuckDB, one call at a time, until it has returned nil or an error, or the query is closed. Without a stream a query sees no rows.
func (v *View) Feed(next func() (arrow.RecordBatch, error)) {
	v.err = nil
	v.source = func([]string) (func() (arrow.RecordBatch, error), func()) {
		return func() (arrow.RecordBatch, error) {
			if next == nil {
				return nil, nil
			}
			rec, err := next()
			if rec == nil || err != nil {
				next = nil
			}
			return rec, err
		}, func() {}
	}
	v.whole = true
}

// Serve sets what each reading of the view opens, from now on: a query may read it more than once, and only the columns that it needs.
func (v *View) Serve(s Source) { v.source, v.err, v.whole = s, nil, false }

// Err is the error that the stream of the last query ended with. DuckDB knows only its text.
func (v *View) Err() error { return v.err }

// Drop removes the view.
func (v *View) Drop(ctx context.Context) error {
	defer v.free()
	return v.conn.Exec(ctx, "DROP VIEW temp.main."+v.name)
}

func (v *View) free() {
	for i := range v.columns {
		v.columns[i].free()
	}
	v.columns = nil
	v.handle.Delete()
}

func (c *viewColumn) free() {
	arrowmapping.DestroyArrowConvertedSchema(&c.converted)
	mapping.DestroyLogicalType(&c.kind)
}

// takeError frees DuckDB's error data and returns what it says.
func takeError(failure mapping.ErrorData) error {
	defer mapping.DestroyErrorData(&failure)
	if !mapping.ErrorDataHasError(failure) {
		return nil
	}
	return parseError(mapping.ErrorDataMessage(failure))
}
