package project

import (
	"fmt"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/schema"
)

// class groups types that are cast alike.
type class int

const (
	classNone class = iota // nested types
	classBool
	classInt
	classFloat
	classDecimal
	classText
	classBinary
	classDate
	classTimestamp
)

func classOf(t arrow.DataType) class {
	switch t.ID() {
	case arrow.BOOL:
		return classBool
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64:
		return classInt
	case arrow.FLOAT32, arrow.FLOAT64:
		return classFloat
	case arrow.DECIMAL128:
		return classDecimal
	case arrow.STRING:
		return classText
	case arrow.BINARY:
		return classBinary
	case arrow.DATE32:
		return classDate
	case arrow.TIMESTAMP:
		return classTimestamp
	}
	return classNone
}

// castable reports whether there is a cast between two types.
func castable(from, to arrow.DataType) bool {
	f, t := classOf(from), classOf(to)
	switch {
	case arrow.TypeEqual(from, to):
		return true
	case f == classNone || t == classNone:
		return false
	case f == classBinary || t == classBinary:
		return f == classText || t == classText
	case f == classText || t == classText:
		return true
	case f >= classDate || t >= classDate:
		return f >= classDate && t >= classDate
	}
	return true
}

// badValue is a value that a cast does not take.
type badValue struct {
	value    string
	from, to arrow.DataType
}

func (e *badValue) Error() string {
	return fmt.Sprintf("%q of type %s is no %s", e.value, schema.TypeDDL(e.from), schema.TypeDDL(e.to))
}

// castArray casts between castable types. The caller releases the result. A value that cannot be cast is a *badValue, or null with try.
func castArray(mem memory.Allocator, a arrow.Array, to arrow.DataType, try bool) (arrow.Array, error) {
	if arrow.TypeEqual(a.DataType(), to) {
		a.Retain()
		return a, nil
	}
	b := array.NewBuilder(mem, to)
	defer b.Release()
	b.Reserve(a.Len())
	put := newCast(a, b)
	for i := range a.Len() {
		switch {
		case a.IsNull(i):
			b.AppendNull()
		case put(i):
		case try:
			b.AppendNull()
		default:
			return nil, &badValue{value: a.ValueStr(i), from: a.DataType(), to: to}
		}
	}
	return b.NewArray(), nil
}

// newCast appends the value at an index of a to b, or says that it does not fit and appends nothing.
func newCast(a arrow.Array, b array.Builder) func(i int) bool {
	switch b := b.(type) {
	case *array.BooleanBuilder:
		return castBool(a, b)
	case *array.Float32Builder:
		get := floats(a)
		return func(i int) bool {
			v, ok := get(i)
			if narrow := float32(v); ok && (!math.IsInf(float64(narrow), 0) || math.IsInf(v, 0)) {
				b.Append(narrow)
				return true
			}
			return false
		}
	case *array.Float64Builder:
		get := floats(a)
		return func(i int) bool {
			v, ok := get(i)
			if ok {
				b.Append(v)
			}
			return ok
		}
	case *array.Decimal128Builder:
		t := b.Type().(*arrow.Decimal128Type)
		get := decimals(a, t)
		return func(i int) bool {
			v, ok := get(i)
			if ok {
				b.Append(v)
			}
			return ok
		}
	case *array.StringBuilder:
		return castText(a, b)
	case *array.BinaryBuilder:
		text := a.(*array.String)
		return func(i int) bool { b.AppendString(text.Value(i)); return true }
	case *array.Date32Builder:
		return castDate(a, b)
	case *array.TimestampBuilder:
		return castTimestamp(a, b)
	}
	return castInt(a, b)
}

func castBool(a arrow.Array, b *array.BooleanBuilder) func(int) bool {
	if text, ok := a.(*array.String); ok {
		return func(i int) bool {
			v, ok := parseBool(text.Value(i))
			if ok {
				b.Append(v)
			}
			return ok
		}
	}
	if dec, ok := a.(*array.Decimal128); ok {
		return func(i int) bool { b.Append(dec.Value(i).Sign() != 0); return true }
	}
	get := floats(a)
	return func(i int) bool {
		v, _ := get(i)
		b.Append(v != 0)
		return true
	}
}

