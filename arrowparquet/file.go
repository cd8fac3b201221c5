package arrowparquet

import (
	"context"
	"errors"
	"io"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// File is an open Parquet file. It holds the footer and may be read by many goroutines at once, if its reader may.
type File struct{}

// RowGroup is one row group of a file.
type RowGroup struct {
	Rows     int64
	From, To int64         // the bytes of the file that hold it: [From, To)
	Columns  []ColumnStats // leaves in order
}

// Open reads the footer of a file of size bytes. A file that is not Parquet, is damaged, passes the limits or has a type without counterpart is an error, never a panic.
func Open(r io.ReaderAt, size int64, limits Limits) (*File, error) {
	return nil, errors.ErrUnsupported
}

// Schema is the file's schema in the canonical types of package schema.
func (f *File) Schema() *arrow.Schema { return nil }

// Rows is how many rows the file has.
func (f *File) Rows() int64 { return 0 }

// RowGroups describes the row groups in order.
func (f *File) RowGroups() []RowGroup { return nil }

// Read yields the rows of some row groups, in the order given, as records of the schema want, each at most about 8,192 rows or 8 MiB. A nil groups means all; a nil want the file's own schema. Columns are
// found by name, nested ones too, without regard to case; one that the file does not have is null. Integers and decimals may be wider in want. The receiver releases each record;
// the sequence ends after the first error.
func (f *File) Read(ctx context.Context, groups []int, want *arrow.Schema, alloc memory.Allocator) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) { yield(nil, errors.ErrUnsupported) }
}
