package schema

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// MetaComment is the key of Arrow field metadata that holds a column's comment.
const MetaComment = "comment"

// metaDelta precedes the name of any other Delta field metadata; the value is its raw JSON.
const metaDelta = "delta:"

// Names of the children of a list and of a map, as Delta and Parquet call them.
const (
	elementName = "element"
	keyName     = "key"
	valueName   = "value"
)

// MaxPrecision is the most digits a DECIMAL can have.
const MaxPrecision = 38

// Timestamp is the Arrow type of TIMESTAMP: an instant, in microseconds.
func Timestamp() arrow.DataType {
	return &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
}

// TimestampNTZ is the Arrow type of TIMESTAMP_NTZ: a date and time of day without a zone, in microseconds.
func TimestampNTZ() arrow.DataType { return &arrow.TimestampType{Unit: arrow.Microsecond} }

// List is the canonical Arrow type of ARRAY.
func List(element arrow.DataType, nullable bool) arrow.DataType {
	return arrow.ListOfField(arrow.Field{Name: elementName, Type: element, Nullable: nullable})
}

// Map is the canonical Arrow type of MAP; keys are never null.
func Map(key, value arrow.DataType, valueNullable bool) arrow.DataType {
	return arrow.MapOfFields(arrow.Field{Name: keyName, Type: key}, arrow.Field{Name: valueName, Type: value, Nullable: valueNullable})
}

// scalars are the types without parameters, with the name that FormatDDL writes and the one of Delta's JSON.
var scalars = [...]struct {
	id         arrow.Type
	ddl, delta string
	make       func() arrow.DataType
}{
	{arrow.BOOL, "BOOLEAN", "boolean", func() arrow.DataType { return arrow.FixedWidthTypes.Boolean }},
	{arrow.INT8, "TINYINT", "byte", func() arrow.DataType { return arrow.PrimitiveTypes.Int8 }},
	{arrow.INT16, "SMALLINT", "short", func() arrow.DataType { return arrow.PrimitiveTypes.Int16 }},
	{arrow.INT32, "INT", "integer", func() arrow.DataType { return arrow.PrimitiveTypes.Int32 }},
	{arrow.INT64, "BIGINT", "long", func() arrow.DataType { return arrow.PrimitiveTypes.Int64 }},
	{arrow.FLOAT32, "FLOAT", "float", func() arrow.DataType { return arrow.PrimitiveTypes.Float32 }},
	{arrow.FLOAT64, "DOUBLE", "double", func() arrow.DataType { return arrow.PrimitiveTypes.Float64 }},
	{arrow.STRING, "STRING", "string", func() arrow.DataType { return arrow.BinaryTypes.String }},
	{arrow.BINARY, "BINARY", "binary", func() arrow.DataType { return arrow.BinaryTypes.Binary }},
	{arrow.DATE32, "DATE", "date", func() arrow.DataType { return arrow.FixedWidthTypes.Date32 }},
}

// scalarNames finds the DDL and the Delta name of a scalar type; TIMESTAMP and DECIMAL included.
func scalarNames(t arrow.DataType) (ddl, delta string, ok bool) {
	switch t := t.(type) {
	case *arrow.TimestampType:
		switch {
		case t.Unit != arrow.Microsecond:
			return "", "", false
		case t.TimeZone == "":
			return "TIMESTAMP_NTZ", "timestamp_ntz", true
		}
		return "TIMESTAMP", "timestamp", true
	case *arrow.Decimal128Type:
		return fmt.Sprintf("DECIMAL(%d,%d)", t.Precision, t.Scale), fmt.Sprintf("decimal(%d,%d)", t.Precision, t.Scale), true
	}
	for _, s := range scalars {
		if s.id == t.ID() {
			return s.ddl, s.delta, true
		}
	}
	return "", "", false
}

// decimalType checks a precision and a scale.
func decimalType(precision, scale int32) (arrow.DataType, error) {
	if precision < 1 || precision > MaxPrecision {
		return nil, fmt.Errorf("DECIMAL has 1 to %d digits, not %d", MaxPrecision, precision)
	}
	if scale < 0 || scale > precision {
		return nil, fmt.Errorf("the scale of DECIMAL(%d,%d) must be from 0 to %d", precision, scale, precision)
	}
	return &arrow.Decimal128Type{Precision: precision, Scale: scale}, nil
}

// children are the named parts of a nested type: the fields of a struct, "element", or "key" and "value"; nil for a scalar.
func children(t arrow.DataType) []arrow.Field {
	switch t := t.(type) {
	case *arrow.StructType:
		return t.Fields()
	case *arrow.ListType:
		f := t.ElemField()
		f.Name = elementName
		return []arrow.Field{f}
	case *arrow.MapType:
		k, v := t.KeyField(), t.ItemField()
		k.Name, v.Name, k.Nullable = keyName, valueName, false
		return []arrow.Field{k, v}
	}
	return nil
}

// rebuild is t, a nested type, with other children.
func rebuild(t arrow.DataType, kids []arrow.Field) arrow.DataType {
	switch t.(type) {
	case *arrow.StructType:
		return arrow.StructOf(kids...)
	case *arrow.ListType:
		return arrow.ListOfField(kids[0])
	}
	return arrow.MapOfFields(kids[0], kids[1])
}

// find is the index of the field that has a name, exactly or but for case; -1 if none.
func find(fields []arrow.Field, name string) int {
	for i := range fields {
		if strings.EqualFold(fields[i].Name, name) {
			return i
		}
	}
	return -1
}
