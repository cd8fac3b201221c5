package checkpointlog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"microbatch/ident"
)

// ErrChanged says that the logs changed while they were read: read them again.
var ErrChanged = errors.New("the checkpoint changes while it is read")

// ReadLogs lists both logs and reads the last two entries of offsets above the low watermark, and the last of commits. The lists are there also with the error
// of an entry that cannot be read, for those who only show them.
func (c *Checkpoint) ReadLogs(ctx context.Context) (Logs, error) {
	logs, err := c.List(ctx)
	if err != nil {
		return Logs{}, err
	}
	if ids := above(logs.Commits, logs.LowWatermark); len(ids) > 0 {
		if err := c.checkCommit(ctx, ids[len(ids)-1]); err != nil {
			return logs, err
		}
	}
	ids := above(logs.Offsets, logs.LowWatermark)
	if len(ids) == 0 {
		return logs, nil
	}
	last := ids[len(ids)-1]
	if logs.Last, err = c.ReadEntry(ctx, last); err != nil {
		return logs, changed(err)
	}
	// The entry before may stand at the low watermark: purge keeps what the next batch starts from, but repair may raise the mark.
	if slices.Contains(logs.Offsets, last-1) {
		if logs.Previous, err = c.ReadEntry(ctx, last-1); err != nil {
			return logs, changed(err)
		}
	}
	return logs, nil
}

// SameListing lists both logs again and reports whether they still hold the same ids.
func (c *Checkpoint) SameListing(ctx context.Context, logs Logs) (bool, error) {
	now, err := c.List(ctx)
	if err != nil {
		return false, err
	}
	return now.LowWatermark == logs.LowWatermark && slices.Equal(now.Offsets, logs.Offsets) && slices.Equal(now.Commits, logs.Commits), nil
}

// List lists both logs and reads no entry.
func (c *Checkpoint) List(ctx context.Context) (logs Logs, err error) {
	if logs.LowWatermark, err = c.LowWatermark(ctx); err != nil {
		return logs, err
	}
	if logs.Offsets, err = c.Offsets.List(ctx); err != nil {
		return logs, err
	}
	logs.Commits, err = c.Commits.List(ctx)
	return logs, err
}

// ReadEntry reads an entry of offsets. The error is Damaged if it is there but not whole.
func (c *Checkpoint) ReadEntry(ctx context.Context, id ident.BatchID) (*Entry, error) {
	data, err := c.Offsets.Get(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", c.Offsets.Key(id), err)
	}
	parsed, err := ParseOffsets(data)
	if err != nil {
		return nil, Damaged{c.Offsets.Key(id), err}
	}
	return &Entry{ID: id, Bytes: data, Offsets: parsed}, nil
}

func (c *Checkpoint) checkCommit(ctx context.Context, id ident.BatchID) error {
	data, err := c.Commits.Get(ctx, id)
	if err != nil {
		return changed(fmt.Errorf("read %s: %w", c.Commits.Key(id), err))
	}
	if _, err := ParseCommits(data); err != nil {
		return Damaged{c.Commits.Key(id), err}
	}
	return nil
}

// changed turns "listed but gone" into ErrChanged.
func changed(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", ErrChanged, err)
	}
	return err
}
