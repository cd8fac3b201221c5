package arrowparquet

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"

	"microbatch/schema"
)

// leafType is the canonical type for a leaf of any Parquet file. Unsigned integers come as the next wider signed type, as in Spark.
func leafType(e format.SchemaElement) (arrow.DataType, timestampUnit, error) {
	if e.Type.V == format.FixedLenByteArray && (e.TypeLength.V < 1 || e.TypeLength.V > 1<<20) {
		return nil, 0, fmt.Errorf("a fixed length of %d bytes", e.TypeLength.V)
	}
	switch l := e.LogicalType.Value.(type) {
	case nil:
		return convertedType(e)
	case *format.DecimalType:
		return decimalLeaf(e, l.Precision, l.Scale)
	case *format.TimestampType:
		return timestampLeaf(e, l)
	case *format.IntType:
		return integerLeaf(e, int(l.BitWidth), l.IsSigned)
	case *format.DateType:
		return exactly(e, format.Int32, arrow.FixedWidthTypes.Date32)
	case *format.StringType, *format.EnumType, *format.JsonType:
		return exactly(e, format.ByteArray, arrow.BinaryTypes.String)
	case *format.BsonType:
		return exactly(e, format.ByteArray, arrow.BinaryTypes.Binary)
	default:
		return nil, 0, fmt.Errorf("the Parquet type %s is not supported", l)
	}
}

// convertedType goes by the annotation of old files, or by none.
func convertedType(e format.SchemaElement) (arrow.DataType, timestampUnit, error) {
	if e.ConvertedType.Valid {
		switch e.ConvertedType.V {
		case deprecated.UTF8, deprecated.Enum, deprecated.Json:
			return exactly(e, format.ByteArray, arrow.BinaryTypes.String)
		case deprecated.Decimal:
			return decimalLeaf(e, e.Precision.V, e.Scale.V)
		case deprecated.Date:
			return exactly(e, format.Int32, arrow.FixedWidthTypes.Date32)
		case deprecated.TimestampMillis:
			return withUnit(e, schema.Timestamp(), millis)
		case deprecated.TimestampMicros:
			return withUnit(e, schema.Timestamp(), micros)
		case deprecated.Int8, deprecated.Int16, deprecated.Int32, deprecated.Int64:
			return integerLeaf(e, 8<<(e.ConvertedType.V-deprecated.Int8), true)
		case deprecated.Uint8, deprecated.Uint16, deprecated.Uint32, deprecated.Uint64:
			return integerLeaf(e, 8<<(e.ConvertedType.V-deprecated.Uint8), false)
		case deprecated.Bson:
			return exactly(e, format.ByteArray, arrow.BinaryTypes.Binary)
		default:
			return nil, 0, fmt.Errorf("the old Parquet type %d is not supported", e.ConvertedType.V)
		}
	}
	switch e.Type.V {
	case format.Boolean:
		return arrow.FixedWidthTypes.Boolean, 0, nil
	case format.Int32:
		return arrow.PrimitiveTypes.Int32, 0, nil
	case format.Int64:
		return arrow.PrimitiveTypes.Int64, 0, nil
	case format.Int96:
		return schema.Timestamp(), days96, nil
	case format.Float:
		return arrow.PrimitiveTypes.Float32, 0, nil
	case format.Double:
		return arrow.PrimitiveTypes.Float64, 0, nil
	case format.ByteArray, format.FixedLenByteArray:
		return arrow.BinaryTypes.Binary, 0, nil
	}
	return nil, 0, fmt.Errorf("an unknown physical type %d", e.Type.V)
}

// exactly checks that an annotation stands on the physical type that it is for.
func exactly(e format.SchemaElement, want format.Type, t arrow.DataType) (arrow.DataType, timestampUnit, error) {
	if e.Type.V != want {
		return nil, 0, fmt.Errorf("%s stored as %s", t, e.Type.V)
	}
	return t, 0, nil
}

func withUnit(e format.SchemaElement, t arrow.DataType, u timestampUnit) (arrow.DataType, timestampUnit, error) {
	_, _, err := exactly(e, format.Int64, t)
	return t, u, err
}

func timestampLeaf(e format.SchemaElement, l *format.TimestampType) (arrow.DataType, timestampUnit, error) {
	t := schema.TimestampNTZ()
	if l.IsAdjustedToUTC {
		t = schema.Timestamp()
	}
	switch l.Unit.Value.(type) {
	case *format.MilliSeconds:
		return withUnit(e, t, millis)
	case *format.MicroSeconds:
		return withUnit(e, t, micros)
	case *format.NanoSeconds:
		return withUnit(e, t, nanos)
	}
	return nil, 0, fmt.Errorf("a timestamp without unit")
}

func integerLeaf(e format.SchemaElement, width int, signed bool) (arrow.DataType, timestampUnit, error) {
	physical := format.Int32
	if width == 64 {
		physical = format.Int64
	}
	if e.Type.V != physical {
		return nil, 0, fmt.Errorf("an integer of %d bits stored as %s", width, e.Type.V)
	}
	switch {
	case width == 8 && signed:
		return arrow.PrimitiveTypes.Int8, 0, nil
	case width == 16 && signed, width == 8:
		return arrow.PrimitiveTypes.Int16, 0, nil
	case width == 32 && signed, width == 16:
		return arrow.PrimitiveTypes.Int32, 0, nil
	case width == 64 && signed, width == 32:
		return arrow.PrimitiveTypes.Int64, 0, nil
	case width == 64:
		return &arrow.Decimal128Type{Precision: 20}, 0, nil
	}
	return nil, 0, fmt.Errorf("an integer of %d bits", width)
}

func decimalLeaf(e format.SchemaElement, precision, scale int32) (arrow.DataType, timestampUnit, error) {
	if precision < 1 || precision > schema.MaxPrecision || scale < 0 || scale > precision {
		return nil, 0, fmt.Errorf("DECIMAL(%d,%d) is not supported", precision, scale)
	}
	switch e.Type.V {
	case format.Int32, format.Int64, format.ByteArray:
	case format.FixedLenByteArray:
		if e.TypeLength.V > 16 {
			return nil, 0, fmt.Errorf("a decimal of %d bytes", e.TypeLength.V)
		}
	default:
		return nil, 0, fmt.Errorf("a decimal stored as %s", e.Type.V)
	}
	return &arrow.Decimal128Type{Precision: precision, Scale: scale}, 0, nil
}
