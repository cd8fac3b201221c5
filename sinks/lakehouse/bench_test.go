package lakehouse

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/ident"
	"microbatch/objstore/localfs"
	"microbatch/sinks"
	"microbatch/sinks/sinktest"
)

// BenchmarkSmallBatch is what a batch of 1,000 rows costs from Prepare to Commit on local disk.
func BenchmarkSmallBatch(b *testing.B) {
	for _, format := range []string{"parquet", "delta"} {
		b.Run(format, func(b *testing.B) {
			store, err := localfs.New(b.TempDir(), localfs.Options{})
			if err != nil {
				b.Fatal(err)
			}
			s, err := New(Config{Store: store, Format: format})
			if err != nil {
				b.Fatal(err)
			}
			if err := s.Check(b.Context(), sinktest.Schema()); err != nil {
				b.Fatal(err)
			}
			if err := s.Recover(b.Context(), sinktest.Query("q", 1), nil); err != nil {
				b.Fatal(err)
			}
			ids := make([]int64, 1000)
			for i := range ids {
				ids[i] = int64(i)
			}
			id := ident.BatchID(0)
			for b.Loop() {
				p, err := s.Prepare(b.Context(), sinktest.Batch(id, "a", memory.DefaultAllocator, ids))
				if err != nil {
					b.Fatal(err)
				}
				if r, err := s.Commit(b.Context(), p); err != nil || r.Outcome != sinks.Committed {
					b.Fatal(r, err)
				}
				id++
			}
		})
	}
}
