package avro

import (
	"fmt"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/hamba/avro/v2"

	"microbatch/internal/errcode"
	"microbatch/schema"
)

// Columns are the columns of messages that a schema describes, all of them nullable: a message without a value is a row of nulls.
func (s *Schema) Columns() (*arrow.Schema, error) {
	fields, err := (&deriver{}).fieldsOf(s.root, nil)
	if err != nil {
		return nil, errcode.AvroColumns.Wrap(err, "", "the columns of %s", s.Name())
	}
	columns := arrow.NewSchema(fields, nil)
	if err := schema.CheckNames(columns); err != nil {
		return nil, errcode.AvroColumns.Wrap(err, "", "the columns of %s", s.Name())
	}
	return columns, nil
}

// maxColumns is how many columns are derived from a schema, with those that stand in others. A record may be named in many places: a schema of thirty records, each of which
// has the one before twice, would take all memory.
const maxColumns = 100_000

// deriver makes columns of a schema.
type deriver struct{ columns int }

// fieldsOf are the fields of a record; within are the names of the records around it.
func (d *deriver) fieldsOf(r *avro.RecordSchema, within []string) ([]arrow.Field, error) {
	if slices.Contains(within, r.FullName()) {
		return nil, fmt.Errorf("record %s holds itself; declare the columns that are wanted", r.FullName())
	}
	within = append(within[:len(within):len(within)], r.FullName())
	if d.columns += len(r.Fields()); d.columns > maxColumns {
		return nil, fmt.Errorf("there are more than %d, with those in each other; declare the columns that are wanted", maxColumns)
	}
	fields := make([]arrow.Field, len(r.Fields()))
	for i, f := range r.Fields() {
		t, err := d.typeOf(f.Type(), within)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", f.Name(), err)
		}
		fields[i] = arrow.Field{Name: f.Name(), Type: t, Nullable: true}
	}
	return fields, nil
}

// typeOf is the type of a column that takes all values of a schema.
func (d *deriver) typeOf(s avro.Schema, within []string) (arrow.DataType, error) {
	switch s := named(s).(type) {
	case *avro.RecordSchema:
		fields, err := d.fieldsOf(s, within)
		return arrow.StructOf(fields...), err
	case *avro.ArraySchema:
		item, err := d.typeOf(s.Items(), within)
		if err != nil {
			return nil, err
		}
		return schema.List(item, true), nil
	case *avro.MapSchema:
		value, err := d.typeOf(s.Values(), within)
		if err != nil {
			return nil, err
		}
		return schema.Map(arrow.BinaryTypes.String, value, true), nil
	case *avro.UnionSchema:
		return d.unionType(s, within)
	default:
		return scalarType(s)
	}
}

// scalarType is the type of a schema that holds no other.
func scalarType(s avro.Schema) (arrow.DataType, error) {
	switch logical(s) {
	case avro.Date:
		return arrow.FixedWidthTypes.Date32, nil
	case avro.TimestampMillis, avro.TimestampMicros, timestampNanos:
		return schema.Timestamp(), nil
	case avro.LocalTimestampMillis, avro.LocalTimestampMicros, localTimestampNanos:
		return schema.TimestampNTZ(), nil
	case avro.UUID:
		return arrow.BinaryTypes.String, nil
	case avro.Decimal:
		precision, scale := decimal(s)
		if precision > 38 {
			return nil, fmt.Errorf("a decimal of %d digits; a column has at most 38: declare the columns, this one as BINARY or as the DECIMAL that its values fit", precision)
		}
		return &arrow.Decimal128Type{Precision: precision, Scale: scale}, nil
	}
	switch s.Type() {
	case avro.Boolean:
		return arrow.FixedWidthTypes.Boolean, nil
	case avro.Int:
		return arrow.PrimitiveTypes.Int32, nil
	case avro.Long:
		return arrow.PrimitiveTypes.Int64, nil
	case avro.Float:
		return arrow.PrimitiveTypes.Float32, nil
	case avro.Double:
		return arrow.PrimitiveTypes.Float64, nil
	case avro.Bytes, avro.Fixed:
		return arrow.BinaryTypes.Binary, nil
	}
	return arrow.BinaryTypes.String, nil // string and enum; and null, which says nothing
}

// unionType is the type of the one schema beside null. Of int and long it is BIGINT, of float and double DOUBLE, of others a STRUCT with a field for each, as in Spark.
func (d *deriver) unionType(u *avro.UnionSchema, within []string) (arrow.DataType, error) {
	others := branches(u)
	switch {
	case len(others) == 0:
		return arrow.BinaryTypes.String, nil
	case len(others) == 1:
		return d.typeOf(others[0], within)
	case all(others, avro.Int, avro.Long):
		return arrow.PrimitiveTypes.Int64, nil
	case all(others, avro.Float, avro.Double):
		return arrow.PrimitiveTypes.Float64, nil
	}
	fields := make([]arrow.Field, len(others))
	for i, s := range others {
		t, err := d.typeOf(s, within)
		if err != nil {
			return nil, err
		}
		fields[i] = arrow.Field{Name: member(i), Type: t, Nullable: true}
	}
	return arrow.StructOf(fields...), nil
}

// branches are the schemas of a union but null.
func branches(u *avro.UnionSchema) (out []avro.Schema) {
	for _, s := range u.Types() {
		if s.Type() != avro.Null {
			out = append(out, s)
		}
	}
	return out
}

// member is the name of the field for the i-th schema of a union but null.
func member(i int) string { return fmt.Sprintf("member%d", i) }

// all reports whether all schemas are plain ones of the types.
func all(schemas []avro.Schema, types ...avro.Type) bool {
	return !slices.ContainsFunc(schemas, func(s avro.Schema) bool { return !slices.Contains(types, s.Type()) || logical(s) != nothing })
}
