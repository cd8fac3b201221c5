package main

import (
	"context"
	"fmt"

	"microbatch/internal/bench/report"
)

// batchSizes are the limits that memory must not grow with.
func batchSizes() []int { return []int{20_000, 1_000_000, 10_000_000} }

// measureMemory takes the peak memory of the same data in small, middle and large batches.
func measureMemory(ctx context.Context, b *bench) ([]report.Samples, error) {
	from, err := plain().make(ctx, b)
	if err != nil {
		return nil, err
	}
	out := make([]report.Samples, len(batchSizes()))
	for i, limit := range batchSizes() {
		for range b.rounds {
			dir, err := b.fresh("memory-out")
			if err != nil {
				return nil, err
			}
			p := pipeline{source: files(from), format: "json", schema: eventsDDL, table: dir + "/table", trigger: fmt.Sprintf("max_rows: %d", limit)}
			u, _, err := b.start(ctx, dir, p, int64(b.rows))
			if err != nil {
				return nil, err
			}
			out[i].Ours = append(out[i].Ours, float64(u.peak)/1e6)
		}
	}
	return out, b.removeAll("memory-out")
}
