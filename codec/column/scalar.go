package column

import (
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"time"

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
		return a.Value(i).ToTime().AppendFormat(dst, "2006-01-02"), nil
	case *array.Timestamp:
		layout := "2006-01-02T15:04:05.999999"
		if a.DataType().(*arrow.TimestampType).TimeZone != "" {
			layout += "Z"
		}
		return time.UnixMicro(int64(a.Value(i))).UTC().AppendFormat(dst, layout), nil
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
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	return strconv.AppendFloat(dst, v, format, -1, bits)
}
