//go:build services

package postgres

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/batch"
	"microbatch/codec/json"
	"microbatch/ident"
	"microbatch/internal/secret"
	"microbatch/internal/services"
	"microbatch/schema"
	"microbatch/sinks/sinktest"
)

// benchRows are orders: nine columns, about 100 bytes a row. Keys are those of from to from+n.
func benchRows(s *arrow.Schema, from, n int) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	defer b.Release()
	for i := from; i < from+n; i++ {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.StringBuilder).Append(fmt.Sprintf("customer-%06d", i%50000))
		b.Field(2).(*array.Decimal128Builder).Append(decimal128.FromI64(int64(i % 1000000)))
		b.Field(3).(*array.TimestampBuilder).Append(arrow.Timestamp(1_700_000_000_000_000 + int64(i)*1000))
		b.Field(4).(*array.StringBuilder).Append("shipped to the address on file")
		b.Field(5).(*array.Int32Builder).Append(int32(i % 7))
		b.Field(6).(*array.BooleanBuilder).Append(i%3 == 0)
		b.Field(7).(*array.Float64Builder).Append(float64(i) / 3)
		b.Field(8).(*array.Date32Builder).Append(arrow.Date32(19000 + i%365))
	}
	return b.NewRecordBatch()
}

const benchDDL = "id BIGINT, customer STRING, amount DECIMAL(10,2), ts TIMESTAMP, note STRING, n INT, b BOOLEAN, d DOUBLE, day DATE"

// BenchmarkBatch stages and commits batches of 100,000 rows in four parts, on the server beside it. In mode upsert half of each batch's keys are in the table already.
func BenchmarkBatch(b *testing.B) {
	for _, c := range []Config{{Mode: Append}, {Mode: Upsert, Keys: []string{"id"}}, {Mode: Ledger, Keys: []string{"id"}}} {
		b.Run(c.Mode, func(b *testing.B) {
			const rows = 100_000
			server := services.Postgres(b)
			c.URL = services.PostgresURL(server.Addr, server.User, "", server.NewDatabase(b))
			c.Password, c.Table, c.JSON = secret.Of(server.Password), "orders", json.NewEncoder
			s, err := New(c)
			check(b, err)
			defer s.Close()
			fields, err := schema.ParseDDL(benchDDL)
			check(b, err)
			check(b, s.Check(b.Context(), fields))
			check(b, s.Recover(b.Context(), sinktest.Query("q", 1), nil))
			step := rows
			if c.Mode == Upsert {
				step = rows / 2
			}
			id := 0
			for b.Loop() {
				b.StopTimer()
				entry := sinktest.Entry(ident.BatchID(id), "a")
				x := &batch.Batch{ID: ident.BatchID(id), Attempt: ident.NewAttempt(), Digest: ident.DigestOf(entry), Entry: entry, Schema: fields}
				for part := range 4 {
					record := benchRows(fields, id*step+part*rows/4, rows/4)
					x.Parts = append(x.Parts, batch.PartFunc(func(context.Context) batch.Stream {
						return func(yield func(batch.Chunk, error) bool) { yield(batch.Chunk{Record: record}, nil) }
					}))
				}
				id++
				b.StartTimer()
				p, err := s.Prepare(b.Context(), x)
				check(b, err)
				r, err := s.Commit(b.Context(), p)
				check(b, err)
				check(b, r.Why)
			}
			b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}

// BenchmarkEncode is the binary form of rows alone.
func BenchmarkEncode(b *testing.B) {
	fields, err := schema.ParseDDL(benchDDL)
	check(b, err)
	record := benchRows(fields, 0, 10_000)
	defer record.Release()
	e := &encoders{}
	var buf []byte
	for b.Loop() {
		buf = buf[:0]
		writers := make([]writer, record.NumCols())
		for i := range writers {
			t, err := typeOf(fields.Field(i).Type)
			check(b, err)
			writers[i], err = e.writer(record.Column(i), t)
			check(b, err)
		}
		for row := range int(record.NumRows()) {
			for _, w := range writers {
				buf, _ = w(buf, row)
			}
		}
	}
	b.ReportMetric(10_000*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}

func check(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
