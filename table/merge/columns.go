package merge

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"microbatch/schema"
)

// Columns are some columns of rows, whose values are compared as bytes.
//
//	null               0
//	BOOLEAN            1, then 0 or 1
//	integers, dates,   1, then eight bytes, big-endian, with the sign turned
//	timestamps
//	DECIMAL            1, then sixteen bytes, likewise
//	STRING, BINARY     1, then the bytes, 0 as 0 255, and 0 1 at the end
//	FLOAT, DOUBLE      1, then eight bytes in the order of numbers; as an order only
type Columns struct {
	names   []string
	types   []arrow.DataType
	noEmpty []bool // an empty string is null: a partition column
}

// NewColumns finds columns in a schema, without regard to case. partitionBy are the table's partition columns.
func NewColumns(s *arrow.Schema, names, partitionBy []string) (*Columns, error) {
	c := &Columns{}
	for _, name := range names {
		i := slices.IndexFunc(s.Fields(), func(f arrow.Field) bool { return strings.EqualFold(f.Name, name) })
		if i < 0 {
			return nil, fmt.Errorf("the rows have no column %s", name)
		}
		f := s.Field(i)
		if slices.Contains(c.names, f.Name) {
			return nil, fmt.Errorf("column %s is named twice", name)
		}
		if _, ok := width(f.Type); !ok {
			return nil, fmt.Errorf("column %s is a %s, which has no order", name, schema.TypeDDL(f.Type))
		}
		c.names, c.types = append(c.names, f.Name), append(c.types, f.Type)
		c.noEmpty = append(c.noEmpty, f.Type.ID() == arrow.STRING && slices.ContainsFunc(partitionBy, func(p string) bool { return strings.EqualFold(p, name) }))
	}
	return c, nil
}

// CheckKeys refuses columns that cannot be keys: numbers that are equal only almost.
func (c *Columns) CheckKeys() error {
	for i, t := range c.types {
		if t.ID() == arrow.FLOAT32 || t.ID() == arrow.FLOAT64 {
			return fmt.Errorf("column %s is a %s, which cannot be a key", c.names[i], schema.TypeDDL(t))
		}
	}
	return nil
}

// Names are the columns as the schema spells them.
func (c *Columns) Names() []string { return c.names }

// width is how many bytes a value of a type takes, variable for texts; ok false: it cannot be compared.
func width(t arrow.DataType) (n int, ok bool) {
	switch t.ID() {
	case arrow.BOOL:
		return 1, true
	case arrow.INT8, arrow.INT16, arrow.INT32, arrow.INT64, arrow.DATE32, arrow.TIMESTAMP, arrow.FLOAT32, arrow.FLOAT64:
		return 8, true
	case arrow.DECIMAL128:
		return 16, true
	case arrow.STRING, arrow.BINARY:
		return variable, true
	}
	return 0, false
}

const variable = -1

// encoder appends the value of a row.
type encoder func(dst []byte, row int) []byte

// encoder appends the values of a row in all columns. Columns are found by name, without regard to case, and may be narrower than they were.
func (c *Columns) encoder(rec arrow.RecordBatch) (encoder, error) {
	each := make([]encoder, len(c.names))
	for i, name := range c.names {
		at := slices.IndexFunc(rec.Schema().Fields(), func(f arrow.Field) bool { return strings.EqualFold(f.Name, name) })
		if at < 0 {
			return nil, fmt.Errorf("merge: the rows have no column %s", name)
		}
		e, err := encoderOf(rec.Column(at), c.noEmpty[i])
		if err != nil {
			return nil, fmt.Errorf("merge: column %s: %w", name, err)
		}
		each[i] = e
	}
	if len(each) == 1 {
		return each[0], nil
	}
	return func(dst []byte, row int) []byte {
		for _, e := range each {
			dst = e(dst, row)
		}
		return dst
	}, nil
}

