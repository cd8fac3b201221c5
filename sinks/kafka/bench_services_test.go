//go:build services

package kafka

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"microbatch/batch"
	"microbatch/internal/services"
	"microbatch/schema"
	"microbatch/sinks/sinktest"
)

// BenchmarkWriteToABroker writes a million rows of about 200 bytes of JSON, in batches of 100,000, to 4 partitions: by a bare transactional producer of the client
// library that has its values ready, and by the sink, which makes them of Arrow columns. rows/cpu-s are those of this process alone.
func BenchmarkWriteToABroker(b *testing.B) {
	const rows, perBatch = 1_000_000, 100_000
	broker := services.Kafka(b, services.KafkaOptions{})
	admin, err := kgo.NewClient(kgo.SeedBrokers(broker.Addr))
	if err != nil {
		b.Fatal(err)
	}
	defer admin.Close()
	if _, err := kadm.NewClient(admin).CreateTopics(b.Context(), 4, 1, nil, "bare", "json", "keyed"); err != nil {
		b.Fatal(err)
	}
	chunks := benchChunks(b, perBatch)
	b.Run("bare", func(b *testing.B) {
		values := benchValues(b, chunks)
		cl, err := kgo.NewClient(kgo.SeedBrokers(broker.Addr), kgo.TransactionalID("bare"), kgo.MaxBufferedRecords(100_000))
		if err != nil {
			b.Fatal(err)
		}
		defer cl.Close()
		measure(b, rows, func() {
			for range rows / perBatch {
				if err := cl.BeginTransaction(); err != nil {
					b.Fatal(err)
				}
				for _, v := range values {
					cl.Produce(b.Context(), &kgo.Record{Topic: "bare", Value: v}, nil)
				}
				if err := cl.Flush(b.Context()); err != nil {
					b.Fatal(err)
				}
				if err := cl.EndTransaction(b.Context(), kgo.TryCommit); err != nil {
					b.Fatal(err)
				}
			}
		})
	})
	for _, name := range []string{"json", "keyed"} {
		b.Run(name, func(b *testing.B) {
			c := Config{Brokers: []string{broker.Addr}, Topic: name, Format: "json", Encoder: jsonEncoder}
			if name == "keyed" {
				c.Key = "user_id"
			}
			s, err := New(c)
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			q := sinktest.Query("bench", 1)
			if err := s.Check(b.Context(), chunks[0].Schema()); err != nil {
				b.Fatal(err)
			}
			if err := s.Recover(b.Context(), q, nil); err != nil {
				b.Fatal(err)
			}
			measure(b, rows, func() {
				for range rows / perBatch {
					one := sinktest.Batch(s.seen.batch+1, "a", memory.DefaultAllocator)
					one.Schema, one.Parts = chunks[0].Schema(), []batch.Part{benchPart(chunks)}
					p, err := s.Prepare(b.Context(), one)
					if err != nil {
						b.Fatal(err)
					}
					if _, err := s.Commit(b.Context(), p); err != nil {
						b.Fatal(err)
					}
				}
			})
		})
	}
}

func measure(b *testing.B, rows int, do func()) {
	for b.Loop() {
		began, cpu := time.Now(), cpuTime()
		do()
		b.ReportMetric(float64(rows)/time.Since(began).Seconds(), "rows/s")
		b.ReportMetric(float64(rows)/(cpuTime()-cpu).Seconds(), "rows/cpu-s")
	}
}

func benchChunks(b *testing.B, rows int) (chunks []arrow.RecordBatch) {
	in, err := schema.ParseDDL("id BIGINT, ts TIMESTAMP, user_id BIGINT, event STRING, country STRING, amount DOUBLE, url STRING, session STRING")
	if err != nil {
		b.Fatal(err)
	}
	build := array.NewRecordBuilder(memory.DefaultAllocator, in)
	defer build.Release()
	for i := range rows {
		build.Field(0).(*array.Int64Builder).Append(int64(i))
		build.Field(1).(*array.TimestampBuilder).Append(arrow.Timestamp(1_700_000_000_000_000 + int64(i)*1000))
		build.Field(2).(*array.Int64Builder).Append(int64(i * 7919 % 100000))
		build.Field(3).(*array.StringBuilder).Append([]string{"view", "click", "buy"}[i%3])
		build.Field(4).(*array.StringBuilder).Append([]string{"DE", "FR", "US", "JP"}[i%4])
		build.Field(5).(*array.Float64Builder).Append(float64(i%50000) / 100)
		build.Field(6).(*array.StringBuilder).Append(fmt.Sprintf("https://shop.example.com/p/%d?ref=%x", i%10000, i*31))
		build.Field(7).(*array.StringBuilder).Append(fmt.Sprintf("%016x%08x", i*2654435761, i))
		if (i+1)%batch.TargetRows == 0 || i+1 == rows {
			chunks = append(chunks, build.NewRecordBatch())
		}
	}
	return chunks
}

func benchPart(chunks []arrow.RecordBatch) batch.Part {
	return batch.PartFunc(func(context.Context) batch.Stream {
		return func(yield func(batch.Chunk, error) bool) {
			for _, c := range chunks {
				c.Retain()
				if !yield(batch.Chunk{Record: c}, nil) {
					return
				}
			}
		}
	})
}

func benchValues(b *testing.B, chunks []arrow.RecordBatch) (values [][]byte) {
	e, err := jsonEncoder(chunks[0].Schema())
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range chunks {
		for i := range int(c.NumRows()) {
			v, err := e.AppendRow(nil, c, i)
			if err != nil {
				b.Fatal(err)
			}
			values = append(values, v)
		}
	}
	return values
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
