package lakehouse

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"microbatch/table/action"
	"microbatch/table/translog"
)

// BenchmarkUpsert is what a batch of 10,000 keys costs on a table of two million rows in 20 files: keys that are neighbours are in one file, those that are anywhere
// make every file be rewritten. rewritten/op are the rows that are written again because they share a file with one that is replaced.
func BenchmarkUpsert(b *testing.B) {
	const files, rows, batch = 20, 100_000, 10_000
	for _, keys := range []string{"neighbours", "anywhere", "new"} {
		b.Run(keys, func(b *testing.B) {
			m := measure(b, Config{Format: "delta", Merge: Merge{Mode: Upsert, Keys: []string{"id"}, OrderBy: []string{"name"}}})
			for f := range int64(files) {
				m.put(numbers(f*rows, rows))
			}
			ids := make([]int64, batch)
			random := rand.New(rand.NewPCG(1, 1))
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
						ids[i] = files*rows + int64(m.id)*batch + int64(i)
					}
				}
				copied += m.put(ids).merged.copied
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
			m := measure(b, Config{Format: format, AllowReplacedFiles: true, Merge: Merge{Mode: Upsert, Keys: []string{"id"}, OrderBy: []string{"name"}}})
			t := m.Table()
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
			ids := numbers(0, rows)
			m.put(ids)
			for b.Loop() {
				m.put(ids)
			}
			b.StopTimer()
			runtime.GC()
			var stats runtime.MemStats
			runtime.ReadMemStats(&stats)
			b.ReportMetric(float64(stats.HeapAlloc)/1e6, "live-MB")
			runtime.KeepAlive(m)
		})
	}
}
