package merge

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// appendRow appends all values of a row, so that rows are equal if and only if their bytes are.
func appendRow(dst []byte, rec arrow.RecordBatch, row int) ([]byte, error) {
	var err error
	for _, c := range rec.Columns() {
		if dst, err = appendValue(dst, c, row); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

func appendValue(dst []byte, a arrow.Array, row int) ([]byte, error) {
	if a.IsNull(row) {
		return append(dst, 0), nil
	}
	dst = append(dst, 1)
	switch a := a.(type) {
	case *array.Struct:
		return appendFields(dst, a, row)
	case *array.Map:
		from, to := a.ValueOffsets(row)
		dst, err := appendRange(dst, a.Keys(), from, to)
		if err != nil {
			return nil, err
		}
		return appendRange(dst, a.Items(), from, to)
	case *array.List:
		from, to := a.ValueOffsets(row)
		return appendRange(dst, a.ListValues(), from, to)
	case *array.Float32: // all its bits: this is no order of numbers
		return binary.BigEndian.AppendUint32(dst, math.Float32bits(a.Value(row))), nil
	case *array.Float64:
		return binary.BigEndian.AppendUint64(dst, math.Float64bits(a.Value(row))), nil
	}
	e, err := encoderOf(a, false)
	if err != nil {
		return nil, fmt.Errorf("merge: %w", err)
	}
	return e(dst, row), nil
}

func appendFields(dst []byte, a *array.Struct, row int) ([]byte, error) {
	var err error
	for i := range a.NumField() {
		if dst, err = appendValue(dst, a.Field(i), row); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

func appendRange(dst []byte, a arrow.Array, from, to int64) ([]byte, error) {
	dst = binary.AppendUvarint(dst, uint64(to-from))
	var err error
	for i := from; i < to; i++ {
		if dst, err = appendValue(dst, a, int(i)); err != nil {
			return nil, err
		}
	}
	return dst, nil
}