func encoderOf(a arrow.Array, noEmpty bool) (encoder, error) {
	var value encoder
	switch a := a.(type) {
	case *array.Boolean:
		value = func(dst []byte, row int) []byte {
			if a.Value(row) {
				return append(dst, 1)
			}
			return append(dst, 0)
		}
	case *array.Int8:
		value = integers(a.Int8Values())
	case *array.Int16:
		value = integers(a.Int16Values())
	case *array.Int32:
		value = integers(a.Int32Values())
	case *array.Int64:
		value = integers(a.Int64Values())
	case *array.Date32:
		value = integers(a.Date32Values())
	case *array.Timestamp:
		value = integers(a.TimestampValues())
	case *array.Float32:
		value = func(dst []byte, row int) []byte { return appendFloat(dst, float64(a.Value(row))) }
	case *array.Float64:
		value = func(dst []byte, row int) []byte { return appendFloat(dst, a.Value(row)) }
	case *array.Decimal128:
		value = func(dst []byte, row int) []byte { return appendDecimal(dst, a.Value(row)) }
	case *array.String:
		value = func(dst []byte, row int) []byte { return appendText(dst, a.Value(row)) }
		if noEmpty {
			return func(dst []byte, row int) []byte {
				if a.IsNull(row) || a.ValueLen(row) == 0 {
					return append(dst, 0)
				}
				return appendText(append(dst, 1), a.Value(row))
			}, nil
		}
	case *array.Binary:
		value = func(dst []byte, row int) []byte { return appendText(dst, string(a.Value(row))) }
	default:
		return nil, fmt.Errorf("a %s has no order", schema.TypeDDL(a.DataType()))
	}
	if a.NullN() == 0 {
		return func(dst []byte, row int) []byte { return value(append(dst, 1), row) }, nil
	}
	return func(dst []byte, row int) []byte {
		if a.IsNull(row) {
			return append(dst, 0)
		}
		return value(append(dst, 1), row)
	}, nil
}

func integers[T ~int8 | ~int16 | ~int32 | ~int64](values []T) encoder {
	return func(dst []byte, row int) []byte { return appendInt(dst, int64(values[row])) }
}

func appendInt(dst []byte, v int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(v)^(1<<63))
}

func appendDecimal(dst []byte, v decimal128.Num) []byte {
	return binary.BigEndian.AppendUint64(appendInt(dst, v.HighBits()), v.LowBits())
}

// appendFloat orders numbers, with all NaNs as one above them, and both zeros as one.
func appendFloat(dst []byte, v float64) []byte {
	if math.IsNaN(v) {
		return binary.BigEndian.AppendUint64(dst, math.MaxUint64)
	}
	bits := math.Float64bits(v + 0)
	if v == 0 {
		bits = 0
	}
	if bits>>63 == 1 {
		bits = ^bits
	} else {
		bits |= 1 << 63
	}
	return binary.BigEndian.AppendUint64(dst, bits)
}

func appendText(dst []byte, v string) []byte {
	for {
		i := strings.IndexByte(v, 0)
		if i < 0 {
			return append(append(dst, v...), 0, 1)
		}
		dst = append(append(dst, v[:i]...), 0, 0xff)
		v = v[i+1:]
	}
}

// first is the length of the value of a type that encoded begins with, its leading byte included.
func first(encoded []byte, t arrow.DataType) int {
	if encoded[0] == 0 {
		return 1
	}
	n, _ := width(t)
	if n != variable {
		return 1 + n
	}
	for i := 1; ; i += 2 {
		i += bytes.IndexByte(encoded[i:], 0)
		if encoded[i+1] == 1 {
			return i + 2
		}
	}
}

// text is an encoded key for messages.
func (c *Columns) text(encoded []byte) string {
	var b strings.Builder
	for i, t := range c.types {
		n := first(encoded, t)
		value := encoded[:n]
		encoded = encoded[n:]
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(c.names[i] + " ")
		writeValue(&b, t, value)
	}
	return b.String()
}

func writeValue(b *strings.Builder, t arrow.DataType, value []byte) {
	if value[0] == 0 {
		b.WriteString("null")
		return
	}
	value = value[1:]
	number := func() int64 { return int64(binary.BigEndian.Uint64(value) ^ (1 << 63)) }
	switch t := t.(type) {
	case *arrow.BooleanType:
		fmt.Fprint(b, value[0] == 1)
	case *arrow.Date32Type:
		b.WriteString(arrow.Date32(number()).FormattedString())
	case *arrow.TimestampType:
		b.WriteString(arrow.Timestamp(number()).ToTime(t.Unit).Format("2006-01-02T15:04:05.999999"))
	case *arrow.Decimal128Type:
		b.WriteString(decimal128.New(number(), binary.BigEndian.Uint64(value[8:])).ToString(t.Scale))
	case *arrow.StringType, *arrow.BinaryType:
		text := bytes.ReplaceAll(value[:len(value)-2], []byte{0, 0xff}, []byte{0})
		fmt.Fprintf(b, "%.60q", text)
	default:
		fmt.Fprint(b, number())
	}
}
