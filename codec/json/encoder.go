package json

import (
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/codec"
	"microbatch/codec/column"
	"microbatch/internal/errcode"
)

// encoder writes rows as JSON objects.
type encoder struct {
	names [][]byte // `"name":`
}

// NewEncoder makes an encoder for rows of a schema. Fields whose value is null are left out, as in Spark; timestamps and dates are ISO 8601 (with a Z for
// TIMESTAMP, without a zone for TIMESTAMP_NTZ), BINARY is base64, DECIMAL a number with all its digits, and a number that is not finite a string.
// What it writes is decoded to the same row by this package.
func NewEncoder(schema *arrow.Schema) (codec.Encoder, error) {
	if _, err := column.New(schema, memory.DefaultAllocator); err != nil {
		return nil, errcode.RowSchema.Wrap(err, "", "json: encoder")
	}
	e := &encoder{}
	for _, f := range schema.Fields() {
		e.names = append(e.names, append(appendString(nil, f.Name), ':'))
	}
	return e, nil
}

// AppendRow appends one row.
func (e *encoder) AppendRow(dst []byte, record arrow.RecordBatch, row int) ([]byte, error) {
	if int(record.NumCols()) != len(e.names) {
		return dst, fmt.Errorf("json: encoder: the record has %d columns, not %d", record.NumCols(), len(e.names))
	}
	dst = append(dst, '{')
	first := true
	for i, col := range record.Columns() {
		if col.IsNull(row) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(dst, e.names[i]...)
		var err error
		if dst, err = appendValue(dst, col, row); err != nil {
			return dst, fmt.Errorf("json: encoder: column %s: %w", record.ColumnName(i), err)
		}
	}
	return append(dst, '}'), nil
}

// appendValue appends a value of any type.
func appendValue(dst []byte, a arrow.Array, i int) ([]byte, error) {
	if a.IsNull(i) {
		return append(dst, "null"...), nil
	}
	switch a := a.(type) {
	case *array.String:
		return appendString(dst, a.Value(i)), nil
	case *array.Struct:
		return appendStruct(dst, a, i)
	case *array.Map:
		return appendMap(dst, a, i)
	case *array.List:
		return appendList(dst, a, i)
	case *array.Boolean, *array.Int8, *array.Int16, *array.Int32, *array.Int64, *array.Decimal128:
		return column.AppendScalar(dst, a, i)
	case *array.Float32:
		return appendFloat(dst, float64(a.Value(i)), 32), nil
	case *array.Float64:
		return appendFloat(dst, a.Value(i), 64), nil
	}
	dst, err := column.AppendScalar(append(dst, '"'), a, i) // nothing in it needs an escape
	return append(dst, '"'), err
}

// appendFloat appends the shortest number that reads back as v; one that is not finite is a string.
func appendFloat(dst []byte, v float64, bits int) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(column.AppendFloat(append(dst, '"'), v, bits), '"')
	}
	return column.AppendFloat(dst, v, bits)
}

// appendStruct appends an object of the fields that are not null.
func appendStruct(dst []byte, a *array.Struct, i int) ([]byte, error) {
	t := a.DataType().(*arrow.StructType)
	dst = append(dst, '{')
	first := true
	for k := range a.NumField() {
		col := a.Field(k)
		if col.IsNull(i) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(appendString(dst, t.Field(k).Name), ':')
		var err error
		if dst, err = appendValue(dst, col, i); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

// appendMap appends an object with an entry for each key.
func appendMap(dst []byte, a *array.Map, i int) ([]byte, error) {
	from, to := a.ValueOffsets(i)
	dst = append(dst, '{')
	for k := int(from); k < int(to); k++ {
		if k > int(from) {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendKey(dst, a.Keys(), k); err != nil {
			return dst, err
		}
		if dst, err = appendValue(append(dst, ':'), a.Items(), k); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

// appendKey appends a map's key, which is a string whatever its type.
func appendKey(dst []byte, keys arrow.Array, i int) ([]byte, error) {
	if s, ok := keys.(*array.String); ok {
		return appendString(dst, s.Value(i)), nil
	}
	dst, err := column.AppendScalar(append(dst, '"'), keys, i)
	return append(dst, '"'), err
}

// appendList appends an array.
func appendList(dst []byte, a *array.List, i int) ([]byte, error) {
	from, to := a.ValueOffsets(i)
	dst = append(dst, '[')
	for k := int(from); k < int(to); k++ {
		if k > int(from) {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendValue(dst, a.ListValues(), k); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

// appendString appends a JSON string: only what must be escaped is. Bytes that are not UTF-8 become U+FFFD.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				dst = append(append(dst, s[from:i]...), "\ufffd"...)
				from = i + 1
			}
			i += n
			continue
		}
		dst = append(dst, s[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}
