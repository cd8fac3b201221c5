package rate

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"microbatch/batch"
	"microbatch/sources"
)

// split is the values [from, to) of a range of all values.
type split struct {
	source   *Source
	start    int64 // ms since 1970 of second 0
	from, to int64
	all      int64
	covered  int64
}

// Records generates the rows.
func (p *split) Records(ctx context.Context) batch.Stream {
	return func(yield func(batch.Chunk, error) bool) {
		b := array.NewRecordBuilder(p.source.config.Alloc, p.source.schema)
		defer b.Release()
		for at := p.from; at < p.to; {
			if err := ctx.Err(); err != nil {
				yield(batch.Chunk{}, err)
				return
			}
			end := min(p.to, at+batch.TargetRows)
			p.covered = end - p.from
			if !yield(batch.Chunk{Record: p.record(b, at, end)}, nil) {
				return
			}
			at = end
		}
	}
}

func (p *split) record(b *array.RecordBuilder, from, to int64) arrow.RecordBatch {
	b.Reserve(int(to - from))
	ts, value := b.Field(0).(*array.TimestampBuilder), b.Field(1).(*array.Int64Builder)
	for v := from; v < to; v++ {
		ts.UnsafeAppend(arrow.Timestamp((p.start + p.millis(v)) * 1000))
		value.UnsafeAppend(v)
	}
	return b.NewRecordBatch()
}

// millis is v * 1000 / rows per second, rounded half up.
func (p *split) millis(v int64) int64 {
	n := p.source.config.RowsPerSecond
	return (2*1000*v + n) / (2 * n)
}

// Reached is how many rows were generated.
func (p *split) Reached() sources.Position {
	return sources.Position{Rows: p.covered, Units: []sources.Unit{{Name: "rate", Want: p.all, Covered: p.covered}}}
}
