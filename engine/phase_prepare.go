package engine

import (
	"context"
	"errors"
	"time"

	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/objstore"
)

// prepare makes one attempt: read, transform and prepare of the protocol, done by the executor.
func (d *driver) prepare(ctx context.Context) (Phase, error) {
	cur := d.current
	cur.attempts++
	cur.attempt, cur.started = ident.NewAttempt(), time.Now()
	if cur.fence == nil {
		d.startFence(ctx, d.checkStart(ctx))
	}
	work := Work{
		ID: cur.entry.ID, Attempt: cur.attempt, Entry: cur.entry.Bytes, Timestamp: cur.entry.Offsets.Timestamp, Watermark: cur.entry.Offsets.Watermark,
		Ranges: cur.ranges, Rows: cur.rows,
	}
	limited, cancel := ctx, context.CancelFunc(func() {})
	if d.q.BatchTimeout > 0 {
		limited, cancel = context.WithTimeout(ctx, d.q.BatchTimeout)
	}
	defer cancel()
	staged, err := d.exec.Execute(limited, work)
	d.report.enter(Commit) // ends the time of the last of the executor's phases
	if err != nil {
		// A failed fsync stops the query also when it comes late, as of a disk that is about to die.
		if errors.Is(limited.Err(), context.DeadlineExceeded) && ctx.Err() == nil && !errors.Is(err, objstore.ErrFsync) {
			return Prepare, errcode.BatchTimeout.Wrap(err, "batch "+work.ID.String(), "it has taken %s", d.q.BatchTimeout)
		}
		return Prepare, err
	}
	cur.staged = staged
	if cur.recordFirst() {
		return Record, nil
	}
	return Commit, nil
}
