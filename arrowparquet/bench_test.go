package arrowparquet_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/arrowparquet"
	"microbatch/schema"
)

// events are records of 8,192 rows of the 8 columns that speed is measured on: about 200 bytes of JSON each.
func events(b testing.TB, records int) (*arrow.Schema, []arrow.RecordBatch) {
	s, err := schema.ParseDDL("id BIGINT, ts TIMESTAMP, user_id BIGINT, event STRING, country STRING, amount DOUBLE, url STRING, session STRING")
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	names := []string{"view", "click", "cart", "purchase", "refund", "signup", "login", "logout"}
	countries := []string{"DE", "FR", "US", "GB", "IT", "ES", "PL", "SE", "NL", "JP", "IN", "BR", "CA", "MX", "AU", "CN", "KR", "CH", "AT", "DK"}
	var recs []arrow.RecordBatch
	id := int64(0)
	for range records {
		rb := array.NewRecordBuilder(memory.DefaultAllocator, s)
		for range 8192 {
			id++
			rb.Field(0).(*array.Int64Builder).Append(id)
			rb.Field(1).(*array.TimestampBuilder).Append(arrow.Timestamp(1_700_000_000_000_000 + id*1000 + rng.Int64N(1000)))
			rb.Field(2).(*array.Int64Builder).Append(rng.Int64N(1_000_000))
			rb.Field(3).(*array.StringBuilder).Append(names[rng.IntN(len(names))])
			rb.Field(4).(*array.StringBuilder).Append(countries[rng.IntN(len(countries))])
			rb.Field(5).(*array.Float64Builder).Append(float64(rng.IntN(100_000)) / 100)
			rb.Field(6).(*array.StringBuilder).Append(fmt.Sprintf("https://shop.example.com/products/%d?ref=%d", rng.IntN(100_000), rng.IntN(1000)))
			rb.Field(7).(*array.StringBuilder).Append(fmt.Sprintf("%016x", rng.Uint64()))
		}
		recs = append(recs, rb.NewRecordBatch())
		rb.Release()
	}
	return s, recs
}

// BenchmarkWrite reports nanoseconds and bytes a row, in one thread.
func BenchmarkWrite(b *testing.B) {
	s, recs := events(b, 30)
	for name, o := range map[string]arrowparquet.Options{
		"snappy":       {},
		"zstd":         {Compression: "zstd"},
		"none":         {Compression: "none"},
		"plain-snappy": {Encoding: arrowparquet.Plain},
	} {
		b.Run(name, func(b *testing.B) {
			var rows, size int64
			for b.Loop() {
				w, err := arrowparquet.NewWriter(io.Discard, s, o)
				if err != nil {
					b.Fatal(err)
				}
				for _, r := range recs {
					if err := w.Write(r); err != nil {
						b.Fatal(err)
					}
				}
				stats, err := w.Close()
				if err != nil {
					b.Fatal(err)
				}
				rows, size = rows+stats.Rows, stats.Bytes
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rows), "ns/row")
			b.ReportMetric(float64(size)/float64(30*8192), "bytes/row")
		})
	}
}

// BenchmarkWriteColumn tells where the time goes.
func BenchmarkWriteColumn(b *testing.B) {
	s, recs := events(b, 30)
	for i, f := range s.Fields() {
		b.Run(f.Name, func(b *testing.B) {
			one := arrow.NewSchema([]arrow.Field{f}, nil)
			var rows, size int64
			for b.Loop() {
				w, err := arrowparquet.NewWriter(io.Discard, one, arrowparquet.Options{})
				if err != nil {
					b.Fatal(err)
				}
				for _, r := range recs {
					rec := array.NewRecordBatch(one, []arrow.Array{r.Column(i)}, r.NumRows())
					if err := w.Write(rec); err != nil {
						b.Fatal(err)
					}
					rec.Release()
				}
				stats, err := w.Close()
				if err != nil {
					b.Fatal(err)
				}
				rows, size = rows+stats.Rows, stats.Bytes
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rows), "ns/row")
			b.ReportMetric(float64(size)/float64(30*8192), "bytes/row")
		})
	}
}

func BenchmarkRead(b *testing.B) {
	s, recs := events(b, 30)
	for name, o := range map[string]arrowparquet.Options{"snappy": {}, "plain-none": {Encoding: arrowparquet.Plain, Compression: "none"}} {
		b.Run(name, func(b *testing.B) {
			var buf bytes.Buffer
			w, err := arrowparquet.NewWriter(&buf, s, o)
			if err != nil {
				b.Fatal(err)
			}
			for _, r := range recs {
				if err := w.Write(r); err != nil {
					b.Fatal(err)
				}
			}
			if _, err := w.Close(); err != nil {
				b.Fatal(err)
			}
			var rows int64
			for b.Loop() {
				f, err := arrowparquet.Open(bytes.NewReader(buf.Bytes()), int64(buf.Len()), arrowparquet.Limits{})
				if err != nil {
					b.Fatal(err)
				}
				for rec, err := range f.Read(context.Background(), nil, nil, memory.DefaultAllocator) {
					if err != nil {
						b.Fatal(err)
					}
					rows += rec.NumRows()
					rec.Release()
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(rows), "ns/row")
		})
	}
}
