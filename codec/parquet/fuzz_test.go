package parquet

import (
	"bytes"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/arrowparquet"
	"microbatch/codec"
	"microbatch/internal/corpus"
	"microbatch/internal/errcode"
	"microbatch/internal/heap"
	"microbatch/schema"
)

// FuzzDecode: a file of any bytes is damage with a code that names it, or rows of the declared schema; its units hold each row once; memory is bounded.
func FuzzDecode(f *testing.F) {
	for _, data := range corpus.Files(f, "../../table/testdata/spark/*/table/*.parquet") {
		f.Add(data, int64(1))
		f.Add(data[:len(data)/2], int64(1<<40))
	}
	want, err := schema.ParseDDL("id BIGINT, name STRING, v DOUBLE")
	if err != nil {
		f.Fatal(err)
	}
	format := New(Options{Limits: arrowparquet.Limits{PageBytes: 1 << 20, OpenBytes: 16 << 20}})
	f.Fuzz(func(t *testing.T, data []byte, target int64) {
		alloc := memory.NewCheckedAllocator(memory.NewGoAllocator())
		defer alloc.AssertSize(t, 0)
		file := codec.File{Name: "in/x.parquet", At: bytes.NewReader(data), Size: int64(len(data))}
		wantCode := func(err error) {
			if !errcode.Has(err, errcode.FormatDamaged) && !errcode.Has(err, errcode.FormatSchema) {
				t.Fatalf("an error without a code: %v", err)
			}
		}
		heap.AtMost(t, 256<<20+100*int64(len(data)), "a file", func() {
			if _, err := format.Infer(t.Context(), file); err != nil {
				wantCode(err)
			}
			units, err := format.Units(t.Context(), file, target)
			if err != nil {
				wantCode(err)
				return
			}
			at := int64(0)
			for _, u := range units {
				if u.From != at || u.To < u.From {
					t.Fatalf("the unit %+v after byte %d", u, at)
				}
				at = u.To
				rows, seen := int64(0), int64(0)
				for chunk, err := range format.Decode(t.Context(), file, u, want, alloc, &seen) {
					if err != nil {
						wantCode(err)
						return
					}
					rows += chunk.Rows()
					chunk.Release()
					if rows > 1<<20 {
						return
					}
				}
				if rows != seen {
					t.Fatalf("%d rows, %d were seen", rows, seen)
				}
			}
			if at != file.Size {
				t.Fatalf("the units end at %d of %d", at, file.Size)
			}
		})
	})
}
