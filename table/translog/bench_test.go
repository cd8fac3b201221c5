package translog

import (
	"fmt"
	"testing"
	"time"

	"microbatch/objstore/mem"
	"microbatch/table/action"
)

// BenchmarkManyFiles replays and sums up a log with 100,000 files, 1,000 a commit.
func BenchmarkManyFiles(b *testing.B) {
	for _, format := range []Format{Parquet, Delta} {
		log := New(mem.New(), format, time.Now)
		err := log.Begin(b.Context(), Change{Actions: []action.Action{{Protocol: &action.Protocol{MinReader: 1, MinWriter: 2}}, {Metadata: metadata("t", "{}")}}})
		if err != nil {
			b.Fatal(err)
		}
		state, err := log.Load(b.Context(), Latest)
		for c := 0; err == nil && c < 100; c++ {
			var actions []action.Action
			for f := range 1000 {
				day := fmt.Sprintf("2026-01-%02d", c%28+1)
				actions = append(actions, action.Action{Add: &action.Add{
					Path: fmt.Sprintf("day=%s/part-%05d-9f86d081884c7d65-%d-4355a46b19d348dc.snappy.parquet", day, f, c), PartitionValues: map[string]*string{"day": &day}, Size: 1 << 20,
					Modified: 1, DataChange: true, Stats: `{"numRecords":1000,"minValues":{"id":1,"name":"aaaaaaaaaaaa","ts":"2026-01-01T00:00:00.000Z"},"maxValues":{"id":1000,"name":"zzzzzzzzzzzz","ts":"2026-01-01T00:00:00.000Z"},"nullCount":{"id":0,"name":0,"ts":0}}`,
				}})
			}
			state, err = log.Commit(b.Context(), state, Change{Actions: actions})
		}
		if err != nil {
			b.Fatal(err)
		}
		b.Run(string(format)+"/files", func(b *testing.B) {
			for b.Loop() {
				if _, err := log.Files(b.Context(), Latest); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(string(format)+"/checkpoint", func(b *testing.B) {
			for b.Loop() {
				if err := log.store.Delete(b.Context(), format.checkpointKey(state.Version)); err != nil {
					b.Fatal(err)
				}
				if _, err := log.WriteCheckpoint(b.Context(), state); err != nil {
					b.Fatal(err)
				}
			}
		})
		older, err := log.WriteCheckpoint(b.Context(), state)
		if err != nil {
			b.Fatal(err)
		}
		newer, err := log.Commit(b.Context(), older, Change{Actions: []action.Action{{Add: &action.Add{Path: "one-more", PartitionValues: map[string]*string{}}}}})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(string(format)+"/checkpoint behind checkpoint", func(b *testing.B) {
			for b.Loop() {
				if err := log.store.Delete(b.Context(), format.checkpointKey(newer.Version)); err != nil {
					b.Fatal(err)
				}
				if _, err := log.WriteCheckpoint(b.Context(), newer); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(string(format)+"/files from checkpoint", func(b *testing.B) {
			for b.Loop() {
				if _, err := log.Files(b.Context(), Latest); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(string(format)+"/open", func(b *testing.B) {
			for b.Loop() {
				if _, err := log.Load(b.Context(), Latest); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
