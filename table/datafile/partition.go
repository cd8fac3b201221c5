package datafile

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/internal/bugs"
	"microbatch/internal/errcode"
)

// nullDirectory stands for null in a directory name.
const nullDirectory = "__HIVE_DEFAULT_PARTITION__"

// maxDirectory is how long one directory name may be: no file system takes more.
const maxDirectory = 255

// CanPartition reports whether a column of a type may be a partition column.
func CanPartition(t arrow.DataType) bool {
	switch t.ID() {
	case arrow.BOOL, arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.FLOAT32, arrow.FLOAT64, arrow.STRING, arrow.DATE32, arrow.TIMESTAMP, arrow.DECIMAL128:
		return true
	}
	return false
}

// partitionText is a value as a log and a directory name have it (Delta protocol: Partition Value Serialization); nil for null.
func partitionText(a arrow.Array, row int) *string {
	if a.IsNull(row) {
		return nil
	}
	var text string
	switch a := a.(type) {
	case *array.Boolean:
		text = strconv.FormatBool(a.Value(row))
	case *array.Int8:
		text = strconv.FormatInt(int64(a.Value(row)), 10)
	case *array.Int16:
		text = strconv.FormatInt(int64(a.Value(row)), 10)
	case *array.Int32:
		text = strconv.FormatInt(int64(a.Value(row)), 10)
	case *array.Int64:
		text = strconv.FormatInt(a.Value(row), 10)
	case *array.Float32:
		text = floatText(float64(a.Value(row)), 32)
	case *array.Float64:
		text = floatText(a.Value(row), 64)
	case *array.Date32:
		text = a.Value(row).ToTime().Format("2006-01-02")
	case *array.Timestamp:
		layout := "2006-01-02T15:04:05.000000Z"
		if a.DataType().(*arrow.TimestampType).TimeZone == "" {
			layout = "2006-01-02 15:04:05.000000"
		}
		text = time.UnixMicro(int64(a.Value(row))).UTC().Format(layout)
	case *array.Decimal128:
		text = a.Value(row).ToString(a.DataType().(*arrow.Decimal128Type).Scale)
	case *array.String:
		text = strings.Clone(a.Value(row))
	}
	if text == "" {
		return nil
	}
	return &text
}

// floatText spells a number as Java reads it.
func floatText(v float64, bits int) string {
	switch {
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	}
	return strconv.FormatFloat(v, 'g', -1, bits)
}

// directory is the path of a partition below the table, ending in a slash; "" without partition columns.
func directory(columns []string, values []*string) (string, error) {
	var b strings.Builder
	for i, c := range columns {
		start := b.Len()
		escape(&b, c)
		b.WriteByte('=')
		if values[i] == nil {
			b.WriteString(nullDirectory)
		} else {
			escape(&b, *values[i])
		}
		if n := b.Len() - start; n > maxDirectory {
			return "", errcode.TablePartitionValue.New("column "+c, "the value %.40q... needs a directory name of %d bytes; %d is the most", *values[i], n, maxDirectory)
		}
		b.WriteByte('/')
	}
	return b.String(), nil
}

// escape writes text as part of a directory name. ASCII outside a small set is escaped; the rest stays, because Spark unescapes byte by byte.
func escape(b *strings.Builder, text string) {
	if bugs.Is(bugs.UnescapedValue) {
		b.WriteString(text)
		return
	}
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c >= 0x80 || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '.' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(b, "%%%02X", c)
		}
	}
}

// constant is n times the partition value with a text in a log.
func constant(t arrow.DataType, text *string, n int, alloc memory.Allocator) (arrow.Array, error) {
	b := array.NewBuilder(alloc, t)
	defer b.Release()
	if text == nil || *text == "" {
		b.AppendNulls(n)
		return b.NewArray(), nil
	}
	if t.ID() == arrow.DECIMAL128 && !isDecimal(*text) {
		return nil, fmt.Errorf("partition value %.40q is not a %s", *text, t)
	}
	b.Reserve(n)
	text = zoned(t, text)
	if s, ok := b.(*array.StringBuilder); ok {
		for range n {
			s.Append(*text)
		}
		return b.NewArray(), nil
	}
	for range n {
		if err := b.AppendValueFromString(*text); err != nil {
			return nil, fmt.Errorf("partition value %q is not a %s: %w", *text, t, err)
		}
	}
	return b.NewArray(), nil
}

// PartitionValue is the partition value with a text in a log, as an array of one. The caller releases it.
func PartitionValue(t arrow.DataType, text string) (arrow.Array, error) {
	return constant(t, &text, 1, memory.DefaultAllocator)
}

// PartitionText is a partition value of a log as this package spells it, so that equal values have equal texts whoever wrote them; nil for null.
func PartitionText(t arrow.DataType, text *string) *string {
	if text == nil || *text == "" {
		return nil
	}
	a, err := PartitionValue(t, *text)
	if err != nil {
		return text
	}
	defer a.Release()
	return partitionText(a, 0)
}

// isDecimal reports whether a text is a number that the library can be trusted with: of an infinity it panics, and an exponent of nine digits costs it gigabytes.
func isDecimal(text string) bool {
	digits, exponent, scientific := strings.Cut(strings.ToLower(text), "e")
	if scientific {
		if n, err := strconv.Atoi(exponent); err != nil || n < -100 || n > 100 {
			return false
		}
	}
	digits = strings.TrimLeft(digits, "+-")
	return len(digits) <= 100 && strings.Trim(digits, "0123456789.") == ""
}

// zoned gives a timestamp without zone the zone UTC: older writers left it out, and meant the zone of their session.
func zoned(t arrow.DataType, text *string) *string {
	ts, ok := t.(*arrow.TimestampType)
	if !ok || ts.TimeZone == "" || len(*text) < len("2006-01-02 15:04:05") || strings.ContainsAny((*text)[19:], "Z+-") {
		return text
	}
	utc := *text + "Z"
	return &utc
}
