package foreachbatch

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"

	"microbatch/sinks"
	"microbatch/sinks/sinktest"
)

func TestForeachBatchConforms(t *testing.T) {
	sinktest.Run(t, func(t *testing.T) sinktest.Harness {
		var applied []int64
		dir := t.TempDir()
		keep := func(_ context.Context, b Batch) error {
			r, err := b.Rows()
			if err != nil {
				return err
			}
			defer r.Release()
			for r.Next() {
				applied = append(applied, r.RecordBatch().Column(0).(*array.Int64).Int64Values()...)
			}
			return r.Err()
		}
		return sinktest.Harness{
			Open: func(t *testing.T) sinks.Sink {
				s, err := New(Config{Func: keep, SpoolDir: dir})
				must(t, err)
				return s
			},
			Rows: func(*testing.T) []int64 { return applied },
			State: func(t *testing.T) string {
				files, err := os.ReadDir(dir)
				must(t, err)
				return fmt.Sprint(files, applied)
			},
		}
	})
}
