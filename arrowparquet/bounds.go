package arrowparquet

import (
	"bytes"
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/parquet-go/parquet-go/format"
)

// maxBound is how many bytes of a string are kept as minimum or maximum. Longer ones are cut, and then not written to the footer: what stands there occurs
// in the column. (Delta's statistics need less than 300 bytes.)
const maxBound = 1 << 10

// bounds are minimum, maximum and number of nulls of one leaf over a stretch of rows.
type bounds struct {
	typ   arrow.DataType
	phys  physical
	nulls int64
	lists int64 // rows in which the outermost list around the leaf is null
	any   bool  // a value was seen: min and max hold
	nan   bool

	minInt, maxInt     int64 // bool, int32, int64
	minFloat, maxFloat float64
	min, max           []byte // byte arrays, and decimals as fixed big-endian bytes
	minCut, maxCut     bool   // only the first maxBound bytes of the true value
}

func (b *bounds) init(t arrow.DataType, p physical) { b.typ, b.phys = t, p }

func (b *bounds) reset() {
	*b = bounds{typ: b.typ, phys: b.phys, min: b.min[:0], max: b.max[:0]}
}

// update takes the values of a page, or the entries of a dictionary, into account.
func (b *bounds) update(v *values) {
	if v.n == 0 {
		return
	}
	switch b.phys.typ {
	case format.Boolean:
		lo, hi := extent(v.bools)
		b.ints(int64(lo), int64(hi))
	case format.Int32:
		lo, hi := extent(v.i32)
		b.ints(int64(lo), int64(hi))
	case format.Int64:
		b.ints(extent(v.i64))
	case format.Float:
		lo, hi, nan := floatExtent(v.f32)
		b.floats(float64(lo), float64(hi), nan)
	case format.Double:
		b.floats(floatExtent(v.f64))
	case format.FixedLenByteArray:
		for rest := v.fixed; len(rest) > 0; rest = rest[b.phys.width:] {
			b.fixed(rest[:b.phys.width])
		}
	case format.ByteArray:
		b.strings(v)
	}
}

func (b *bounds) ints(lo, hi int64) {
	if !b.any {
		b.any, b.minInt, b.maxInt = true, lo, hi
		return
	}
	b.minInt, b.maxInt = min(b.minInt, lo), max(b.maxInt, hi)
}

func (b *bounds) floats(lo, hi float64, nan bool) {
	b.nan = b.nan || nan
	switch {
	case lo > hi: // nothing but NaN
	case !b.any:
		b.any, b.minFloat, b.maxFloat = true, lo, hi
	default:
		b.minFloat, b.maxFloat = min(b.minFloat, lo), max(b.maxFloat, hi)
	}
}

func (b *bounds) fixed(s []byte) {
	if !b.any {
		b.any, b.min, b.max = true, append(b.min[:0], s...), append(b.max[:0], s...)
		return
	}
	if compareSigned(s, b.min) < 0 {
		b.min = append(b.min[:0], s...)
	}
	if compareSigned(s, b.max) > 0 {
		b.max = append(b.max[:0], s...)
	}
}

// compareSigned compares big-endian two's complement numbers of one width.
func compareSigned(x, y []byte) int {
	if x[0]^y[0] >= 0x80 { // one is negative
		return int(int8(x[0])>>7) - int(int8(y[0])>>7)
	}
	return bytes.Compare(x, y)
}

// strings compares the first 8 bytes as a number, which decides nearly always.
func (b *bounds) strings(v *values) {
	if !b.any {
		first := v.data[v.offs[0]:v.offs[1]]
		b.any = true
		b.setMin(first)
		b.setMax(first)
	}
	lo, hi := prefix(b.min), prefix(b.max)
	for i := range v.n {
		s := v.data[v.offs[i]:v.offs[i+1]]
		p := prefix(s)
		if p <= lo && bytes.Compare(s, b.min) < 0 {
			b.setMin(s)
			lo = p
		}
		if p >= hi && bytes.Compare(s, b.max) > 0 {
			b.setMax(s)
			hi = p
		}
	}
}

func (b *bounds) setMin(s []byte) {
	b.minCut = len(s) > maxBound
	b.min = append(b.min[:0], s[:min(len(s), maxBound)]...)
}

func (b *bounds) setMax(s []byte) {
	b.maxCut = len(s) > maxBound
	b.max = append(b.max[:0], s[:min(len(s), maxBound)]...)
}

// prefix orders strings by their first 8 bytes; shorter ones are filled up with zeros.
func prefix(s []byte) uint64 {
	if len(s) >= 8 {
		return binary.BigEndian.Uint64(s)
	}
	var p uint64
	for i, c := range s {
		p |= uint64(c) << (56 - 8*i)
	}
	return p
}