func castInt(a arrow.Array, b array.Builder) func(int) bool {
	get := integers(a)
	put := func(v int64) { b.(*array.Int64Builder).Append(v) }
	low, high := int64(math.MinInt64), int64(math.MaxInt64)
	switch b := b.(type) {
	case *array.Int8Builder:
		low, high, put = math.MinInt8, math.MaxInt8, func(v int64) { b.Append(int8(v)) }
	case *array.Int16Builder:
		low, high, put = math.MinInt16, math.MaxInt16, func(v int64) { b.Append(int16(v)) }
	case *array.Int32Builder:
		low, high, put = math.MinInt32, math.MaxInt32, func(v int64) { b.Append(int32(v)) }
	}
	return func(i int) bool {
		v, ok := get(i)
		if !ok || v < low || v > high {
			return false
		}
		put(v)
		return true
	}
}

// castText writes into one buffer that is used again.
func castText(a arrow.Array, b *array.StringBuilder) func(int) bool {
	if binary, ok := a.(*array.Binary); ok {
		return func(i int) bool {
			ok := utf8.Valid(binary.Value(i))
			if ok {
				b.BinaryBuilder.Append(binary.Value(i))
			}
			return ok
		}
	}
	var buffer []byte
	write := texts(a)
	return func(i int) bool {
		buffer = write(buffer[:0], i)
		b.BinaryBuilder.Append(buffer)
		return true
	}
}

func castDate(a arrow.Array, b *array.Date32Builder) func(int) bool {
	switch a := a.(type) {
	case *array.String:
		return func(i int) bool {
			v, ok := parseDate(a.Value(i))
			if ok {
				b.Append(arrow.Date32(v))
			}
			return ok
		}
	default:
		ts := a.(*array.Timestamp)
		return func(i int) bool {
			b.Append(arrow.Date32(floorDiv(int64(ts.Value(i)), secondsPerDay*1e6)))
			return true
		}
	}
}

