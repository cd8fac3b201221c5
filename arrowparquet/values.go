package arrowparquet

import (
	"encoding/binary"
	"math/bits"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/parquet-go/parquet-go/format"
)

// values are dense values of one physical type: only the slice of that type is used. They are the writer's copy, or a view of Arrow memory.
type values struct {
	n     int
	bools []byte // 0 or 1 each
	i32   []int32
	i64   []int64
	f32   []float32
	f64   []float64
	fixed []byte // n values of the column's width, big-endian
	// BYTE_ARRAY: value i is data[offs[i]:offs[i+1]]. offs is empty or has n+1 entries; offs[0] may be any position.
	offs []uint32
	data []byte
}

// reset empties v and keeps its memory. It must not be called on a view.
func (v *values) reset() {
	*v = values{bools: v.bools[:0], i32: v.i32[:0], i64: v.i64[:0], f32: v.f32[:0], f64: v.f64[:0], fixed: v.fixed[:0], offs: v.offs[:0], data: v.data[:0]}
}

// append copies the values of w to the end of v.
func (v *values) append(w *values) {
	v.n += w.n
	v.bools = append(v.bools, w.bools...)
	v.i32 = append(v.i32, w.i32...)
	v.i64 = append(v.i64, w.i64...)
	v.f32 = append(v.f32, w.f32...)
	v.f64 = append(v.f64, w.f64...)
	v.fixed = append(v.fixed, w.fixed...)
	if w.n == 0 || len(w.offs) == 0 {
		return
	}
	if len(v.offs) == 0 {
		v.offs = append(v.offs, 0)
	}
	first, base := w.offs[0], uint32(len(v.data))
	for _, o := range w.offs[1:] {
		v.offs = append(v.offs, o-first+base)
	}
	v.data = append(v.data, w.data[first:w.offs[w.n]]...)
}

// bytes is the memory that the values take.
func (v *values) bytes() int64 {
	size := int64(len(v.bools)+4*len(v.i32)+8*len(v.i64)+4*len(v.f32)+8*len(v.f64)+len(v.fixed)) + 4*int64(len(v.offs))
	if n := len(v.offs); n > 0 {
		size += int64(v.offs[n-1] - v.offs[0])
	}
	return size
}

// held is the memory that v keeps for values, used or not.
func (v *values) held() int64 {
	return int64(cap(v.bools) + 4*cap(v.i32) + 8*cap(v.i64) + 4*cap(v.f32) + 8*cap(v.f64) + cap(v.fixed) + 4*cap(v.offs) + cap(v.data))
}

// view sets v to the values [from, to) of an array without nulls, without copying where Arrow and Parquet store them alike. scratch holds what
// had to be converted.
func (v *values) view(col *column, arr arrow.ArrayData, from, to int, scratch *values) {
	lo, hi := from+arr.Offset(), to+arr.Offset()
	*v = values{n: to - from}
	if v.n == 0 {
		return
	}
	switch id := arr.DataType().ID(); {
	case id == arrow.STRING || id == arrow.BINARY:
		v.offs, v.data = slice[uint32](arr, 1)[lo:hi+1], bytesOf(arr, 2)
	case id == arrow.FLOAT32:
		v.f32 = slice[float32](arr, 1)[lo:hi]
	case id == arrow.FLOAT64:
		v.f64 = slice[float64](arr, 1)[lo:hi]
	case (id == arrow.INT32 || id == arrow.DATE32) && col.typ == format.Int32:
		v.i32 = slice[int32](arr, 1)[lo:hi]
	case id == arrow.INT64 || id == arrow.TIMESTAMP:
		v.i64 = slice[int64](arr, 1)[lo:hi]
	default:
		scratch.reset()
		scratch.convertRange(col, arr, lo, hi)
		*v = *scratch
	}
}

// gather sets v to the values of an array at some positions, all of them not null. v is the writer's own.
func (v *values) gather(col *column, arr arrow.ArrayData, at []int32) {
	v.reset()
	v.n = len(at)
	if v.n == 0 {
		return
	}
	off := int32(arr.Offset())
	switch id := arr.DataType().ID(); {
	case id == arrow.STRING || id == arrow.BINARY:
		v.gatherBytes(slice[uint32](arr, 1), bytesOf(arr, 2), at, off)
	case id == arrow.FLOAT32:
		v.f32 = pick(v.f32, slice[float32](arr, 1), at, off)
	case id == arrow.FLOAT64:
		v.f64 = pick(v.f64, slice[float64](arr, 1), at, off)
	case (id == arrow.INT32 || id == arrow.DATE32) && col.typ == format.Int32:
		v.i32 = pick(v.i32, slice[int32](arr, 1), at, off)
	case id == arrow.INT64 || id == arrow.TIMESTAMP:
		v.i64 = pick(v.i64, slice[int64](arr, 1), at, off)
	default:
		v.n = 0
		for _, i := range at {
			v.convertRange(col, arr, int(i+off), int(i+off)+1)
		}
	}
}

