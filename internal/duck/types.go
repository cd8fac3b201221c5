//go:build cgo && duckdb_arrow

package duck

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/duckdb/duckdb-go/v2/arrowmapping"
	"github.com/duckdb/duckdb-go/v2/mapping"
)

// Describe plans a statement and says what columns it would return. It runs nothing.
func (c *Conn) Describe(ctx context.Context, sql string) ([]Column, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	stmt, err := c.prepare(sql)
	if err != nil {
		return nil, err
	}
	defer mapping.DestroyPrepare(&stmt)
	columns := make([]Column, mapping.PreparedStatementColumnCount(stmt))
	for i := range columns {
		t := mapping.PreparedStatementColumnLogicalType(stmt, mapping.IdxT(i))
		columns[i] = Column{Name: mapping.PreparedStatementColumnName(stmt, mapping.IdxT(i)), Type: describeType(t)}
		mapping.DestroyLogicalType(&t)
	}
	return columns, nil
}

var typeNames = map[mapping.Type]string{
	mapping.TypeBoolean: "BOOLEAN", mapping.TypeTinyInt: "TINYINT", mapping.TypeSmallInt: "SMALLINT", mapping.TypeInteger: "INTEGER",
	mapping.TypeBigInt: "BIGINT", mapping.TypeUTinyInt: "UTINYINT", mapping.TypeUSmallInt: "USMALLINT", mapping.TypeUInteger: "UINTEGER",
	mapping.TypeUBigInt: "UBIGINT", mapping.TypeHugeInt: "HUGEINT", mapping.TypeUHugeInt: "UHUGEINT", mapping.TypeFloat: "FLOAT",
	mapping.TypeDouble: "DOUBLE", mapping.TypeDecimal: "DECIMAL", mapping.TypeVarchar: "VARCHAR", mapping.TypeBlob: "BLOB",
	mapping.TypeDate: "DATE", mapping.TypeTime: "TIME", mapping.TypeTimeTZ: "TIME WITH TIME ZONE", mapping.TypeInterval: "INTERVAL",
	mapping.TypeTimestamp: "TIMESTAMP", mapping.TypeTimestampTZ: "TIMESTAMP WITH TIME ZONE", mapping.TypeTimestampS: "TIMESTAMP_S",
	mapping.TypeTimestampMS: "TIMESTAMP_MS", mapping.TypeTimestampNS: "TIMESTAMP_NS", mapping.TypeEnum: "ENUM", mapping.TypeUUID: "UUID",
	mapping.TypeList: "LIST", mapping.TypeArray: "ARRAY", mapping.TypeMap: "MAP", mapping.TypeStruct: "STRUCT", mapping.TypeUnion: "UNION",
	mapping.TypeBit: "BIT", mapping.TypeSQLNull: "NULL",
}

func describeType(t mapping.LogicalType) Type {
	id := mapping.GetTypeId(t)
	d := Type{Name: typeNames[id]}
	switch id {
	case mapping.TypeDecimal:
		d.Width, d.Scale = int32(mapping.DecimalWidth(t)), int32(mapping.DecimalScale(t))
	case mapping.TypeList:
		d.Fields = []Column{child("element", mapping.ListTypeChildType(t))}
	case mapping.TypeArray:
		d.Fields = []Column{child("element", mapping.ArrayTypeChildType(t))}
	case mapping.TypeMap:
		d.Fields = []Column{child("key", mapping.MapTypeKeyType(t)), child("value", mapping.MapTypeValueType(t))}
	case mapping.TypeStruct:
		for i := range mapping.StructTypeChildCount(t) {
			d.Fields = append(d.Fields, child(mapping.StructTypeChildName(t, i), mapping.StructTypeChildType(t, i)))
		}
	}
	if d.Name == "" {
		d.Name = fmt.Sprintf("type %d", id)
	}
	return d
}

func child(name string, t mapping.LogicalType) Column {
	defer mapping.DestroyLogicalType(&t)
	return Column{Name: name, Type: describeType(t)}
}

// arrowSchema is the schema of a result as DuckDB exports it.
func arrowSchema(options arrowmapping.ArrowOptions, result *mapping.Result) (*arrow.Schema, error) {
	n := mapping.ColumnCount(result)
	names, types := make([]string, n), make([]mapping.LogicalType, n)
	for i := range n {
		names[i], types[i] = mapping.ColumnName(result, i), mapping.ColumnLogicalType(result, i)
	}
	defer func() {
		for i := range types {
			mapping.DestroyLogicalType(&types[i])
		}
	}()
	schema, failure := arrowmapping.NewArrowSchema(options, types, names)
	if err := takeError(failure); err != nil {
		return nil, fmt.Errorf("duckdb: result has no arrow schema: %w", err)
	}
	return schema, nil
}