func castTimestamp(a arrow.Array, b *array.TimestampBuilder) func(int) bool {
	zoneless := b.Type().(*arrow.TimestampType).TimeZone == ""
	switch a := a.(type) {
	case *array.String:
		return func(i int) bool {
			v, zoned, ok := parseTimestamp(a.Value(i))
			if !ok || zoned && zoneless {
				return false
			}
			b.Append(arrow.Timestamp(v))
			return true
		}
	case *array.Date32:
		return func(i int) bool { b.Append(arrow.Timestamp(int64(a.Value(i)) * secondsPerDay * 1e6)); return true }
	default:
		ts := a.(*array.Timestamp)
		return func(i int) bool { b.Append(ts.Value(i)); return true }
	}
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// integers reads values as whole numbers, with fractions cut off.
func integers(a arrow.Array) func(int) (int64, bool) {
	switch a := a.(type) {
	case *array.Boolean:
		return func(i int) (int64, bool) {
			if a.Value(i) {
				return 1, true
			}
			return 0, true
		}
	case *array.Int8:
		return func(i int) (int64, bool) { return int64(a.Value(i)), true }
	case *array.Int16:
		return func(i int) (int64, bool) { return int64(a.Value(i)), true }
	case *array.Int32:
		return func(i int) (int64, bool) { return int64(a.Value(i)), true }
	case *array.Int64:
		return func(i int) (int64, bool) { return a.Value(i), true }
	case *array.String:
		return func(i int) (int64, bool) { return parseInt(a.Value(i)) }
	case *array.Decimal128:
		scale := a.DataType().(*arrow.Decimal128Type).Scale
		return func(i int) (int64, bool) {
			n := reduceScale(a.Value(i), scale, false)
			low := int64(n.LowBits())
			return low, n.HighBits() == low>>63
		}
	}
	get := floats(a)
	return func(i int) (int64, bool) {
		v, ok := get(i)
		return int64(v), ok && v > -9223372036854777856.0 && v < 9223372036854775808.0 // 2^63, exclusive
	}
}

// floats reads values as DOUBLE.
func floats(a arrow.Array) func(int) (float64, bool) {
	switch a := a.(type) {
	case *array.Float32:
		return func(i int) (float64, bool) { return float64(a.Value(i)), true }
	case *array.Float64:
		return func(i int) (float64, bool) { return a.Value(i), true }
	case *array.String:
		return func(i int) (float64, bool) { return parseFloat(a.Value(i)) }
	case *array.Decimal128:
		scale := a.DataType().(*arrow.Decimal128Type).Scale
		return func(i int) (float64, bool) { return a.Value(i).ToFloat64(scale), true }
	}
	get := integers(a)
	return func(i int) (float64, bool) {
		v, ok := get(i)
		return float64(v), ok
	}
}

// decimals reads values at the scale of a type, rounded half up.
func decimals(a arrow.Array, t *arrow.Decimal128Type) func(int) (decimal128.Num, bool) {
	switch a := a.(type) {
	case *array.String:
		return func(i int) (decimal128.Num, bool) { return parseDecimal(a.Value(i), t.Precision, t.Scale) }
	case *array.Decimal128:
		from := a.DataType().(*arrow.Decimal128Type)
		return func(i int) (decimal128.Num, bool) {
			if from.Scale > t.Scale {
				n := reduceScale(a.Value(i), from.Scale-t.Scale, true)
				return n, n.FitsInPrecision(t.Precision)
			}
			return increaseScale(a.Value(i), t.Scale-from.Scale, t.Precision)
		}
	case *array.Float32, *array.Float64:
		get, size := floats(a), a.DataType().(arrow.FixedWidthDataType).BitWidth()
		var buffer []byte
		return func(i int) (decimal128.Num, bool) { // by its shortest text, as people read it: 0.1 is 0.1
			v, _ := get(i)
			buffer = appendFloat(buffer[:0], v, size)
			return parseDecimal(string(buffer), t.Precision, t.Scale)
		}
	}
	get := integers(a)
	return func(i int) (decimal128.Num, bool) {
		v, _ := get(i)
		return increaseScale(decimal128.FromI64(v), t.Scale, t.Precision)
	}
}

// increaseScale multiplies by a power of ten, if the product has no more digits than precision.
func increaseScale(n decimal128.Num, by, precision int32) (decimal128.Num, bool) {
	if n.Sign() == 0 {
		return n, true
	}
	if by >= precision || !n.FitsInPrecision(precision-by) {
		return n, false
	}
	return n.Mul(decimal128.GetScaleMultiplier(int(by))), true
}

// reduceScale divides by a power of ten; in 64 bits where it can, because the library's way allocates.
func reduceScale(n decimal128.Num, by int32, round bool) decimal128.Num {
	low := int64(n.LowBits())
	if by > 18 || n.HighBits() != low>>63 {
		return n.ReduceScaleBy(by, round)
	}
	power := int64(decimal128.GetScaleMultiplier(int(by)).LowBits())
	q, rest := low/power, low%power
	if round && rest >= power-rest && rest > 0 {
		q++
	}
	if round && rest < 0 && -rest >= power+rest {
		q--
	}
	return decimal128.FromI64(q)
}

// texts appends values as text.
func texts(a arrow.Array) func([]byte, int) []byte {
	switch a := a.(type) {
	case *array.Boolean:
		return func(b []byte, i int) []byte {
			if a.Value(i) {
				return append(b, "true"...)
			}
			return append(b, "false"...)
		}
	case *array.Float32:
		return func(b []byte, i int) []byte { return appendFloat(b, float64(a.Value(i)), 32) }
	case *array.Float64:
		return func(b []byte, i int) []byte { return appendFloat(b, a.Value(i), 64) }
	case *array.Decimal128:
		scale := a.DataType().(*arrow.Decimal128Type).Scale
		return func(b []byte, i int) []byte { return append(b, a.Value(i).ToString(scale)...) }
	case *array.Date32:
		return func(b []byte, i int) []byte { return appendDate(b, int32(a.Value(i))) }
	case *array.Timestamp:
		return func(b []byte, i int) []byte { return appendTimestamp(b, int64(a.Value(i))) }
	}
	get := integers(a)
	return func(b []byte, i int) []byte {
		v, _ := get(i)
		return strconv.AppendInt(b, v, 10)
	}
}
