package datafile

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/arrowparquet"
	"microbatch/internal/failpoint"
	"microbatch/objstore"
	"microbatch/table/action"
)

// writer writes one file. It is used by one goroutine at a time.
type writer struct {
	stage   *Stage
	part    *partition
	key     string
	options arrowparquet.Options
	noStats bool // the log gets the number of rows alone
	out     objstore.Writer
	parquet *arrowparquet.Writer
	counted int64 // of its size, what is part of partition.bytes
}

// write writes rows. Small records are collected into pages by the Parquet writer, which copies them.
func (w *writer) write(ctx context.Context, rec arrow.RecordBatch) error {
	if w.parquet == nil {
		if err := w.create(ctx); err != nil {
			return err
		}
	}
	if err := w.parquet.Write(rec); err != nil {
		return fmt.Errorf("write %s: %w", w.key, err)
	}
	failpoint.Hit("prepare.file.written")
	return nil
}

func (w *writer) create(ctx context.Context) (err error) {
	failpoint.Hit("prepare.file.before")
	if w.out, err = w.stage.store.Create(ctx, w.key); err != nil {
		return fmt.Errorf("create %s: %w", w.key, err)
	}
	if w.parquet, err = arrowparquet.NewWriter(w.out, w.stage.file, w.options); err != nil {
		return fmt.Errorf("write %s: %w", w.key, err)
	}
	return nil
}

func (w *writer) size() int64 {
	if w.parquet == nil {
		return 0
	}
	return w.parquet.Size()
}

// close completes the file and makes it durable.
func (w *writer) close(ctx context.Context) (*action.Add, error) {
	stats, err := w.complete(ctx)
	if err != nil {
		_ = w.abort(ctx) // the first error is the one to tell; what is left is nothing that a table knows
		return nil, err
	}
	failpoint.Hit("prepare.file.after")
	text := stats.DeltaJSON()
	if w.noStats {
		text = fmt.Sprintf(`{"numRecords":%d}`, stats.Rows)
	}
	return &action.Add{
		Path: action.EncodePath(w.key), PartitionValues: w.part.values, Size: stats.Bytes, Modified: w.stage.spec.Now().UnixMilli(),
		DataChange: true, Stats: text,
	}, nil
}

func (w *writer) complete(ctx context.Context) (*arrowparquet.FileStats, error) {
	stats, err := w.parquet.Close()
	if err != nil {
		return nil, fmt.Errorf("write %s: %w", w.key, err)
	}
	failpoint.Hit("prepare.file.closed")
	if err := w.out.Commit(ctx); err != nil {
		return nil, fmt.Errorf("commit %s: %w", w.key, err)
	}
	return stats, nil
}

// abort leaves nothing of the file.
func (w *writer) abort(ctx context.Context) error {
	if w.out == nil {
		return nil
	}
	if err := w.out.Abort(ctx); err != nil {
		return fmt.Errorf("abort %s: %w", w.key, err)
	}
	return nil
}
