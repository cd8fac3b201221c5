package datafile

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
)

// TestEveryNaNIsTheSamePartition: a NaN has many bit patterns (a quiet one of C, the negative one of 0/0 on x86) and one text, so rows with one are one file.
func TestEveryNaNIsTheSamePartition(t *testing.T) {
	alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer alloc.AssertSize(t, 0)
	for _, typ := range []arrow.DataType{arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64} {
		b := array.NewRecordBuilder(alloc, arrow.NewSchema([]arrow.Field{{Name: "c", Type: typ, Nullable: true}}, nil))
		switch c := b.Field(0).(type) {
		case *array.Float32Builder:
			for _, bits := range []uint32{0x7FC00000, 0xFFC00000, 0x7FC00001, 0x3F800000} {
				c.Append(math.Float32frombits(bits))
			}
		case *array.Float64Builder:
			for _, bits := range []uint64{0x7FF8000000000000, 0xFFF8000000000000, 0x7FF8000000000001, 0x3FF0000000000000} {
				c.Append(math.Float64frombits(bits))
			}
		}
		b.Field(0).AppendNull()
		rec := b.NewRecordBatch()
		b.Release()
		pieces, err := newSplitter(rec.Schema(), []string{"c"}, alloc).split(t.Context(), rec, noBuckets)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range pieces {
			text := "null"
			if p.values[0] != nil {
				text = *p.values[0]
			}
			got = append(got, fmt.Sprintf("%s: %d", text, p.rec.NumRows()))
			p.rec.Release()
		}
		rec.Release()
		if diff := cmp.Diff([]string{"NaN: 3", "1: 1", "null: 1"}, got); diff != "" {
			t.Errorf("%s: partitions (-want +got):\n%s", typ, diff)
		}
	}
}

// noBuckets lets no partition wait.
func noBuckets(keys []string) []int { return slices.Repeat([]int{none}, len(keys)) }
