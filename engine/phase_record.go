package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"microbatch/checkpointlog"
	"microbatch/internal/bugs"
	"microbatch/internal/failpoint"
	"microbatch/sinks"
)

// record puts commits/<id>: the batch is done, or with at most once: it never runs again, and is committed next. A batch that may have had another attempt is swept first, so that a recorded batch leaves no orphans.
// That is also the first batch after a start: a repair, or somebody's hand, may have dropped the entry of the batch that was pending, with files staged for it.
func (d *driver) record(ctx context.Context) (Phase, error) {
	cur := d.current
	if cur.recordFirst() {
		if err := d.ready(ctx); err != nil {
			return Record, err
		}
	} else if err := d.sweep(context.WithoutCancel(ctx)); err != nil {
		return Record, err
	}
	failpoint.Hit("record.swept")
	if err := d.putCommits(context.WithoutCancel(ctx)); err != nil && !bugs.Is(bugs.RecordFirst) {
		return Record, err
	}
	if cur.recordFirst() {
		cur.recorded = true
		return Commit, nil
	}
	d.settled()
	return Release, nil
}

// settled notes that the batch is both committed and recorded.
func (d *driver) settled() { d.last, d.failures, d.recorded = d.current.entry, 0, true }

// putCommits puts the batch's entry of commits. errRecover: it is there already.
func (d *driver) putCommits(ctx context.Context) error {
	entry := d.current.entry
	data, err := checkpointlog.Commits{NextWatermark: entry.Offsets.Watermark, Entry: d.info.Entry}.Encode()
	if err != nil {
		return err
	}
	switch err := d.checkpoint.Commits.Put(ctx, entry.ID, data); {
	case errors.Is(err, fs.ErrExist):
		return d.alreadyRecorded(ctx)
	case err != nil:
		return d.putFailed(d.checkpoint.Commits.Key(entry.ID), err)
	}
	return nil
}

// alreadyRecorded: somebody else has recorded this batch. A newer driver, or our own past: then the truth is read again.
func (d *driver) alreadyRecorded(ctx context.Context) error {
	if err := d.checkNewest(ctx); err != nil && !bugs.Is(bugs.FightOn) {
		return err
	}
	return fmt.Errorf("%w: %s is there already", errRecover, d.checkpoint.Commits.Key(d.current.entry.ID))
}

// sweep lets the sinks delete what other attempts of this batch left behind.
func (d *driver) sweep(ctx context.Context) error {
	cur := d.current
	if d.recorded && !cur.replayed && cur.attempts <= 1 {
		return nil
	}
	intent := d.intentOf(cur.entry, cur.ranges)
	for _, s := range d.sinks() {
		if s == d.q.Rejected && !cur.rejected {
			continue // nothing of the batch is to be kept there, so nothing can prove what is an orphan: vacuum takes it
		}
		if sweeper, ok := s.(sinks.Sweeper); ok {
			if err := sweeper.Sweep(ctx, intent); err != nil {
				return fmt.Errorf("sweep batch %d: %w", intent.ID, err)
			}
		}
	}
	return nil
}
