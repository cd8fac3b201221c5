package datafile

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/objstore/mem"
)

// BenchmarkStage writes a million rows of two columns in records of 8,192, unpartitioned and into partitions that alternate from row to row.
func BenchmarkStage(b *testing.B) {
	const rows = 1_000_000
	for _, partitions := range []int{0, 1, 10, 60, 1000} {
		b.Run(fmt.Sprint(partitions), func(b *testing.B) {
			recs := records(memory.DefaultAllocator, rows, 8192, func(id int) string { return fmt.Sprintf("p%d", id%max(partitions, 1)) })
			var by []string
			if partitions > 0 {
				by = []string{"p"}
			}
			for b.Loop() {
				s := NewStage(mem.New(), Spec{Schema: twoColumns(), PartitionBy: by, TempDir: b.TempDir()})
				for _, r := range recs {
					if err := s.Write(b.Context(), r); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := s.Finish(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/rows, "ns/row")
		})
	}
}