func (v *values) gatherBytes(offs []uint32, data []byte, at []int32, off int32) {
	v.offs = append(v.offs, 0)
	for _, i := range at {
		i += off
		v.data = append(v.data, data[offs[i]:offs[i+1]]...)
		v.offs = append(v.offs, uint32(len(v.data)))
	}
}

func pick[T any](dst, src []T, at []int32, off int32) []T {
	for _, i := range at {
		dst = append(dst, src[i+off])
	}
	return dst
}

// convertRange appends the values at the physical positions [lo, hi) of a type that Parquet stores differently.
func (v *values) convertRange(col *column, arr arrow.ArrayData, lo, hi int) {
	v.n += hi - lo
	switch arr.DataType().ID() {
	case arrow.BOOL:
		bitmap := bytesOf(arr, 1)
		for i := lo; i < hi; i++ {
			v.bools = append(v.bools, bitmap[i>>3]>>(i&7)&1)
		}
	case arrow.INT8:
		widen(v, col, slice[int8](arr, 1)[lo:hi])
	case arrow.INT16:
		widen(v, col, slice[int16](arr, 1)[lo:hi])
	case arrow.INT32:
		widen(v, col, slice[int32](arr, 1)[lo:hi])
	case arrow.DECIMAL128:
		v.decimals(col, bytesOf(arr, 1)[16*lo:16*hi])
	}
}

func widen[T int8 | int16 | int32](v *values, col *column, src []T) {
	if col.typ == format.Int64 {
		for _, x := range src {
			v.i64 = append(v.i64, int64(x))
		}
		return
	}
	for _, x := range src {
		v.i32 = append(v.i32, int32(x))
	}
}

// decimals appends 16-byte little-endian numbers in the width of the column.
func (v *values) decimals(col *column, src []byte) {
	for ; len(src) > 0; src = src[16:] {
		low, high := binary.LittleEndian.Uint64(src), binary.LittleEndian.Uint64(src[8:])
		switch col.typ {
		case format.Int32:
			v.i32 = append(v.i32, int32(low))
		case format.Int64:
			v.i64 = append(v.i64, int64(low))
		default:
			var be [16]byte
			binary.BigEndian.PutUint64(be[:], high)
			binary.BigEndian.PutUint64(be[8:], low)
			v.fixed = append(v.fixed, be[16-col.width:]...)
		}
	}
}

// bytesOf is a buffer of an array; empty if it has none.
func bytesOf(arr arrow.ArrayData, i int) []byte {
	if b := arr.Buffers()[i]; b != nil {
		return b.Bytes()
	}
	return nil
}

// slice is a buffer of an array as numbers of the machine's byte order, which is little-endian on all that Arrow supports here.
func slice[T any](arr arrow.ArrayData, i int) []T {
	return numbers[T](bytesOf(arr, i))
}

// numbers is memory as values of a type of fixed size.
func numbers[T any](b []byte) []T {
	var zero T
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/int(unsafe.Sizeof(zero)))
}

func sizeOf[T any](v T) int { return int(unsafe.Sizeof(v)) }

// asBytes is the memory of numbers.
func asBytes[T int32 | int64 | float32 | float64](s []T) []byte {
	if len(s) == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), len(s)*int(unsafe.Sizeof(s[0])))
}

// packBits appends bools, one byte each, as a bitmap.
func packBits(dst, bools []byte) []byte {
	for len(bools) >= 8 {
		w := binary.LittleEndian.Uint64(bools)
		dst = append(dst, byte(w*0x0102040810204080>>56))
		bools = bools[8:]
	}
	if len(bools) > 0 {
		var last byte
		for i, b := range bools {
			last |= b << i
		}
		dst = append(dst, last)
	}
	return dst
}

// bitWidth is how many bits the numbers 0 to maximum need.
func bitWidth(maximum int) int { return bits.Len(uint(maximum)) }
