package column

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
)

// Kind is what a column holds.
type Kind uint8

// The kinds, one for each type of package schema.
const (
	Bool Kind = iota
	Int8
	Int16
	Int32
	Int64
	Float32
	Float64
	Date
	Timestamp
	TimestampNTZ
	Decimal
	String
	Binary
	List
	Map
	Struct
)

// widths are the bytes of one value in Column.fixed; 0 for the kinds whose values are bits or offsets.
var widths = [...]int{Int8: 1, Int16: 2, Int32: 4, Int64: 8, Float32: 4, Float64: 8, Date: 4, Timestamp: 8, TimestampNTZ: 8, Decimal: 16, Struct: 0}

// hasOffsets tells the kinds whose fixed buffer holds 32-bit offsets.
func (k Kind) hasOffsets() bool { return k == String || k == Binary || k == List || k == Map }

// kindOf is the kind of a canonical Arrow type.
func kindOf(t arrow.DataType) (Kind, error) {
	switch t := t.(type) {
	case *arrow.BooleanType:
		return Bool, nil
	case *arrow.Int8Type:
		return Int8, nil
	case *arrow.Int16Type:
		return Int16, nil
	case *arrow.Int32Type:
		return Int32, nil
	case *arrow.Int64Type:
		return Int64, nil
	case *arrow.Float32Type:
		return Float32, nil
	case *arrow.Float64Type:
		return Float64, nil
	case *arrow.Date32Type:
		return Date, nil
	case *arrow.TimestampType:
		if t.Unit == arrow.Microsecond && t.TimeZone == "" {
			return TimestampNTZ, nil
		}
		if t.Unit == arrow.Microsecond {
			return Timestamp, nil
		}
	case *arrow.Decimal128Type:
		return Decimal, nil
	case *arrow.StringType:
		return String, nil
	case *arrow.BinaryType:
		return Binary, nil
	case *arrow.ListType:
		return List, nil
	case *arrow.MapType:
		return Map, nil
	case *arrow.StructType:
		return Struct, nil
	}
	return 0, fmt.Errorf("the type %s cannot be decoded into", t)
}
