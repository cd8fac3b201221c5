package avro

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/hamba/avro/v2"

	"microbatch/schema"
)

// writeOp is what a field does with a value of its column.
type writeOp uint8

// The writeOps, by the type of the column.
const (
	writeConstant writeOp = iota // no column: the field's default
	writeBoolean
	writeInt8
	writeInt16
	writeInt32 // and DATE
	writeInt64
	writeFloat
	writeWider // FLOAT as double
	writeDouble
	writeInstant
	writeString
	writeBinary
	writeFixed
	writeEnum
	writeDecimal
	writeFixedDecimal
	writeRecord
	writeArray
	writeMap
)

// field writes one column, or part of one, by the schema. While rows of a record are written it holds the record's arrays.
type field struct {
	op       writeOp
	path     string // "a.b", for messages
	constant []byte
	null     []byte // the branch of a union that says null; nil: there is none, and
	value    []byte // the one that says a value; nil without a union
	kids     []*field
	from     []int // of a record: which column each kid is of, -1 for none
	size     int   // of fixed
	unit     unit
	symbols  map[string]int

	column arrow.Array // of the record that is bound
	nulls  bool        // it has some
	bools  *array.Boolean
	i8     []int8
	i16    []int16
	i32    []int32
	i64    []int64
	f32    []float32
	f64    []float64
	text   *array.String
	binary *array.Binary
	digits *array.Decimal128
	list   interface {
		ValueOffsets(int) (int64, int64)
	}
}

// prepare makes the field of a record of the schema from columns, or lists all that does not fit. Every column has a field; a field without a column has a default.
func prepare(r *avro.RecordSchema, columns []arrow.Field, path, prefix string) (n *field, faults []string) {
	n = &field{op: writeRecord, path: path}
	have := map[string]bool{}
	for _, f := range r.Fields() {
		have[f.Name()] = true
		i := slices.IndexFunc(columns, func(c arrow.Field) bool { return c.Name == f.Name() })
		var kid *field
		if i >= 0 {
			var more []string
			kid, more = prepareValue(f.Type(), columns[i].Type, prefix+f.Name())
			faults = append(faults, more...)
		} else {
			var err error
			if kid, err = constant(f); err != nil {
				faults = append(faults, fmt.Sprintf("field %s%s has no column, and %v", prefix, f.Name(), err))
			}
		}
		n.kids, n.from = append(n.kids, kid), append(n.from, i)
	}
	for _, c := range columns {
		if !have[c.Name] {
			faults = append(faults, fmt.Sprintf("column %s%s has no field in %s", prefix, c.Name, r.FullName()))
		}
	}
	return n, faults
}

// constant writes the default of a field that has no column. That of a union is of its first schema.
func constant(f *avro.Field) (*field, error) {
	if !f.HasDefault() {
		return nil, fmt.Errorf("no default")
	}
	n, t := &field{}, named(f.Type())
	if u, ok := t.(*avro.UnionSchema); ok {
		n.constant, t = appendLong(nil, 0), u.Types()[0]
	}
	text, err := avro.Marshal(t, f.Default())
	if err != nil {
		return nil, fmt.Errorf("its default cannot be written: %w", err)
	}
	n.constant = append(n.constant, text...)
	return n, nil
}

// prepareValue makes the field of a value of a schema from a column of a type.
func prepareValue(s avro.Schema, t arrow.DataType, path string) (*field, []string) {
	n := &field{path: path}
	switch s := named(s).(type) {
	case *avro.UnionSchema:
		return prepareUnion(s, t, path)
	case *avro.RecordSchema:
		if t, ok := t.(*arrow.StructType); ok {
			return prepare(s, t.Fields(), path, path+".")
		}
	case *avro.ArraySchema:
		if t, ok := t.(*arrow.ListType); ok {
			kid, faults := prepareValue(s.Items(), t.Elem(), path+".element")
			n.op, n.kids = writeArray, []*field{kid}
			return n, faults
		}
	case *avro.MapSchema:
		if t, ok := t.(*arrow.MapType); ok && t.KeyType().ID() == arrow.STRING {
			kid, faults := prepareValue(s.Values(), t.ItemType(), path+".value")
			n.op, n.kids = writeMap, []*field{kid}
			return n, faults
		}
	default:
		if n.scalar(s, t) {
			return n, nil
		}
	}
	return n, []string{fmt.Sprintf("column %s is %s, and the schema wants %s", path, schema.TypeDDL(t), describe(s))}
}

