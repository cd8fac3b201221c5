package sql

import (
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/internal/duck"
	"microbatch/schema"
)

// resultType is what a type of DuckDB becomes in the result.
type resultType struct {
	arrow arrow.DataType
	sql   string // its name in DuckDB
	exact bool   // DuckDB's own export has these values; otherwise a cast is needed
}

var scalars = map[string]resultType{
	"BOOLEAN":                  {arrow.FixedWidthTypes.Boolean, "BOOLEAN", true},
	"TINYINT":                  {arrow.PrimitiveTypes.Int8, "TINYINT", true},
	"SMALLINT":                 {arrow.PrimitiveTypes.Int16, "SMALLINT", true},
	"INTEGER":                  {arrow.PrimitiveTypes.Int32, "INTEGER", true},
	"BIGINT":                   {arrow.PrimitiveTypes.Int64, "BIGINT", true},
	"UTINYINT":                 {arrow.PrimitiveTypes.Int16, "SMALLINT", false},
	"USMALLINT":                {arrow.PrimitiveTypes.Int32, "INTEGER", false},
	"UINTEGER":                 {arrow.PrimitiveTypes.Int64, "BIGINT", false},
	"UBIGINT":                  {&arrow.Decimal128Type{Precision: 20}, "DECIMAL(20,0)", false},
	"HUGEINT":                  {&arrow.Decimal128Type{Precision: 38}, "DECIMAL(38,0)", false},
	"UHUGEINT":                 {&arrow.Decimal128Type{Precision: 38}, "DECIMAL(38,0)", false},
	"FLOAT":                    {arrow.PrimitiveTypes.Float32, "FLOAT", true},
	"DOUBLE":                   {arrow.PrimitiveTypes.Float64, "DOUBLE", true},
	"VARCHAR":                  {arrow.BinaryTypes.String, "VARCHAR", true},
	"ENUM":                     {arrow.BinaryTypes.String, "VARCHAR", false},
	"UUID":                     {arrow.BinaryTypes.String, "VARCHAR", false},
	"BLOB":                     {arrow.BinaryTypes.Binary, "BLOB", true},
	"DATE":                     {arrow.FixedWidthTypes.Date32, "DATE", true},
	"TIMESTAMP":                {schema.TimestampNTZ(), "TIMESTAMP", true},
	"TIMESTAMP_S":              {schema.TimestampNTZ(), "TIMESTAMP", false},
	"TIMESTAMP_MS":             {schema.TimestampNTZ(), "TIMESTAMP", false},
	"TIMESTAMP_NS":             {schema.TimestampNTZ(), "TIMESTAMP", false},
	"TIMESTAMP WITH TIME ZONE": {schema.Timestamp(), "TIMESTAMPTZ", true},
}

// tableType finds the type that holds values of a DuckDB type; false if there is none.
func tableType(t duck.Type) (resultType, bool) {
	if r, ok := scalars[t.Name]; ok {
		return r, true
	}
	if t.Name == "DECIMAL" {
		return resultType{&arrow.Decimal128Type{Precision: t.Width, Scale: t.Scale}, fmt.Sprintf("DECIMAL(%d,%d)", t.Width, t.Scale), true}, true
	}
	kids := make([]resultType, len(t.Fields))
	exact := true
	for i, f := range t.Fields {
		kid, ok := tableType(f.Type)
		if !ok {
			return resultType{}, false
		}
		kids[i], exact = kid, exact && kid.exact
	}
	switch t.Name {
	case "LIST", "ARRAY":
		return resultType{schema.List(kids[0].arrow, true), kids[0].sql + "[]", exact && t.Name == "LIST"}, true
	case "MAP":
		return resultType{schema.Map(kids[0].arrow, kids[1].arrow, true), fmt.Sprintf("MAP(%s, %s)", kids[0].sql, kids[1].sql), exact}, true
	case "STRUCT":
		return structType(t.Fields, kids, exact), true
	}
	return resultType{}, false
}

func structType(columns []duck.Column, kids []resultType, exact bool) resultType {
	fields, parts := make([]arrow.Field, len(kids)), make([]string, len(kids))
	for i, c := range columns {
		fields[i] = arrow.Field{Name: c.Name, Type: kids[i].arrow, Nullable: true}
		parts[i] = duck.Ident(c.Name) + " " + kids[i].sql
	}
	return resultType{arrow.StructOf(fields...), "STRUCT(" + strings.Join(parts, ", ") + ")", exact}
}
