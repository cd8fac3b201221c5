package avro

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"microbatch/codec"
	"microbatch/internal/errcode"
)

// encoder writes rows by a schema.
type encoder struct {
	prefix []byte // in front of each
	root   *field
	bound  arrow.RecordBatch // whose arrays the fields hold; only compared with, never read after its rows are written
}

// NewEncoder makes an encoder of rows by a schema. Each column must have a field that takes all of its values, apart from null, and each field a column or a default.
func NewEncoder(s *Schema, rows *arrow.Schema) (codec.Encoder, error) {
	return newEncoder(s, rows, nil)
}

// newEncoder puts a prefix in front of each row.
func newEncoder(s *Schema, rows *arrow.Schema, prefix []byte) (*encoder, error) {
	root, faults := prepare(s.root, rows.Fields(), "", "")
	if len(faults) > 0 {
		return nil, errcode.AvroColumns.New("", "the schema %s: %s", s.Name(), strings.Join(faults, "; "))
	}
	return &encoder{prefix: prefix, root: root}, nil
}

// AppendRow appends one row.
func (e *encoder) AppendRow(dst []byte, record arrow.RecordBatch, row int) ([]byte, error) {
	if record != e.bound { // while we point to the old one, no new one has its address
		for k, kid := range e.root.kids {
			if i := e.root.from[k]; i >= int(record.NumCols()) {
				return dst, fmt.Errorf("avro: encoder: the record has %d columns", record.NumCols())
			} else if i >= 0 {
				kid.bind(record.Column(i))
			}
		}
		e.bound = record
	}
	return e.root.fields(append(dst, e.prefix...), row)
}

// bind lets the field write values of an array.
func (f *field) bind(a arrow.Array) {
	f.column, f.nulls = a, a.NullN() > 0
	switch a := a.(type) {
	case *array.Boolean:
		f.bools = a
	case *array.Int8:
		f.i8 = a.Int8Values()
	case *array.Int16:
		f.i16 = a.Int16Values()
	case *array.Int32:
		f.i32 = a.Int32Values()
	case *array.Date32:
		f.i32 = arrow.Int32Traits.CastFromBytes(arrow.Date32Traits.CastToBytes(a.Date32Values()))
	case *array.Int64:
		f.i64 = a.Int64Values()
	case *array.Timestamp:
		f.i64 = arrow.Int64Traits.CastFromBytes(arrow.TimestampTraits.CastToBytes(a.TimestampValues()))
	case *array.Float32:
		f.f32 = a.Float32Values()
	case *array.Float64:
		f.f64 = a.Float64Values()
	case *array.String:
		f.text = a
	case *array.Binary:
		f.binary = a
	case *array.Decimal128:
		f.digits = a
	case *array.Struct:
		for k, kid := range f.kids {
			if i := f.from[k]; i >= 0 {
				kid.bind(a.Field(i))
			}
		}
	case *array.Map:
		f.list, f.text = a, a.Keys().(*array.String)
		f.kids[0].bind(a.Items())
	case *array.List:
		f.list = a
		f.kids[0].bind(a.ListValues())
	}
}

