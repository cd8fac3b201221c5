//go:build cgo && duckdb_arrow

package duck

import (
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/bitutil"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// A STRUCT that is part of a longer one begins at an offset, and its fields begin there with it. arrow-go hands over the offset, and beside it fields that
// are cut to their part already: DuckDB counts the offset again, and reads other rows, or beyond the end. So a STRUCT is given to it without an offset.

// hasStruct says whether a column of the type may have to be rebased. A MAP is a list of STRUCTs.
func hasStruct(t arrow.DataType) bool {
	if t.ID() == arrow.STRUCT || t.ID() == arrow.MAP {
		return true
	}
	nested, ok := t.(arrow.NestedType)
	return ok && slices.ContainsFunc(nested.Fields(), func(f arrow.Field) bool { return hasStruct(f.Type) })
}

// rebased is the record with all STRUCTs in it, however deep, beginning at the first row of their fields. The caller releases it.
func rebased(rec arrow.RecordBatch) arrow.RecordBatch {
	columns := slices.Clone(rec.Columns())
	for i, c := range columns {
		if hasStruct(c.DataType()) {
			data := rebase(c.Data())
			columns[i] = array.MakeFromData(data)
			data.Release()
			defer columns[i].Release()
		}
	}
	return array.NewRecordBatch(rec.Schema(), columns, rec.NumRows())
}

func rebase(d arrow.ArrayData) arrow.ArrayData {
	isStruct := d.DataType().ID() == arrow.STRUCT
	children := make([]arrow.ArrayData, len(d.Children()))
	for i, child := range d.Children() {
		if isStruct {
			child = array.NewSliceData(child, int64(d.Offset()), int64(d.Offset()+d.Len()))
			defer child.Release()
		}
		children[i] = rebase(child)
		defer children[i].Release()
	}
	buffers, offset := d.Buffers(), d.Offset()
	if isStruct && offset > 0 {
		buffers, offset = []*memory.Buffer{validity(d)}, 0
	}
	return array.NewData(d.DataType(), d.Len(), buffers, children, d.NullN(), offset)
}

// validity is the bitmap of the rows, from its first bit on; nil where no row is null.
func validity(d arrow.ArrayData) *memory.Buffer {
	bits := d.Buffers()[0]
	if bits == nil || d.NullN() == 0 {
		return nil
	}
	out := make([]byte, bitutil.BytesForBits(int64(d.Len())))
	bitutil.CopyBitmap(bits.Bytes(), d.Offset(), d.Len(), out, 0)
	return memory.NewBufferBytes(out)
}
