package arrowparquet

import (
	"encoding/binary"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/parquet-go/parquet-go/format"
)

// storedStats reads the statistics of a chunk. Bounds of another length than the type has, or without order, are left out.
func storedStats(s *stored, m *format.Statistics) ColumnStats {
	c := ColumnStats{Path: s.path, Type: s.field.Type, Repeated: s.rep > 0, Nulls: m.NullCount}
	lo, hi := bound(s, m.MinValue), bound(s, m.MaxValue)
	if lo != nil && hi != nil {
		c.Min, c.Max = lo, hi
	}
	return c
}

func bound(s *stored, b []byte) any {
	if b == nil || s.unsigned || s.unit != micros {
		return nil
	}
	decimal := s.field.Type.ID() == arrow.DECIMAL128
	switch {
	case s.typ == format.Boolean && len(b) == 1:
		return b[0] != 0
	case s.typ == format.Int32 && len(b) == 4:
		return number(int64(int32(binary.LittleEndian.Uint32(b))), decimal)
	case s.typ == format.Int64 && len(b) == 8:
		return number(int64(binary.LittleEndian.Uint64(b)), decimal)
	case s.typ == format.Float && len(b) == 4:
		return real(float64(math.Float32frombits(binary.LittleEndian.Uint32(b))))
	case s.typ == format.Double && len(b) == 8:
		return real(math.Float64frombits(binary.LittleEndian.Uint64(b)))
	case decimal && len(b) > 0 && len(b) <= 16:
		return decimalFrom(b)
	case s.typ == format.ByteArray && !decimal:
		return string(b)
	}
	return nil
}

func number(i int64, decimal bool) any {
	if decimal {
		return decimal128.FromI64(i)
	}
	return i
}

func real(f float64) any {
	if math.IsNaN(f) {
		return nil
	}
	return f
}
