package column

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// AppendScalar appends the text of a value that is not null, of any type but list, struct and map: what Column.AppendText reads back as the same value.
// Timestamps and dates are ISO 8601 (with a Z for TIMESTAMP, without a zone for TIMESTAMP_NTZ), BINARY is base64, DECIMAL has all its digits.
func AppendScalar(dst []byte, a arrow.Array, i int) ([]byte, error) {
	switch a := a.(type) {
	case *array.String:
		return append(dst, a.Value(i)...), nil
	case *array.Int8:
		return strconv.AppendInt(dst, int64(a.Value(i)), 10), nil
	case *array.Int16:
		return strconv.AppendInt(dst, int64(a.Value(i)), 10), nil
	case *array.Int32:
		return strconv.AppendInt(dst, int64(a.Value(i)), 10), nil
	case *array.Int64:
		return strconv.AppendInt(dst, a.Value(i), 10), nil
	case *array.Decimal128:
		return append(dst, a.Value(i).ToString(a.DataType().(*arrow.Decimal128Type).Scale)...), nil
	case *array.Binary:
		return base64.StdEncoding.AppendEncode(dst, a.Value(i)), nil
	case *array.Date32:
		return AppendDate(dst, int32(a.Value(i))), nil
	case *array.Timestamp:
		dst = AppendInstant(dst, int64(a.Value(i)))
		if a.DataType().(*arrow.TimestampType).TimeZone != "" {
			dst = append(dst, 'Z')
		}
		return dst, nil
	case *array.Boolean:
		return strconv.AppendBool(dst, a.Value(i)), nil
	case *array.Float32:
		return AppendFloat(dst, float64(a.Value(i)), 32), nil
	case *array.Float64:
		return AppendFloat(dst, a.Value(i), 64), nil
	}
	return dst, fmt.Errorf("the type %s has no text", a.DataType())
}

// AppendFloat appends the shortest number that reads back as v, or NaN, Infinity, -Infinity.
func AppendFloat(dst []byte, v float64, bits int) []byte {
	switch {
	case math.IsNaN(v):
		return append(dst, "NaN"...)
	case math.IsInf(v, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(v, -1):
		return append(dst, "-Infinity"...)
	}
	if bits == 64 {
		if text, ok := appendCents(dst, v); ok {
			return text
		}
	}
	return shortest(dst, v, bits)
}

// appendCents appends a number of at most two decimals; false, and nothing appended, if v is none. A number of up to 15 digits is the only text of its length, or
// shorter, that reads back as v, so it is what shortest writes, in a third of the time (13 ns instead of 40).
func appendCents(dst []byte, v float64) ([]byte, bool) {
	const most = 1e15 // 15 digits
	scaled := math.Round(v * 100)
	if scaled/100 != v || scaled >= most || scaled <= -most || scaled == 0 { // zero has a sign
		return dst, false
	}
	cents := int64(scaled)
	if cents < 0 {
		dst, cents = append(dst, '-'), -cents
	}
	dst = strconv.AppendInt(dst, cents/100, 10)
	switch rest := cents % 100; {
	case rest == 0:
		return dst, true
	case rest%10 == 0:
		return append(dst, '.', tens[rest]), true
	default:
		return append(dst, '.', tens[rest], ones[rest]), true
	}
}

// shortest appends the shortest number that reads back as v, which is finite.
func shortest(dst []byte, v float64, bits int) []byte {
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, v, format, -1, bits)
}
