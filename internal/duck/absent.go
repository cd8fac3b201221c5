//go:build !cgo || !duckdb_arrow

package duck

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/internal/errcode"
)

// Available is nil if DuckDB is part of this build, or an error that says what is missing.
func Available() error {
	return errcode.DuckDBMissing.New("", "this program was built without DuckDB: %s", missing)
}

// Session stands for a database that this build does not have.
type Session struct{}

// Open returns the error of Available.
func Open(Config) (*Session, error) { return nil, Available() }

// Connect returns the error of Available.
func (*Session) Connect(context.Context) (*Conn, error) { return nil, Available() }

// Close does nothing.
func (*Session) Close() {}

// Conn stands for a connection that this build does not have.
type Conn struct{}

// Close does nothing.
func (*Conn) Close() {}

// Exec returns the error of Available.
func (*Conn) Exec(context.Context, string) error { return Available() }

// Text returns the error of Available.
func (*Conn) Text(context.Context, string) (string, error) { return "", Available() }

// Describe returns the error of Available.
func (*Conn) Describe(context.Context, string) ([]Column, error) { return nil, Available() }

// Query returns the error of Available.
func (*Conn) Query(context.Context, string) (*Rows, error) { return nil, Available() }

// Register returns the error of Available.
func (*Conn) Register(context.Context, string, *arrow.Schema) (*View, error) { return nil, Available() }

// List makes a list that nothing reads.
func (*Conn) List([]string, bool) *List { return &List{} }

// List stands for a constant that this build does not have.
type List struct{}

// SQL is nothing.
func (*List) SQL() string { return "" }

// Set does nothing.
func (*List) Set([]string) {}

// Drop does nothing.
func (*List) Drop() {}

// Rows stand for a result that this build does not have.
type Rows struct{}

// Schema is nil.
func (*Rows) Schema() *arrow.Schema { return nil }

// Next returns the error of Available.
func (*Rows) Next() (arrow.RecordBatch, error) { return nil, Available() }

// Close does nothing.
func (*Rows) Close() {}

// Source opens a stream of records for one reading of a view.
type Source func(columns []string) (next func() (arrow.RecordBatch, error), done func())

// View stands for a view that this build does not have.
type View struct{}

// Serve does nothing.
func (*View) Serve(Source) {}

// Feed does nothing.
func (*View) Feed(func() (arrow.RecordBatch, error)) {}

// Err returns the error of Available.
func (*View) Err() error { return Available() }

// Drop does nothing.
func (*View) Drop(context.Context) error { return nil }