// merge takes other bounds of the same column into account.
func (b *bounds) merge(o *bounds) {
	b.nulls += o.nulls
	b.lists += o.lists
	b.nan = b.nan || o.nan
	if !o.any {
		return
	}
	switch b.phys.typ {
	case format.FixedLenByteArray:
		b.fixed(o.min)
		b.fixed(o.max)
	case format.ByteArray:
		b.mergeStrings(o)
	case format.Float, format.Double:
		b.floats(o.minFloat, o.maxFloat, o.nan)
	default:
		b.ints(o.minInt, o.maxInt)
	}
}

func (b *bounds) mergeStrings(o *bounds) {
	if !b.any || bytes.Compare(o.min, b.min) < 0 {
		b.min, b.minCut = append(b.min[:0], o.min...), o.minCut
	}
	if c := bytes.Compare(o.max, b.max); !b.any || c > 0 || c == 0 && o.maxCut {
		b.max, b.maxCut = append(b.max[:0], o.max...), o.maxCut
	}
	b.any = true
}

// column describes the bounds for users of the package.
func (b *bounds) column(n *node) ColumnStats {
	s := ColumnStats{Path: n.path, Type: b.typ, Repeated: n.rep > 0, Nulls: b.nulls, ListNulls: b.lists, NaN: b.nan}
	if !b.any || b.nan {
		return s
	}
	s.MinCut, s.MaxCut = b.minCut, b.maxCut
	if b.typ.ID() == arrow.DECIMAL128 {
		s.Min, s.Max = b.decimal(b.minInt, b.min), b.decimal(b.maxInt, b.max)
		return s
	}
	switch b.phys.typ {
	case format.Boolean:
		s.Min, s.Max = b.minInt != 0, b.maxInt != 0
	case format.Int32, format.Int64:
		s.Min, s.Max = b.minInt, b.maxInt
	case format.Float, format.Double:
		s.Min, s.Max = b.minFloat, b.maxFloat
	case format.ByteArray:
		s.Min, s.Max = string(b.min), string(b.max)
	}
	return s
}

func (b *bounds) decimal(i int64, fixed []byte) decimal128.Num {
	if b.phys.typ != format.FixedLenByteArray {
		return decimal128.FromI64(i)
	}
	return decimalFrom(fixed)
}

// decimalFrom reads a big-endian two's complement number of at most 16 bytes.
func decimalFrom(be []byte) decimal128.Num {
	var full [16]byte
	if len(be) > 0 && be[0] >= 0x80 {
		for i := range full {
			full[i] = 0xff
		}
	}
	copy(full[16-len(be):], be)
	return decimal128.New(int64(binary.BigEndian.Uint64(full[:])), binary.BigEndian.Uint64(full[8:]))
}

// statistics are the bounds as the footer has them (PLAIN, without the length of byte arrays). What was cut, or is next to a NaN, is left out; zeros are
// given the sign that widens the range, as the format asks.
func (b *bounds) statistics() format.Statistics {
	s := format.Statistics{NullCount: b.nulls}
	if !b.any || b.nan || b.minCut || b.maxCut {
		return s
	}
	switch b.phys.typ {
	case format.Boolean:
		s.MinValue, s.MaxValue = []byte{byte(b.minInt)}, []byte{byte(b.maxInt)}
	case format.Int32:
		s.MinValue, s.MaxValue = le32(uint32(b.minInt)), le32(uint32(b.maxInt))
	case format.Int64:
		s.MinValue, s.MaxValue = le64(uint64(b.minInt)), le64(uint64(b.maxInt))
	case format.Float:
		s.MinValue = le32(math.Float32bits(float32(zero(b.minFloat, -1))))
		s.MaxValue = le32(math.Float32bits(float32(zero(b.maxFloat, 1))))
	case format.Double:
		s.MinValue = le64(math.Float64bits(zero(b.minFloat, -1)))
		s.MaxValue = le64(math.Float64bits(zero(b.maxFloat, 1)))
	default:
		s.MinValue, s.MaxValue = bytes.Clone(b.min), bytes.Clone(b.max)
		if s.MinValue == nil { // the empty string is a bound too
			s.MinValue = []byte{}
		}
		if s.MaxValue == nil {
			s.MaxValue = []byte{}
		}
	}
	return s
}

func zero(f, sign float64) float64 {
	if f == 0 {
		return math.Copysign(0, sign)
	}
	return f
}

func le32(v uint32) []byte { return binary.LittleEndian.AppendUint32(nil, v) }
func le64(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

func extent[T byte | int32 | int64](s []T) (lo, hi T) {
	lo, hi = s[0], s[0]
	for _, v := range s {
		lo, hi = min(lo, v), max(hi, v)
	}
	return lo, hi
}

// floatExtent leaves NaN out; without any other value lo > hi.
func floatExtent[T float32 | float64](s []T) (lo, hi T, nan bool) {
	lo, hi = T(math.Inf(1)), T(math.Inf(-1))
	for _, v := range s {
		if v < lo {
			lo = v
		}
		if v > hi {
			hi = v
		}
		if v != v {
			nan = true
		}
	}
	return lo, hi, nan
}
