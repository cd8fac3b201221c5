package arrowparquet

import (
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
)

// Writer writes one Parquet file. It is used by one goroutine.
type Writer struct{}

// NewWriter starts a file of a schema, whose types are the canonical ones of package schema. Nothing is closed or synced: w is the caller's.
func NewWriter(w io.Writer, s *arrow.Schema, o Options) (*Writer, error) {
	return nil, errors.ErrUnsupported
}

// Write appends the rows of a record. Columns are matched by name, without regard to case; one that is missing is written as nulls if it is nullable, one
// that is too many is an error, as is a null in a column that is not nullable. The record is not kept. After an error the file is of no use.
func (w *Writer) Write(rec arrow.RecordBatch) error { return errors.ErrUnsupported }

// Size is about how many bytes the file would have if it were closed now: what was written and what is buffered.
func (w *Writer) Size() int64 { return 0 }

// Rows is how many rows were written.
func (w *Writer) Rows() int64 { return 0 }

// Close writes what is buffered and the footer. It does not close the underlying writer.
func (w *Writer) Close() (*FileStats, error) { return nil, errors.ErrUnsupported }
