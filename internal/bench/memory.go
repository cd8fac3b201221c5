package main

import (
	"context"
	"fmt"
	"os"
)

// measureMemory takes the peak memory of the same data in small, middle and large batches: it must not grow with the batch.
func measureMemory(ctx context.Context, b *bench) ([]Result, error) {
	in, err := b.events(b.rows)
	if err != nil {
		return nil, err
	}
	var out []Result
	for _, limit := range []int{20_000, 1_000_000, 10_000_000} {
		var peaks []float64
		for range min(b.rounds, 2) {
			dir, err := b.fresh("memory-out")
			if err != nil {
				return nil, err
			}
			u, _, err := b.start(ctx, dir, fileToTable(in, dir, fmt.Sprintf("trigger: {every: 0s, max_rows: %d}\n", limit)), int64(b.rows))
			if err != nil {
				return nil, err
			}
			peaks = append(peaks, float64(u.peak)/1e6)
			if err := os.RemoveAll(dir); err != nil {
				return nil, err
			}
		}
		out = append(out, alone(fmt.Sprintf("peak memory at max_rows %d", limit), "MB", peaks, atMost(300)))
	}
	return out, nil
}