// fields appends the fields of a record.
func (f *field) fields(dst []byte, i int) (_ []byte, err error) {
	for _, kid := range f.kids {
		if dst, err = kid.append(dst, i); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// append appends value i.
func (f *field) append(dst []byte, i int) ([]byte, error) {
	if f.nulls && f.column.IsNull(i) {
		if f.null == nil {
			return dst, fmt.Errorf("column %s is null, and the schema has no null there", f.path)
		}
		return append(dst, f.null...), nil
	}
	dst = append(dst, f.value...)
	switch f.op {
	case writeInt64:
		return appendLong(dst, f.i64[i]), nil
	case writeInt32:
		return appendLong(dst, int64(f.i32[i])), nil
	case writeString:
		v := f.text.Value(i)
		return append(appendLong(dst, int64(len(v))), v...), nil
	case writeDouble:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(f.f64[i])), nil
	case writeInstant:
		return f.instant(dst, f.i64[i])
	case writeBoolean:
		if f.bools.Value(i) {
			return append(dst, 1), nil
		}
		return append(dst, 0), nil
	case writeFloat:
		return binary.LittleEndian.AppendUint32(dst, math.Float32bits(f.f32[i])), nil
	case writeWider:
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(float64(f.f32[i]))), nil
	case writeBinary:
		v := f.binary.Value(i)
		return append(appendLong(dst, int64(len(v))), v...), nil
	case writeRecord:
		return f.fields(dst, i)
	case writeArray, writeMap:
		return f.elements(dst, i)
	case writeDecimal, writeFixedDecimal:
		return f.decimal(dst, f.digits.Value(i))
	case writeInt8:
		return appendLong(dst, int64(f.i8[i])), nil
	case writeInt16:
		return appendLong(dst, int64(f.i16[i])), nil
	case writeFixed:
		v := f.binary.Value(i)
		if len(v) != f.size {
			return dst, fmt.Errorf("column %s has a value of %d bytes, and the schema wants %d", f.path, len(v), f.size)
		}
		return append(dst, v...), nil
	case writeEnum:
		symbol, ok := f.symbols[f.text.Value(i)]
		if !ok {
			return dst, fmt.Errorf("column %s has a value that is none of the schema's symbols", f.path)
		}
		return appendLong(dst, int64(symbol)), nil
	}
	return append(dst, f.constant...), nil
}

// elements appends an array or a map, as one block.
func (f *field) elements(dst []byte, i int) (_ []byte, err error) {
	from, to := f.list.ValueOffsets(i)
	if from == to {
		return append(dst, 0), nil
	}
	dst = appendLong(dst, to-from)
	for k := int(from); k < int(to); k++ {
		if f.op == writeMap {
			key := f.text.Value(k)
			dst = append(appendLong(dst, int64(len(key))), key...)
		}
		if dst, err = f.kids[0].append(dst, k); err != nil {
			return dst, err
		}
	}
	return append(dst, 0), nil
}

// instant appends microseconds in the schema's unit; of milliseconds what is beyond is dropped.
func (f *field) instant(dst []byte, v int64) ([]byte, error) {
	switch f.unit {
	case millis:
		rest := v % 1000
		if v /= 1000; rest < 0 {
			v--
		}
	case nanos:
		if v > math.MaxInt64/1000 || v < math.MinInt64/1000 {
			return dst, fmt.Errorf("column %s has a time that nanoseconds since 1970 do not reach", f.path)
		}
		v *= 1000
	}
	return appendLong(dst, v), nil
}

var errTooWide = errors.New("a number of more digits than the schema's bytes hold")

// decimal appends a two's complement number: in as few bytes as it takes, or in as many as the schema says.
func (f *field) decimal(dst []byte, v decimal128.Num) ([]byte, error) {
	var wide [16]byte
	binary.BigEndian.PutUint64(wide[:], uint64(v.HighBits()))
	binary.BigEndian.PutUint64(wide[8:], v.LowBits())
	sign := byte(v.HighBits() >> 63)
	b := wide[:]
	for len(b) > 1 && b[0] == sign && b[1]&0x80 == sign&0x80 {
		b = b[1:]
	}
	if f.op == writeDecimal {
		return append(appendLong(dst, int64(len(b))), b...), nil
	}
	if len(b) > f.size {
		return dst, fmt.Errorf("column %s: %w", f.path, errTooWide)
	}
	for range f.size - len(b) {
		dst = append(dst, sign)
	}
	return append(dst, b...), nil
}

// appendLong appends a zigzag number.
func appendLong(dst []byte, v int64) []byte {
	u := uint64(v<<1) ^ uint64(v>>63)
	for u >= 0x80 {
		dst = append(dst, byte(u)|0x80)
		u >>= 7
	}
	return append(dst, byte(u))
}
