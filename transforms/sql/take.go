package sql

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/compute"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// span is rows that follow each other: from, and up to but without to.
type span struct{ from, to int }

// addSpans adds the rows of ascending numbers, where the first row of all has the number first.
func addSpans(spans []span, numbers []int64, first int64) []span {
	for _, n := range numbers {
		row := int(n - first)
		if last := len(spans) - 1; last >= 0 && spans[last].to == row {
			spans[last].to++
		} else {
			spans = append(spans, span{row, row + 1})
		}
	}
	return spans
}

func countRows(spans []span) (n int) {
	for _, s := range spans {
		n += s.to - s.from
	}
	return n
}

// take copies the spans of an array of numbers or texts, of count rows together; nil for other types, which are left to takeByKernel. Where a condition
// drops few rows the spans are long, and copying span by span takes less than half the time of the kernel of package compute, which goes row by row (one
// row of ten dropped, BenchmarkTake). It writes all of the memory that it allocates.
func take(a arrow.Array, spans []span, count int, mem memory.Allocator) arrow.Array {
	var buffers []*memory.Buffer
	switch t := a.DataType().(type) {
	case *arrow.StringType, *arrow.BinaryType:
		buffers = takeTexts(a.Data(), spans, count, mem)
	case arrow.FixedWidthDataType:
		if t.BitWidth()%8 != 0 {
			return nil
		}
		buffers = []*memory.Buffer{takeFixed(a.Data(), t.BitWidth()/8, spans, count, mem)}
	default:
		return nil
	}
	valid, nulls := takeValid(a, spans, count, mem)
	buffers = append([]*memory.Buffer{valid}, buffers...)
	out := array.NewData(a.DataType(), count, buffers, nil, nulls, 0)
	defer out.Release()
	for _, b := range buffers {
		if b != nil {
			b.Release()
		}
	}
	return array.MakeFromData(out)
}

func takeFixed(d arrow.ArrayData, width int, spans []span, count int, mem memory.Allocator) *memory.Buffer {
	from := d.Buffers()[1].Bytes()[d.Offset()*width:]
	b := newBuffer(mem, count*width)
	to := b.Bytes()
	for _, s := range spans {
		to = to[copy(to, from[s.from*width:s.to*width]):]
	}
	return b
}

// takeTexts makes the offsets and the bytes.
func takeTexts(d arrow.ArrayData, spans []span, count int, mem memory.Allocator) []*memory.Buffer {
	from := arrow.Int32Traits.CastFromBytes(d.Buffers()[1].Bytes())[d.Offset():]
	offsets := newBuffer(mem, arrow.Int32Traits.BytesRequired(count+1))
	to := arrow.Int32Traits.CastFromBytes(offsets.Bytes())
	at, row := int32(0), 0
	for _, s := range spans {
		shift := at - from[s.from]
		for i, offset := range from[s.from:s.to] {
			to[row+i] = offset + shift
		}
		at, row = from[s.to]+shift, row+s.to-s.from
	}
	to[row] = at
	b := newBuffer(mem, int(at))
	if at > 0 {
		texts, rest := d.Buffers()[2].Bytes(), b.Bytes()
		for _, s := range spans {
			rest = rest[copy(rest, texts[from[s.from]:from[s.to]]):]
		}
	}
	return []*memory.Buffer{offsets, b}
}

// takeValid is the bitmap of the rows that are not null, or nil where none is.
func takeValid(a arrow.Array, spans []span, count int, mem memory.Allocator) (*memory.Buffer, int) {
	if a.NullN() == 0 {
		return nil, 0
	}
	b := newBuffer(mem, int(bitutil.BytesForBits(int64(count))))
	from, to := a.NullBitmapBytes(), b.Bytes()
	clear(to)
	row, nulls := 0, 0
	for _, s := range spans {
		for i := a.Data().Offset() + s.from; i < a.Data().Offset()+s.to; i++ {
			if bitutil.BitIsSet(from, i) {
				bitutil.SetBit(to, row)
			} else {
				nulls++
			}
			row++
		}
	}
	return b, nulls
}

func newBuffer(mem memory.Allocator, size int) *memory.Buffer {
	b := memory.NewResizableBuffer(mem)
	b.Resize(size)
	return b
}

func takeByKernel(ctx context.Context, a arrow.Array, spans []span, count int, mem memory.Allocator) (arrow.Array, error) {
	b := array.NewInt64Builder(mem)
	defer b.Release()
	b.Reserve(count)
	for _, s := range spans {
		for row := s.from; row < s.to; row++ {
			b.UnsafeAppend(int64(row))
		}
	}
	rows := b.NewArray()
	defer rows.Release()
	return compute.TakeArrayOpts(compute.WithAllocator(ctx, mem), a, rows, compute.TakeOptions{})
}
