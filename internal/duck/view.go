//go:build cgo && duckdb_arrow

package duck

// #include <stdlib.h>
import "C"

import (
	"context"
	"fmt"
	"strings"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/cdata"
	"github.com/duckdb/duckdb-go/v2/arrowmapping"
	"github.com/duckdb/duckdb-go/v2/mapping"
)

// View is a name in a connection's SQL for a stream of Arrow records. It stays while the streams change: one for each query, read once.
type View struct {
	conn   *Conn
	shared string // the view that DuckDB makes: all connections of the session would see it, so its name is unique
	name   string // the temporary view over it, which only this connection sees
	stream unsafe.Pointer
	feed   *feed
}

// Register makes a view of the schema. The caller drops it before the connection is closed.
func (c *Conn) Register(ctx context.Context, name string, schema *arrow.Schema) (*View, error) {
	v := &View{
		conn:   c,
		shared: fmt.Sprintf("memory.main.__stream_%d", c.session.names.Add(1)),
		name:   "temp.main." + Ident(name),
		stream: C.calloc(1, C.size_t(unsafe.Sizeof(cdata.CArrowArrayStream{}))),
		feed:   &feed{schema: schema},
	}
	cdata.ExportRecordReader(v.feed, (*cdata.CArrowArrayStream)(v.stream))
	if arrowmapping.ArrowScan(c.conn, strings.TrimPrefix(v.shared, "memory.main."), arrowmapping.ArrowStream{Ptr: v.stream}) == mapping.StateError {
		v.free()
		return nil, fmt.Errorf("duckdb: no view of the schema %s: it has a type that DuckDB does not take", schema)
	}
	if err := c.Exec(ctx, "CREATE TEMP VIEW "+Ident(name)+" AS FROM "+v.shared); err != nil {
		v.free()
		return nil, err
	}
	return v, nil
}

// Feed sets the stream that the next query reads: next returns a record, which the view releases, or nil at the end. It is called on
// threads of DuckDB, one call at a time, until it has returned nil or an error, or the query is closed.
func (v *View) Feed(next func() (arrow.RecordBatch, error)) {
	v.feed.next, v.feed.err = next, nil
}

// Err is the error that the stream of the last query ended with. DuckDB knows only its text.
func (v *View) Err() error { return v.feed.err }

// Drop removes the view.
func (v *View) Drop(ctx context.Context) error {
	defer v.free()
	if err := v.conn.Exec(ctx, "DROP VIEW "+v.name); err != nil {
		return err
	}
	return v.conn.Exec(ctx, "DROP VIEW "+v.shared)
}

func (v *View) free() {
	cdata.ReleaseCArrowArrayStream((*cdata.CArrowArrayStream)(v.stream))
	C.free(v.stream)
	v.stream = nil
	v.feed.drop()
}

// feed is the record reader behind a view. Its lifetime is the view's, so it counts no references.
type feed struct {
	schema *arrow.Schema
	next   func() (arrow.RecordBatch, error)
	record arrow.RecordBatch
	err    error
}

var _ array.RecordReader = (*feed)(nil)

func (f *feed) Retain()                        {}
func (f *feed) Release()                       {}
func (f *feed) Schema() *arrow.Schema          { return f.schema }
func (f *feed) RecordBatch() arrow.RecordBatch { return f.record }
func (f *feed) Record() arrow.RecordBatch      { return f.record }
func (f *feed) Err() error                     { return f.err }

func (f *feed) Next() bool {
	f.drop()
	if f.next == nil || f.err != nil {
		return false
	}
	f.record, f.err = f.next()
	if f.record == nil || f.err != nil {
		f.drop()
		f.next = nil
	}
	return f.record != nil
}

func (f *feed) drop() {
	if f.record != nil {
		f.record.Release()
		f.record = nil
	}
}
