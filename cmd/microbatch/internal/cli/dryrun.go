package cli

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/cmd/microbatch/internal/rows"
	"microbatch/pipeline"
)

// dryRun shows the first rows of the next batch and writes nothing.
func dryRun(ctx context.Context, std IO, c *pipeline.Config, n int64) error {
	q, err := pipeline.Build(ctx, c, pipeline.Options{RetryFor: patience})
	if err != nil {
		return err
	}
	q.MaxRestarts = -1 // somebody waits
	var printer rows.Printer
	var failed error
	preview, err := q.DryRun(ctx, n, func(record arrow.RecordBatch) {
		if printer == nil {
			printer = rows.New(std.Out, "table", record.Schema())
		}
		if err := printer.Print(record); failed == nil {
			failed = err
		}
	})
	if err != nil {
		return err
	}
	if printer != nil && failed == nil {
		failed = printer.Close()
	}
	if failed != nil {
		return fmt.Errorf("print rows: %w", failed)
	}
	fmt.Fprintf(std.Err, "%d rows of the next batch, %d rejected; nothing was written\n", preview.Rows, len(preview.Rejected))
	for _, r := range preview.Rejected {
		fmt.Fprintf(shown(std.Err), "  rejected %s: %s\n", r.Position, r.Reason)
	}
	return nil
}
