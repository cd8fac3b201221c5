package lakehouse

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/ident"
	"microbatch/objstore/localfs"
	"microbatch/sinks"
	"microbatch/sinks/sinktest"
	"microbatch/table/action"
	"microbatch/table/translog"
)

// BenchmarkUpsert is what a batch of 10,000 keys costs on a table of two million rows in 20 files: keys that are neighbours are in one file, those that are anywhere
// make every file be rewritten. rewritten/op are the rows that are written again because they share a file with one that is replaced.
func BenchmarkUpsert(b *testing.B) {
	const files, rows, batch = 20, 100_000, 10_000
	for _, keys := range []string{"neighbours", "anywhere", "new"} {
		b.Run(keys, func(b *testing.B) {
			store, err := localfs.New(b.TempDir(), localfs.Options{})
			if err != nil {
				b.Fatal(err)
			}
			s, err := New(Config{Store: store, Format: "delta", Merge: Merge{Mode: Upsert, Keys: []string{"id"}, OrderBy: []string{"name"}}})
			if err != nil {
				b.Fatal(err)
			}
			if err := s.Check(b.Context(), sinktest.Schema()); err != nil {
				b.Fatal(err)
			}
			if err := s.Recover(b.Context(), sinktest.Query("q", 1), nil); err != nil {
				b.Fatal(err)
			}
			id := ident.BatchID(0)
			put := func(ids []int64) (copied int64) {
				p, err := s.Prepare(b.Context(), sinktest.Batch(id, "a", memory.DefaultAllocator, ids))
				if err != nil {
					b.Fatal(err)
				}
				if r, err := s.Commit(b.Context(), p); err != nil || r.Outcome != sinks.Committed {
					b.Fatal(r, err)
				}
				id++
				return p.(*pending).merged.copied
			}
			ids := make([]int64, rows)
			for f := range int64(files) {
				for i := range ids {
					ids[i] = f*rows + int64(i)
				}
				put(ids)
			}
			random := rand.New(rand.NewPCG(1, 1))
			ids = ids[:batch]
			var copied int64
			for b.Loop() {
				from := random.Int64N(files) * rows
				for i := range ids {
					switch keys {
					case "neighbours":
						ids[i] = from + int64(i)
					case "anywhere":
						ids[i] = random.Int64N(files * rows)
					default:
						ids[i] = files*rows + int64(id)*batch + int64(i)
					}
				}
				copied += put(ids)
			}
			b.ReportMetric(float64(copied)/float64(b.N), "rewritten/op")
		})
	}
}

// BenchmarkUpsertManyFiles is what a batch of 1,000 keys, which are in one file, costs on a table of 100,000 other files, which statistics tell apart from it. live-MB is
// what is in memory between two batches.
func BenchmarkUpsertManyFiles(b *testing.B) {
	const versions, files, rows = 100, 1000, 1000
	for _, format := range []string{"parquet", "delta"} {
		b.Run(format, func(b *testing.B) {
			store, err := localfs.New(b.TempDir(), localfs.Options{})
			if err != nil {
				b.Fatal(err)
			}
			s, err := New(Config{Store: store, Format: format, AllowReplacedFiles: true, Merge: Merge{Mode: Upsert, Keys: []string{"id"}, OrderBy: []string{"name"}}})
			if err != nil {
				b.Fatal(err)
			}
			if err := s.Check(b.Context(), sinktest.Schema()); err != nil {
				b.Fatal(err)
			}
			if err := s.Recover(b.Context(), sinktest.Query("q", 1), nil); err != nil {
				b.Fatal(err)
			}
			t := s.Table()
			for v := range versions {
				actions := make([]action.Action, files)
				for i := range actions {
					n := int64(v*files+i+1) * rows
					actions[i] = action.Action{Add: &action.Add{
						Path: fmt.Sprintf("part-00000-0123456789abcdef-%012d-0123456789abcdef.snappy.parquet", n), PartitionValues: map[string]*string{}, Size: 12345, Modified: 1, DataChange: true,
						Stats: fmt.Sprintf(`{"numRecords":%d,"minValues":{"id":%d,"name":"customer 000000"},"maxValues":{"id":%d,"name":"customer 999999"},"nullCount":{"id":0,"name":0}}`, rows, n, n+rows-1),
					}}
				}
				if _, err := t.Commit(b.Context(), t.Snapshot(), translog.Change{Actions: actions}); err != nil {
					b.Fatal(err)
				}
				if _, err := t.Checkpoint(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			ids := make([]int64, rows)
			for i := range ids {
				ids[i] = int64(i)
			}
			id := ident.BatchID(0)
			put := func() {
				p, err := s.Prepare(b.Context(), sinktest.Batch(id, "a", memory.DefaultAllocator, ids))
				if err != nil {
					b.Fatal(err)
				}
				if r, err := s.Commit(b.Context(), p); err != nil || r.Outcome != sinks.Committed {
					b.Fatal(r, err)
				}
				id++
			}
			put()
			for b.Loop() {
				put()
			}
			b.StopTimer()
			runtime.GC()
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			b.ReportMetric(float64(m.HeapAlloc)/1e6, "live-MB")
			runtime.KeepAlive(s)
		})
	}
}
