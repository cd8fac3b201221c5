package arrowparquet_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/arrowparquet"
	"microbatch/arrowparquet/parquettest"
	"microbatch/internal/corpus"
	"microbatch/internal/heap"
	"microbatch/schema"
)

// FuzzOpen: any bytes are a Parquet file or an error, in memory bounded by their number and the limits, without a panic in any goroutine and without a leak of
// Arrow memory.
func FuzzOpen(f *testing.F) {
	for i, o := range []arrowparquet.Options{{}, {Encoding: arrowparquet.Plain, Compression: "none"}} {
		var buf bytes.Buffer
		s, err := schema.ParseDDL("i BIGINT, s STRING, l ARRAY<STRUCT<d: DECIMAL(20,2)>>") // small: the fuzzer shortens what it keeps
		if err != nil {
			f.Fatal(err)
		}
		rec := parquettest.Record(memory.DefaultAllocator, s, 5, 0.2, rand.New(rand.NewPCG(5, uint64(i))))
		w, err := arrowparquet.NewWriter(&buf, s, o)
		if err != nil {
			f.Fatal(err)
		}
		if err := w.Write(rec); err != nil {
			f.Fatal(err)
		}
		if _, err := w.Close(); err != nil {
			f.Fatal(err)
		}
		f.Add(buf.Bytes())
	}
	for _, data := range corpus.Files(f, "../table/testdata/spark/*/table/*.parquet") {
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		alloc := memory.NewCheckedAllocator(memory.NewGoAllocator())
		defer alloc.AssertSize(t, 0)
		heap.AtMost(t, 192<<20+100*int64(len(data)), "a file", func() { // the limits of readAll, for the page and its values
			if _, err := readAll(data, alloc); err != nil && err.Error() == "" {
				t.Fatal("an error without words")
			}
		})
	})
}
