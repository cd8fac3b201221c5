package merge

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"microbatch/schema"
	"microbatch/table/datafile"
)

// Without is a schema without the column that says what a row does: it is not part of the table. "": the schema itself.
func Without(s *arrow.Schema, operation string) *arrow.Schema {
	i := columnOf(s, operation)
	if i < 0 {
		return s
	}
	md := s.Metadata()
	return arrow.NewSchema(slices.Delete(slices.Clone(s.Fields()), i, i+1), &md)
}

// CheckOperation refuses a column that cannot say what a row does.
func CheckOperation(s *arrow.Schema, operation string) error {
	if operation == "" {
		return nil
	}
	i := columnOf(s, operation)
	if i < 0 {
		return fmt.Errorf("the rows have no column %s", operation)
	}
	switch t := s.Field(i).Type; t.ID() {
	case arrow.STRING, arrow.BOOL, arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64:
		return nil
	default:
		return fmt.Errorf("column %s is a %s; an operation is a STRING, a BOOLEAN or an integer", operation, schema.TypeDDL(t))
	}
}

func columnOf(s *arrow.Schema, name string) int {
	return slices.IndexFunc(s.Fields(), func(f arrow.Field) bool { return name != "" && strings.EqualFold(f.Name, name) })
}

// deletes says of each row whether it deletes. A null does not.
func (r *Rule) deletes(rec arrow.RecordBatch) (func(row int) bool, error) {
	if r.Operation == "" {
		return func(int) bool { return false }, nil
	}
	i := columnOf(rec.Schema(), r.Operation)
	if i < 0 {
		return nil, fmt.Errorf("merge: the rows have no column %s", r.Operation)
	}
	a := rec.Column(i)
	text := a.ValueStr
	if s, ok := a.(*array.String); ok {
		text = s.Value
	}
	return func(row int) bool {
		return a.IsValid(row) && slices.ContainsFunc(r.Deletes, func(d string) bool { return strings.EqualFold(d, text(row)) })
	}, nil
}

// without is some rows of a record, without the operation. The caller releases it.
func (r *Rule) without(ctx context.Context, rec arrow.RecordBatch, rows []int32) (arrow.RecordBatch, error) {
	if i := columnOf(rec.Schema(), r.Operation); i >= 0 {
		columns := slices.Delete(slices.Clone(rec.Columns()), i, i+1)
		rec = array.NewRecordBatch(Without(rec.Schema(), r.Operation), columns, rec.NumRows())
		defer rec.Release()
	}
	return datafile.Take(ctx, rec, rows, r.Alloc)
}