// prepareUnion makes the field of the first schema of a union that the column fits.
func prepareUnion(u *avro.UnionSchema, t arrow.DataType, path string) (*field, []string) {
	var null []byte
	var faults []string
	for i, s := range u.Types() {
		if s.Type() == avro.Null {
			null = appendLong(nil, int64(i))
		}
	}
	for i, s := range u.Types() {
		if s.Type() == avro.Null {
			continue
		}
		n, wrong := prepareValue(s, t, path)
		if len(wrong) == 0 {
			n.value, n.null = appendLong(nil, int64(i)), null
			return n, nil
		}
		faults = append(faults, wrong...)
	}
	if len(faults) == 0 {
		faults = []string{fmt.Sprintf("column %s: the schema has nothing but null", path)}
	}
	return nil, faults
}

// scalar makes the field of a schema that holds no other; false if a column of the type does not fit it without loss.
func (n *field) scalar(s avro.Schema, t arrow.DataType) bool {
	integer := map[arrow.Type]writeOp{arrow.INT8: writeInt8, arrow.INT16: writeInt16, arrow.INT32: writeInt32, arrow.INT64: writeInt64}
	if fixed, ok := s.(*avro.FixedSchema); ok {
		n.size = fixed.Size()
	}
	set := func(op writeOp) bool { n.op = op; return true }
	switch l := logical(s); l {
	case avro.Date:
		return t.ID() == arrow.DATE32 && set(writeInt32)
	case avro.TimestampMillis, avro.TimestampMicros, timestampNanos, avro.LocalTimestampMillis, avro.LocalTimestampMicros, localTimestampNanos:
		n.unit = unitOf(l)
		ts, ok := t.(*arrow.TimestampType)
		return ok && (ts.TimeZone == "") == strings.HasPrefix(string(l), "local-") && set(writeInstant)
	case avro.Decimal:
		if d, ok := t.(*arrow.Decimal128Type); ok {
			precision, scale := decimal(s)
			if s.Type() == avro.Fixed {
				set(writeFixedDecimal)
			} else {
				set(writeDecimal)
			}
			return d.Scale == scale && d.Precision <= precision
		}
		if t.ID() != arrow.BINARY { // a text is not the bytes of a number
			return false
		}
	case avro.TimeMillis, avro.TimeMicros: // numbers all the same
	case avro.UUID:
		if s.Type() == avro.Fixed {
			return t.ID() == arrow.BINARY && set(writeFixed)
		}
	}
	switch s.Type() {
	case avro.Boolean:
		return t.ID() == arrow.BOOL && set(writeBoolean)
	case avro.Int, avro.Long:
		op, ok := integer[t.ID()]
		return ok && (op != writeInt64 || s.Type() == avro.Long) && set(op)
	case avro.Float:
		return t.ID() == arrow.FLOAT32 && set(writeFloat)
	case avro.Double:
		return t.ID() == arrow.FLOAT64 && set(writeDouble) || t.ID() == arrow.FLOAT32 && set(writeWider)
	case avro.String:
		return t.ID() == arrow.STRING && set(writeString)
	case avro.Bytes:
		return t.ID() == arrow.BINARY && set(writeBinary) || t.ID() == arrow.STRING && set(writeString)
	case avro.Fixed:
		return t.ID() == arrow.BINARY && set(writeFixed)
	case avro.Enum:
		n.symbols = map[string]int{}
		for i, symbol := range s.(*avro.EnumSchema).Symbols() {
			n.symbols[symbol] = i
		}
		return t.ID() == arrow.STRING && set(writeEnum)
	}
	return false
}
