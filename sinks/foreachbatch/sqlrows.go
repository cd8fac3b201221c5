package foreachbatch

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"microbatch/codec/column"
)

// SQLRows reads the batch's rows as database/sql does: Scan them into variables. Integers come as int64, FLOAT and DOUBLE as float64, BOOLEAN as bool, STRING and DECIMAL
// as text, BINARY as bytes, DATE and timestamps as time.Time in UTC, lists, structs and maps as JSON text. The caller closes the rows before the function
// returns. Each value is boxed: for large batches Rows, which is columnar, costs a fraction.
func (b Batch) SQLRows(ctx context.Context) (*sql.Rows, error) {
	db := sql.OpenDB(connector{b})
	rows, err := db.QueryContext(ctx, "batch")
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return rows, db.Close() // open rows keep their connection
}

// connector is a database that has one query: all rows of a batch.
type connector struct{ batch Batch }

func (c connector) Connect(context.Context) (driver.Conn, error) { return c, nil }
func (c connector) Driver() driver.Driver                        { return c }
func (c connector) Open(string) (driver.Conn, error)             { return c, nil }
func (c connector) Close() error                                 { return nil }

var errOnlyRows = errors.New("a batch has rows and nothing else")

func (c connector) Begin() (driver.Tx, error)           { return nil, errOnlyRows }
func (c connector) Prepare(string) (driver.Stmt, error) { return nil, errOnlyRows }
func (c connector) QueryContext(context.Context, string, []driver.NamedValue) (driver.Rows, error) {
	reader, err := c.batch.Rows()
	if err != nil {
		return nil, err
	}
	return &boxed{reader: reader}, nil
}

// boxed yields the rows of a reader one by one.
type boxed struct {
	reader array.RecordReader
	record arrow.RecordBatch // the reader's
	row    int
}

// Columns are the names.
func (r *boxed) Columns() []string {
	var names []string
	for _, f := range r.reader.Schema().Fields() {
		names = append(names, f.Name)
	}
	return names
}

// Close frees the reader.
func (r *boxed) Close() error {
	r.reader.Release()
	return nil
}

// Next boxes one row.
func (r *boxed) Next(dest []driver.Value) (err error) {
	for r.record == nil || r.row >= int(r.record.NumRows()) {
		if !r.reader.Next() {
			if err := r.reader.Err(); err != nil {
				return err
			}
			return io.EOF
		}
		r.record, r.row = r.reader.RecordBatch(), 0
	}
	for i := range dest {
		if dest[i], err = box(r.record.Column(i), r.row); err != nil {
			return err
		}
	}
	r.row++
	return nil
}

// box is a value as database/sql knows it.
func box(a arrow.Array, i int) (driver.Value, error) {
	if a.IsNull(i) {
		return nil, nil
	}
	switch a := a.(type) {
	case *array.Boolean:
		return a.Value(i), nil
	case *array.Int8:
		return int64(a.Value(i)), nil
	case *array.Int16:
		return int64(a.Value(i)), nil
	case *array.Int32:
		return int64(a.Value(i)), nil
	case *array.Int64:
		return a.Value(i), nil
	case *array.Float32:
		return float64(a.Value(i)), nil
	case *array.Float64:
		return a.Value(i), nil
	case *array.Binary:
		return append([]byte{}, a.Value(i)...), nil
	case *array.Date32:
		return a.Value(i).ToTime(), nil
	case *array.Timestamp:
		return a.Value(i).ToTime(arrow.Microsecond), nil
	case *array.List, *array.Struct, *array.Map:
		return a.ValueStr(i), nil
	}
	text, err := column.AppendScalar(nil, a, i)
	return string(text), err
}
