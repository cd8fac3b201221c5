package datafile

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Take is the record of some rows of another, in the order given. All rows in their own order are the record itself. The caller releases the result.
func Take(ctx context.Context, rec arrow.RecordBatch, rows []int32, alloc memory.Allocator) (arrow.RecordBatch, error) {
	if isAll(rows, rec.NumRows()) {
		rec.Retain()
		return rec, nil
	}
	b := array.NewInt32Builder(alloc)
	defer b.Release()
	b.AppendValues(rows, nil)
	indices := b.NewInt32Array()
	defer indices.Release()
	columns := make([]arrow.Array, 0, rec.NumCols())
	defer func() {
		for _, c := range columns {
			c.Release()
		}
	}()
	ctx = compute.WithAllocator(ctx, alloc)
	for _, c := range rec.Columns() {
		taken, err := compute.TakeArrayOpts(ctx, c, indices, compute.TakeOptions{BoundsCheck: false})
		if err != nil {
			return nil, fmt.Errorf("datafile: take rows: %w", err)
		}
		columns = append(columns, taken)
	}
	return array.NewRecordBatch(rec.Schema(), columns, int64(len(rows))), nil
}

func isAll(rows []int32, n int64) bool {
	if int64(len(rows)) != n {
		return false
	}
	for i, row := range rows {
		if row != int32(i) {
			return false
		}
	}
	return true
}
