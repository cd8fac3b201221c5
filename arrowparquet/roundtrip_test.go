package arrowparquet_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"microbatch/arrowparquet"
	"microbatch/arrowparquet/parquettest"
)

// readByUs reads a file by our own reader as a table, which the caller releases.
func readByUs(t *testing.T, alloc memory.Allocator, data []byte, want *arrow.Schema) arrow.Table {
	t.Helper()
	f, err := arrowparquet.Open(bytes.NewReader(data), int64(len(data)), arrowparquet.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var recs []arrow.RecordBatch
	for rec, err := range f.Read(context.Background(), nil, want, alloc) {
		if err != nil {
			t.Fatal(err)
		}
		recs = append(recs, rec)
	}
	if want == nil {
		want = f.Schema()
	}
	tbl := array.NewTableFromRecords(want, recs)
	for _, r := range recs {
		r.Release()
	}
	return tbl
}

func TestWeReadEveryTypeInEveryForm(t *testing.T) {
	for _, o := range []arrowparquet.Options{{}, {Encoding: arrowparquet.Plain, Compression: "none"}, {Compression: "zstd"}} {
		for _, rows := range []int{0, 1, 8191, 8192, 8193} {
			for _, nulls := range []float64{0, 0.3, 1} {
				if nulls == 1 && rows == 8191 { // the borders are the same without values
					continue
				}
				t.Run(fmt.Sprintf("%v-%d-%d-%v", o.Compression, o.Encoding, rows, nulls), func(t *testing.T) {
					alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
					defer alloc.AssertSize(t, 0)
					s := parquettest.AllTypes()
					rec := parquettest.Record(alloc, s, rows, nulls, rand.New(rand.NewPCG(2, uint64(rows))))
					defer rec.Release()
					rec.Retain()
					o.RowGroupRows = 5000
					data, _ := write(t, s, o, rec)
					got := readByUs(t, alloc, data, nil)
					defer got.Release()
					if !got.Schema().Equal(s) {
						t.Fatalf("schema read:\n%s\nwritten:\n%s", got.Schema(), s)
					}
					sameRows(t, []arrow.RecordBatch{rec}, got)
				})
			}
		}
	}
}

// Random schemas and data, in records of random sizes: our reader and the Arrow project's must both give back what was written.
func TestRandomSchemasAgreeWithArrowsReader(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint("seed", seed), func(t *testing.T) {
			alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
			defer alloc.AssertSize(t, 0)
			rng := rand.New(rand.NewPCG(seed, 7))
			s := parquettest.Schema(rng)
			var recs []arrow.RecordBatch
			for range 1 + rng.IntN(5) {
				rec := parquettest.Record(alloc, s, rng.IntN(3000), []float64{0, 0.1, 0.9}[rng.IntN(3)], rng)
				if n := rec.NumRows(); n > 10 && rng.IntN(2) == 0 { // a slice: arrays with an offset
					cut := rec.NewSlice(n/3, n-1)
					rec.Release()
					rec = cut
				}
				rec.Retain()
				recs = append(recs, rec)
			}
			o := arrowparquet.Options{RowGroupRows: int64(500 + rng.IntN(4000)), Compression: []string{"snappy", "zstd", "none"}[rng.IntN(3)], Encoding: arrowparquet.Encoding(rng.IntN(2))}
			data, _ := write(t, s, o, recs...)
			ours := readByUs(t, alloc, data, nil)
			defer ours.Release()
			sameRows(t, recs, ours)
			theirs := readByArrow(t, memory.DefaultAllocator, data)
			defer theirs.Release()
			sameRows(t, recs, theirs)
			for _, r := range recs {
				r.Release()
			}
		})
	}
}

// Files of another writer: dictionaries of all types, version 2 pages, every compression.
func TestWeReadFilesOfTheArrowProject(t *testing.T) {
	for i, codec := range []compress.Compression{compress.Codecs.Uncompressed, compress.Codecs.Snappy, compress.Codecs.Gzip, compress.Codecs.Zstd, compress.Codecs.Brotli, compress.Codecs.Lz4Raw} {
		for _, version := range []parquet.DataPageVersion{parquet.DataPageV1, parquet.DataPageV2} {
			for _, dictionary := range []bool{true, false} {
				t.Run(fmt.Sprintf("%v-%v-%v", codec, version, dictionary), func(t *testing.T) {
					alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
					defer alloc.AssertSize(t, 0)
					s := parquettest.AllTypes()
					rec := parquettest.Record(alloc, s, 1000, 0.2, rand.New(rand.NewPCG(9, uint64(i))))
					defer rec.Release()
					var buf bytes.Buffer
					props := parquet.NewWriterProperties(parquet.WithCompression(codec), parquet.WithDataPageVersion(version), parquet.WithDictionaryDefault(dictionary), parquet.WithDataPageSize(4096), parquet.WithBatchSize(128))
					w, err := pqarrow.NewFileWriter(s, &buf, props, pqarrow.DefaultWriterProps())
					if err != nil {
						t.Fatal(err)
					}
					if err := w.Write(rec); err != nil {
						t.Fatal(err)
					}
					if err := w.Close(); err != nil {
						t.Fatal(err)
					}
					got := readByUs(t, alloc, buf.Bytes(), s)
					defer got.Release()
					sameRows(t, []arrow.RecordBatch{rec}, got)
				})
			}
		}
	}
}
