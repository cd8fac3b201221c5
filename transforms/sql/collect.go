package sql

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/batch"
	"microbatch/internal/duck"
)

// collect joins DuckDB's small records (2,048 rows and fewer) to chunks of the target size and sends them to the consumer.
func (r *run) collect(ctx context.Context, rows *duck.Rows) error {
	var held []arrow.RecordBatch
	var heldRows int64
	defer func() { release(held) }()
	flush := func() error {
		if heldRows == 0 {
			return nil
		}
		rec, err := join(held, r.plan.out, r.env.Alloc)
		release(held)
		held, heldRows = held[:0], 0
		if err != nil {
			return err
		}
		return r.send(ctx, rec)
	}
	for {
		rec, err := rows.Next()
		if err != nil {
			return err
		}
		if rec == nil {
			return flush()
		}
		held, heldRows = append(held, rec), heldRows+rec.NumRows()
		if heldRows >= batch.TargetRows {
			if err := flush(); err != nil {
				return err
			}
		}
	}
}

// send gives a record to the consumer, who releases it.
func (r *run) send(ctx context.Context, rec arrow.RecordBatch) error {
	select {
	case r.out <- batch.Chunk{Record: rec}:
		return nil
	case <-ctx.Done():
		rec.Release()
		return ctx.Err()
	}
}

func release(records []arrow.RecordBatch) {
	for _, rec := range records {
		rec.Release()
	}
}

// join copies records into one of the schema, in memory of ours: DuckDB's is freed with the records.
func join(records []arrow.RecordBatch, schema *arrow.Schema, mem memory.Allocator) (arrow.RecordBatch, error) {
	columns, rows := make([]arrow.Array, 0, schema.NumFields()), int64(0)
	defer func() {
		for _, c := range columns {
			c.Release()
		}
	}()
	for _, rec := range records {
		rows += rec.NumRows()
	}
	for i := range schema.NumFields() {
		c, err := joinColumn(records, i, schema.Field(i).Type, mem)
		if err != nil {
			return nil, err
		}
		columns = append(columns, c)
	}
	return array.NewRecordBatch(schema, columns, rows), nil
}

// joinColumn is a column of all the records in one, under the project's name of its type.
func joinColumn(records []arrow.RecordBatch, column int, t arrow.DataType, mem memory.Allocator) (arrow.Array, error) {
	pieces := make([]arrow.Array, len(records))
	for i, rec := range records {
		pieces[i] = rec.Column(column)
	}
	whole, err := array.Concatenate(pieces, mem)
	if err != nil {
		return nil, err
	}
	defer whole.Release()
	return retype(whole, t), nil
}

// retype is the array under the project's name of its type: the layout is the same, the names of nested fields are not.
func retype(a arrow.Array, t arrow.DataType) arrow.Array {
	data := retypeData(a.Data(), t)
	defer data.Release()
	return array.MakeFromData(data)
}

func retypeData(d arrow.ArrayData, t arrow.DataType) arrow.ArrayData {
	var kinds []arrow.DataType
	switch t := t.(type) {
	case *arrow.StructType:
		for _, f := range t.Fields() {
			kinds = append(kinds, f.Type)
		}
	case *arrow.ListType:
		kinds = []arrow.DataType{t.Elem()}
	case *arrow.MapType:
		kinds = []arrow.DataType{t.Elem()}
	}
	kids := make([]arrow.ArrayData, len(kinds))
	for i, kind := range kinds {
		kids[i] = retypeData(d.Children()[i], kind)
		defer kids[i].Release()
	}
	return array.NewData(t, d.Len(), d.Buffers(), kids, d.NullN(), d.Offset())
}
