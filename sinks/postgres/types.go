package postgres

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
)

// The numbers of PostgreSQL's own types: the same in every database.
const (
	oidBool        = 16
	oidBytea       = 17
	oidInt8        = 20
	oidInt2        = 21
	oidInt4        = 23
	oidText        = 25
	oidJSON        = 114
	oidFloat4      = 700
	oidFloat8      = 701
	oidBpchar      = 1042
	oidVarchar     = 1043
	oidDate        = 1082
	oidTimestamp   = 1114
	oidTimestamptz = 1184
	oidNumeric     = 1700
	oidUUID        = 2950
	oidJSONB       = 3802
)

// pgType is a type of PostgreSQL as a column of rows is sent and a new table gets it.
type pgType struct {
	oid  uint32
	name string // in the binary form that is sent
	ddl  string // in a new table
	elem uint32 // of an array: the type of its elements; else 0
	// into are the types of existing columns that take every value of this one, or say themselves what they refuse.
	into []uint32
}

// scalarTypes are the types without parameters. TINYINT is the one that PostgreSQL has no twin of.
var scalarTypes = map[arrow.Type]pgType{
	arrow.BOOL:    {oid: oidBool, name: "boolean", into: []uint32{oidBool}},
	arrow.INT8:    {oid: oidInt2, name: "smallint", into: []uint32{oidInt2, oidInt4, oidInt8, oidNumeric}},
	arrow.INT16:   {oid: oidInt2, name: "smallint", into: []uint32{oidInt2, oidInt4, oidInt8, oidNumeric}},
	arrow.INT32:   {oid: oidInt4, name: "integer", into: []uint32{oidInt4, oidInt8, oidNumeric}},
	arrow.INT64:   {oid: oidInt8, name: "bigint", into: []uint32{oidInt8, oidNumeric}},
	arrow.FLOAT32: {oid: oidFloat4, name: "real", into: []uint32{oidFloat4, oidFloat8}},
	arrow.FLOAT64: {oid: oidFloat8, name: "double precision", into: []uint32{oidFloat8}},
	arrow.STRING:  {oid: oidText, name: "text", into: []uint32{oidText, oidVarchar, oidUUID, oidJSON, oidJSONB}},
	arrow.BINARY:  {oid: oidBytea, name: "bytea", into: []uint32{oidBytea}},
	arrow.DATE32:  {oid: oidDate, name: "date", into: []uint32{oidDate}},
}

// arrayTypes are the arrays of types.
var arrayTypes = map[uint32]uint32{
	oidBool: 1000, oidBytea: 1001, oidInt2: 1005, oidInt4: 1007, oidInt8: 1016, oidText: 1009, oidFloat4: 1021, oidFloat8: 1022,
	oidDate: 1182, oidTimestamp: 1115, oidTimestamptz: 1185, oidNumeric: 1231,
}

// typeOf is the type that values of an Arrow type are sent as. STRUCT and MAP, and what is nested deeper than an array of plain values, are JSON.
func typeOf(t arrow.DataType) (pgType, error) {
	switch t := t.(type) {
	case *arrow.Decimal128Type:
		return pgType{oid: oidNumeric, name: "numeric", ddl: fmt.Sprintf("numeric(%d,%d)", t.Precision, t.Scale), into: []uint32{oidNumeric}}, nil
	case *arrow.TimestampType:
		if t.TimeZone == "" {
			return pgType{oid: oidTimestamp, name: "timestamp", ddl: "timestamp", into: []uint32{oidTimestamp}}, nil
		}
		return pgType{oid: oidTimestamptz, name: "timestamptz", ddl: "timestamptz", into: []uint32{oidTimestamptz}}, nil
	case *arrow.ListType:
		e, err := typeOf(t.Elem())
		if err != nil || e.oid == oidJSONB || e.elem != 0 {
			return jsonType, err
		}
		return pgType{oid: arrayTypes[e.oid], name: e.name + "[]", ddl: e.ddl + "[]", elem: e.oid, into: []uint32{arrayTypes[e.oid]}}, nil
	case *arrow.StructType, *arrow.MapType:
		return jsonType, nil
	}
	p, ok := scalarTypes[t.ID()]
	if !ok {
		return p, fmt.Errorf("the type %s has no counterpart in PostgreSQL; cast it to one of the types of a schema", t)
	}
	p.ddl = p.name
	return p, nil
}

var jsonType = pgType{oid: oidJSONB, name: "jsonb", ddl: "jsonb", into: []uint32{oidJSONB, oidJSON}}

// ordered reports whether values can be compared.
func (p pgType) ordered() bool { return p.elem == 0 && p.oid != oidJSONB }

// digits is how many digits before and behind the point values of a type may have; ok is false for what is no exact number.
func digits(t arrow.DataType) (before, behind int32, ok bool) {
	switch t := t.(type) {
	case *arrow.Decimal128Type:
		return t.Precision - t.Scale, t.Scale, true
	case *arrow.ListType:
		return digits(t.Elem())
	}
	n, ok := map[arrow.Type]int32{arrow.INT8: 3, arrow.INT16: 5, arrow.INT32: 10, arrow.INT64: 19}[t.ID()]
	return n, 0, ok
}

// numericDigits is what numeric(p,s) holds, by the modifier of a column; ok is false for numeric without limits.
func numericDigits(modifier int32) (before, behind int32, ok bool) {
	if modifier < 4 {
		return 0, 0, false
	}
	precision, scale := (modifier-4)>>16&0xffff, (modifier-4)&0x7ff
	if scale >= 1024 { // eleven bits with a sign
		scale -= 2048
	}
	return precision - scale, scale, true
}

// fits says whether a column of the table takes values of the rows' type unchanged: the SQL of the value, given the SQL of what was sent.
func fits(t arrow.DataType, sent pgType, c Column, value string) (sql string, err error) {
	if c.Type != sent.oid && !slices.Contains(sent.into, c.Type) {
		return "", fmt.Errorf("it is %s in the table, and the rows' %s does not fit", c.TypeName, sent.ddl)
	}
	switch c.Type {
	case oidUUID, oidJSON, oidJSONB:
		if c.Type != sent.oid {
			return value + "::" + c.BaseName, nil // they refuse what they cannot be made of
		}
	case oidNumeric, arrayTypes[oidNumeric]:
		before, behind, _ := digits(t)
		if b, s, limited := numericDigits(c.Modifier); limited && (b < before || s < behind) {
			return "", fmt.Errorf("it is %s in the table, and the rows' %s does not fit", c.TypeName, sent.ddl)
		}
	case oidTimestamp, oidTimestamptz, arrayTypes[oidTimestamp], arrayTypes[oidTimestamptz]:
		if c.Modifier >= 0 && c.Modifier < 6 {
			return "", fmt.Errorf("it is %s in the table, which would round the rows' microseconds", c.TypeName)
		}
	}
	if c.Collation != "" && c.Type == oidText {
		return "(" + value + " COLLATE " + c.Collation + ")", nil
	}
	return value, nil
}
