package lakehouse

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/ident"
	"microbatch/objstore/localfs"
	"microbatch/sinks"
	"microbatch/sinks/sinktest"
)

// measured is a sink on local disk that is given batch after batch.
type measured struct {
	*Sink
	b  *testing.B
	id ident.BatchID
}

func measure(b *testing.B, c Config) *measured {
	b.Helper()
	var err error
	c.Store, err = localfs.New(b.TempDir(), localfs.Options{})
	if err != nil {
		b.Fatal(err)
	}
	s, err := New(c)
	if err != nil {
		b.Fatal(err)
	}
	if err := s.Check(b.Context(), sinktest.Schema()); err != nil {
		b.Fatal(err)
	}
	if err := s.Recover(b.Context(), sinktest.Query("q", 1), nil); err != nil {
		b.Fatal(err)
	}
	return &measured{Sink: s, b: b}
}

// put commits one more batch.
func (m *measured) put(ids []int64) *pending {
	m.b.Helper()
	p, err := m.Prepare(m.b.Context(), sinktest.Batch(m.id, "a", memory.DefaultAllocator, ids))
	if err != nil {
		m.b.Fatal(err)
	}
	if r, err := m.Commit(m.b.Context(), p); err != nil || r.Outcome != sinks.Committed {
		m.b.Fatal(r, err)
	}
	m.id++
	return p.(*pending)
}

// numbers are n numbers from one on.
func numbers(from int64, n int) []int64 {
	ids := make([]int64, n)
	for i := range ids {
		ids[i] = from + int64(i)
	}
	return ids
}

// BenchmarkSmallBatch is what a batch of 1,000 rows costs from Prepare to Commit on local disk.
func BenchmarkSmallBatch(b *testing.B) {
	for _, format := range []string{"parquet", "delta"} {
		b.Run(format, func(b *testing.B) {
			m, ids := measure(b, Config{Format: format}), numbers(0, 1000)
			for b.Loop() {
				m.put(ids)
			}
		})
	}
}
