package arrowparquet

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/parquet-go/parquet-go/format"
)

// values makes the buffers of a leaf's array in the wanted type.
func (a *assembler) values(t arrow.DataType, l *leafReader, v *validity) ([]*memory.Buffer, error) {
	in := &l.out.vals
	switch t.(type) {
	case *arrow.BooleanType:
		return []*memory.Buffer{a.buffer(packBits(nil, spread(in.bools, v)))}, nil
	case *arrow.Int8Type:
		return []*memory.Buffer{number32(a, in, v, func(x int32) int8 { return int8(x) })}, nil
	case *arrow.Int16Type:
		return []*memory.Buffer{number32(a, in, v, func(x int32) int16 { return int16(x) })}, nil
	case *arrow.Int32Type, *arrow.Date32Type:
		return []*memory.Buffer{copied(a, in.i32, v)}, nil
	case *arrow.Int64Type:
		return a.int64s(l, v), nil
	case *arrow.TimestampType:
		return a.timestamps(l, v)
	case *arrow.Float32Type:
		return []*memory.Buffer{copied(a, in.f32, v)}, nil
	case *arrow.Float64Type:
		if l.typ == format.Float {
			return []*memory.Buffer{converted(a, in.f32, v, func(x float32) float64 { return float64(x) })}, nil
		}
		return []*memory.Buffer{copied(a, in.f64, v)}, nil
	case *arrow.Decimal128Type:
		return a.decimals(l, v)
	case *arrow.StringType, *arrow.BinaryType:
		return a.strings(t, l, v)
	}
	return nil, fmt.Errorf("no values of type %s", t)
}

func number32[T any](a *assembler, in *values, v *validity, f func(int32) T) *memory.Buffer {
	return converted(a, in.i32, v, f)
}

func (a *assembler) int64s(l *leafReader, v *validity) []*memory.Buffer {
	in := &l.out.vals
	switch {
	case l.typ == format.Int64:
		return []*memory.Buffer{copied(a, in.i64, v)}
	case l.unsigned:
		return []*memory.Buffer{converted(a, in.i32, v, func(x int32) int64 { return int64(uint32(x)) })}
	}
	return []*memory.Buffer{converted(a, in.i32, v, func(x int32) int64 { return int64(x) })}
}

func (a *assembler) timestamps(l *leafReader, v *validity) ([]*memory.Buffer, error) {
	in := l.out.vals.i64
	switch l.unit {
	case millis:
		for _, x := range in {
			if x > math.MaxInt64/1000 || x < math.MinInt64/1000 {
				return nil, fmt.Errorf("a timestamp of %d milliseconds is out of range", x)
			}
		}
		return []*memory.Buffer{converted(a, in, v, func(x int64) int64 { return x * 1000 })}, nil
	case nanos:
		return []*memory.Buffer{converted(a, in, v, floorMicros)}, nil
	}
	return []*memory.Buffer{copied(a, in, v)}, nil
}

func floorMicros(ns int64) int64 {
	us := ns / 1000
	if ns%1000 < 0 {
		us--
	}
	return us
}

func (a *assembler) decimals(l *leafReader, v *validity) ([]*memory.Buffer, error) {
	in := &l.out.vals
	switch l.typ {
	case format.Int32:
		return []*memory.Buffer{converted(a, in.i32, v, func(x int32) decimal128.Num { return decimal128.FromI64(int64(x)) })}, nil
	case format.Int64:
		if l.unsigned {
			return []*memory.Buffer{converted(a, in.i64, v, func(x int64) decimal128.Num { return decimal128.FromU64(uint64(x)) })}, nil
		}
		return []*memory.Buffer{converted(a, in.i64, v, decimal128.FromI64)}, nil
	}
	nums := make([]decimal128.Num, 0, in.n)
	for i := range in.n {
		var be []byte
		if l.typ == format.FixedLenByteArray {
			be = in.fixed[i*l.length : (i+1)*l.length]
		} else if be = in.data[in.offs[i]:in.offs[i+1]]; len(be) > 16 {
			return nil, fmt.Errorf("a decimal of %d bytes", len(be))
		}
		nums = append(nums, decimalFrom(be))
	}
	return []*memory.Buffer{converted(a, nums, v, func(x decimal128.Num) decimal128.Num { return x })}, nil
}

func (a *assembler) strings(t arrow.DataType, l *leafReader, v *validity) ([]*memory.Buffer, error) {
	in := &l.out.vals
	if l.typ == format.FixedLenByteArray {
		in.offs, in.data = in.offs[:0], append(in.data[:0], in.fixed...)
		for i := range in.n + 1 {
			in.offs = append(in.offs, uint32(i*l.length))
		}
	}
	if len(in.data) > math.MaxInt32 {
		return nil, fmt.Errorf("%d bytes of strings in one record", len(in.data))
	}
	if t.ID() == arrow.STRING && l.field.Type.ID() == arrow.BINARY {
		if err := validText(in); err != nil {
			return nil, err
		}
	}
	offsets := memory.NewResizableBuffer(a.alloc)
	offsets.Resize(4 * (v.n + 1))
	out := offsets.Bytes()
	at, last := 0, uint32(0)
	for i := range v.n {
		binary.LittleEndian.PutUint32(out[4*i:], last)
		if v.nulls == 0 || v.bits[i>>3]>>(i&7)&1 == 1 {
			at++
			last = in.offs[at]
		}
	}
	binary.LittleEndian.PutUint32(out[4*v.n:], last)
	return []*memory.Buffer{offsets, a.buffer(in.data)}, nil
}

// spread puts gaps where places are null; without nulls it is src itself.
func spread[T any](src []T, v *validity) []T {
	if v.nulls == 0 {
		return src
	}
	out := make([]T, v.n)
	at := 0
	for i := range v.n {
		if v.bits[i>>3]>>(i&7)&1 == 1 {
			out[i] = src[at]
			at++
		}
	}
	return out
}

func copied[T int32 | int64 | float32 | float64](a *assembler, src []T, v *validity) *memory.Buffer {
	return a.buffer(asBytes(spread(src, v)))
}

func converted[S, T any](a *assembler, src []S, v *validity, f func(S) T) *memory.Buffer {
	buf := memory.NewResizableBuffer(a.alloc)
	var one T
	buf.Resize(v.n * sizeOf(one))
	out := numbers[T](buf.Bytes())
	at := 0
	for i := range v.n {
		if v.nulls == 0 || v.bits[i>>3]>>(i&7)&1 == 1 {
			out[i] = f(src[at])
			at++
		} else {
			out[i] = one
		}
	}
	return buf
}
