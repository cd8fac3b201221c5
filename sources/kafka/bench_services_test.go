//go:build services

package kafka

import (
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"microbatch/codec/json"
	"microbatch/ident"
	"microbatch/internal/services"
	"microbatch/objstore/mem"
	"microbatch/schema"
	"microbatch/sources"
)

// BenchmarkReadFromABroker reads 200-byte JSON records of 8 columns from 4 partitions with 2 splits, in batches of 1,000 and of 20,000 rows, and in one.
func BenchmarkReadFromABroker(b *testing.B) {
	const rows = 1_000_000
	broker := services.Kafka(b, services.KafkaOptions{})
	cl, err := kgo.NewClient(kgo.SeedBrokers(broker.Addr), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MaxBufferedRecords(100_000))
	if err != nil {
		b.Fatal(err)
	}
	defer cl.Close()
	if _, err := kadm.NewClient(cl).CreateTopic(b.Context(), 4, 1, nil, "bench"); err != nil {
		b.Fatal(err)
	}
	for i := range rows {
		value := fmt.Appendf(nil, `{"id":%d,"ts":"2026-01-01T00:%02d:%02dZ","user_id":%d,"event":"%s","country":"%s","amount":%d.%02d,"url":"https://shop.example.com/p/%d?ref=%x","session":"%016x%08x"}`,
			i, i/60%60, i%60, i*7919%100000, []string{"view", "click", "buy"}[i%3], []string{"DE", "FR", "US", "JP"}[i%4], i%500, i%100, i%10000, i*31, i*2654435761, i)
		cl.Produce(b.Context(), &kgo.Record{Topic: "bench", Partition: int32(i % 4), Value: value}, nil)
	}
	if err := cl.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	columns, err := schema.ParseDDL("id BIGINT, ts TIMESTAMP, user_id BIGINT, event STRING, country STRING, amount DOUBLE, url STRING, session STRING")
	if err != nil {
		b.Fatal(err)
	}
	for _, limit := range []int64{1000, 20_000, 0} {
		b.Run(fmt.Sprint("max_rows=", limit), func(b *testing.B) {
			for b.Loop() {
				s, err := New(Config{Brokers: []string{broker.Addr}, Topics: []string{"bench"}, Format: json.New(json.Options{}), Schema: columns})
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Open(b.Context(), mem.New()); err != nil {
					b.Fatal(err)
				}
				began, cpu := time.Now(), cpuTime()
				if n := benchRead(b, s, limit); n != rows {
					b.Fatalf("%d rows", n)
				}
				b.ReportMetric(rows/time.Since(began).Seconds(), "rows/s")
				b.ReportMetric(rows/(cpuTime()-cpu).Seconds(), "rows/cpu-s")
				s.Close()
			}
		})
	}
}

func benchRead(b *testing.B, s *Source, limit int64) int64 {
	var n atomic.Int64
	from := ident.Offset("")
	for {
		p, err := s.Plan(b.Context(), from, sources.Limit{Rows: limit})
		if err != nil {
			b.Fatal(err)
		}
		if p.To == from {
			return n.Load()
		}
		splits, err := s.Splits(b.Context(), from, p.To, p.Aux, 2)
		if err != nil {
			b.Fatal(err)
		}
		var wg sync.WaitGroup
		for _, split := range splits {
			wg.Go(func() {
				for chunk, err := range split.Records(b.Context()) {
					if err != nil {
						b.Error(err)
						return
					}
					n.Add(chunk.Rows())
					chunk.Release()
				}
			})
		}
		wg.Wait()
		from = p.To
	}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
