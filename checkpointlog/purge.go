package checkpointlog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"microbatch/ident"
	"microbatch/internal/bugs"
	"microbatch/internal/failpoint"
)

const lowWatermarkDir = "_engine/low-watermark/"

// LowWatermark is the highest id that does not count any more; ident.NoBatch if nothing was ever purged.
func (c *Checkpoint) LowWatermark(ctx context.Context) (ident.BatchID, error) {
	ns, err := c.listNumbers(ctx, lowWatermarkDir)
	if err != nil || len(ns) == 0 {
		return ident.NoBatch, err
	}
	return ident.BatchID(ns[len(ns)-1]), nil
}

// RaiseLowWatermark declares that entries at or below id do not count any more.
func (c *Checkpoint) RaiseLowWatermark(ctx context.Context, id ident.BatchID) error {
	if bugs.Is(bugs.PurgeReopens) {
		return nil
	}
	data, err := Seal(map[string]any{"id": id})
	if err != nil {
		return err
	}
	err = c.Store.PutIfAbsent(ctx, lowWatermarkDir+id.String(), data)
	if errors.Is(err, fs.ErrExist) { // who put it may have died before it was durable, and what is deleted next relies on it
		err = c.Store.Sync(ctx, lowWatermarkDir+id.String())
	}
	if err != nil {
		return fmt.Errorf("raise low watermark to %d: %w", id, err)
	}
	return nil
}

// Purge raises the low watermark to id (C3) and deletes what stands at or below it: commits before offsets, ascending, so that at every
// moment what is left is dense. offsets and commits are ids that may exist; deleting a missing one is no error.
func (c *Checkpoint) Purge(ctx context.Context, id ident.BatchID, offsets, commits []ident.BatchID) error {
	if err := c.RaiseLowWatermark(ctx, id); err != nil {
		return err
	}
	failpoint.Hit("purge.watermark")
	for _, log := range []struct {
		Log
		ids []ident.BatchID
	}{{c.Commits, commits}, {c.Offsets, offsets}} {
		for _, old := range log.ids {
			if old > id {
				break
			}
			if err := log.Delete(ctx, old); err != nil {
				return fmt.Errorf("purge %s: %w", log.Key(old), err)
			}
			failpoint.Hit("purge.delete")
		}
	}
	return c.purgeOwn(ctx)
}

// purgeOwn deletes low watermarks below the highest.
func (c *Checkpoint) purgeOwn(ctx context.Context) error {
	if bugs.Is(bugs.PurgeReopens) {
		return errors.Join(c.keepNewest(ctx, lowWatermarkDir, 0), c.keepNewest(ctx, epochDir, 0))
	}
	return c.keepNewest(ctx, lowWatermarkDir, 1)
}

// keepNewest deletes all files of a directory of ours but the newest few, ascending.
func (c *Checkpoint) keepNewest(ctx context.Context, dir string, keep int) error {
	ns, err := c.listNumbers(ctx, dir)
	if err != nil {
		return err
	}
	for _, n := range ns[:max(0, len(ns)-keep)] {
		if err := c.Store.Delete(ctx, fmt.Sprint(dir, n)); err != nil {
			return fmt.Errorf("purge %s%d: %w", dir, n, err)
		}
	}
	return nil
}
