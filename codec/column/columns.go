package column

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/internal/recycle"
)

// Columns builds records of one schema. It is used by one goroutine.
type Columns struct {
	schema *arrow.Schema
	cols   []*Column
	rowFix int64 // bytes that a row takes whatever is in it
}

// New makes empty columns, one for each field, in memory of an allocator, or, if it is nil, in memory that is used again after the last release (package recycle).
// The caller releases them. An error names a column whose type is none of package schema's.
func New(schema *arrow.Schema, alloc memory.Allocator) (*Columns, error) {
	if alloc == nil {
		alloc = recycle.Allocator{}
	}
	s := &Columns{schema: schema}
	for _, f := range schema.Fields() {
		c, err := newColumn(f, alloc)
		if err != nil {
			return nil, err
		}
		s.cols = append(s.cols, c)
		s.rowFix += int64(max(c.width, 4))
	}
	return s, nil
}

// Cols are the columns in order of the schema.
func (s *Columns) Cols() []*Column { return s.cols }

// RowBytes is about how much memory a row takes beside its text and elements.
func (s *Columns) RowBytes() int64 { return s.rowFix }

// Truncate takes back all rows from the n-th on, also those that only some columns have.
func (s *Columns) Truncate(n int) {
	for _, c := range s.cols {
		c.Truncate(n)
	}
}

// Flush takes out the rows, which every column must have the same number of, as a record owned by the caller.
func (s *Columns) Flush(rows int) arrow.RecordBatch {
	arrays := make([]arrow.Array, len(s.cols))
	for i, c := range s.cols {
		data := c.take()
		arrays[i] = array.MakeFromData(data)
		data.Release()
	}
	record := array.NewRecordBatch(s.schema, arrays, int64(rows))
	for _, a := range arrays {
		a.Release()
	}
	return record
}

// Release frees the columns.
func (s *Columns) Release() {
	for _, c := range s.cols {
		c.release()
	}
}
