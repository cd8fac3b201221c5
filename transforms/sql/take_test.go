package sql

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/schema"
)

const takenTypes = "a TINYINT, b SMALLINT, c INT, d BIGINT, e FLOAT, f DOUBLE, g DECIMAL(38,2), h STRING, i BINARY, j DATE, k TIMESTAMP"

// FuzzTake holds what is taken against what the kernel of package compute takes.
func FuzzTake(f *testing.F) {
	for seed := range uint64(100) {
		f.Add(seed)
	}
	in, err := schema.ParseDDL(takenTypes)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
		defer mem.AssertSize(t, 0)
		r := rand.New(rand.NewPCG(seed, 0))
		whole := recordOfTexts(r, mem, in, 1+r.IntN(300))
		defer whole.Release()
		from := r.Int64N(whole.NumRows())
		rec := whole.NewSlice(from, from+r.Int64N(whole.NumRows()-from+1))
		defer rec.Release()
		var numbers []int64
		for row := range rec.NumRows() {
			if r.IntN(10) < int(seed%11) {
				numbers = append(numbers, 1000+row)
			}
		}
		spans := addSpans(nil, numbers, 1000)
		if countRows(spans) != len(numbers) {
			t.Fatalf("%v are %v", numbers, spans)
		}
		for i, c := range rec.Columns() {
			got := take(c, spans, len(numbers), mem)
			want, err := takeByKernel(t.Context(), c, spans, len(numbers), mem)
			if err != nil {
				t.Fatal(err)
			}
			if !array.Equal(got, want) || got.NullN() != want.NullN() {
				t.Errorf("%s: %v of %v\nare %v\nwant %v", in.Field(i), spans, c, got, want)
			}
			got.Release()
			want.Release()
		}
	})
}

// recordOfTexts has all values from texts, so that nulls, empty texts and long ones come along.
func recordOfTexts(r *rand.Rand, mem memory.Allocator, in *arrow.Schema, rows int) arrow.RecordBatch {
	b := array.NewRecordBuilder(mem, in)
	defer b.Release()
	nulls := make([]int, in.NumFields())
	for i := range nulls {
		nulls[i] = []int{0, 0, 3, 10}[r.IntN(4)]
	}
	for range rows {
		for i, field := range in.Fields() {
			n := r.IntN(28)
			text := fmt.Sprint(n)
			switch field.Type.ID() {
			case arrow.STRING:
				text = strings.Repeat("ä", n)
			case arrow.BINARY:
				text = strings.Repeat("AAAA", n)
			case arrow.DATE32:
				text = fmt.Sprintf("2024-02-%02d", n+1)
			case arrow.TIMESTAMP:
				text = fmt.Sprintf("2024-02-%02dT01:02:03Z", n+1)
			}
			if r.IntN(10) < nulls[i] {
				b.Field(i).AppendNull()
			} else if err := b.Field(i).AppendValueFromString(text); err != nil {
				panic(err)
			}
		}
	}
	return b.NewRecordBatch()
}

func BenchmarkTake(b *testing.B) {
	in, err := schema.ParseDDL("id BIGINT, url STRING")
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	rec := recordOfTexts(r, memory.DefaultAllocator, in, 8192)
	defer rec.Release()
	var numbers []int64
	for row := range rec.NumRows() {
		if r.IntN(10) > 0 {
			numbers = append(numbers, row)
		}
	}
	spans := addSpans(nil, numbers, 0)
	for i, f := range in.Fields() {
		b.Run(f.Name+"/spans", func(b *testing.B) {
			for b.Loop() {
				take(rec.Column(i), spans, len(numbers), memory.DefaultAllocator).Release()
			}
		})
		b.Run(f.Name+"/kernel", func(b *testing.B) {
			for b.Loop() {
				a, err := takeByKernel(b.Context(), rec.Column(i), spans, len(numbers), memory.DefaultAllocator)
				if err != nil {
					b.Fatal(err)
				}
				a.Release()
			}
		})
	}
}
