package engine

import (
	"context"
	"errors"
	"fmt"

	"microbatch/ident"
	"microbatch/internal/bugs"
	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/sinks"
)

// release lets the sources forget, purges old entries and keeps the sinks in order. The batch is done: what fails here is repeated after a later one (later).
func (d *driver) release(ctx context.Context) (Phase, error) {
	if err := d.releaseSources(ctx); err != nil {
		return Release, err
	}
	if err := d.later(d.purge(ctx, d.current.entry.ID), "old entries of the checkpoint cannot be purged"); err != nil {
		return Release, err
	}
	return Plan, d.maintain(ctx)
}

// releaseSources tells the sources that what precedes the batch's end is not needed any more.
func (d *driver) releaseSources(ctx context.Context) error {
	for n, s := range d.q.Sources {
		to := d.current.ranges[n].To
		if err := d.later(s.Release(ctx, to), "source %d cannot release %s", n, to); err != nil {
			return err
		}
	}
	return nil
}

// later warns of a failure and lets the query go on, except after a failed fsync: the next fsync of the same folder would succeed and vouch for names, a table
// checkpoint's for one, that may be lost, and on which a later clean-up relies.
func (d *driver) later(err error, what string, args ...any) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, objstore.ErrFsync) && !bugs.Is(bugs.UpkeepGoesOn):
		return fmt.Errorf(what+": %w", append(args, err)...)
	}
	d.warn(what+": %v", append(args, err)...)
	return nil
}

// purge deletes entries beyond the retained ones. It works on a hundred or more at a time, so that its low watermark costs no put for each batch.
func (d *driver) purge(ctx context.Context, id ident.BatchID) error {
	retain := ident.BatchID(d.q.RetainBatches)
	if id-d.lowest < 2*retain {
		return nil
	}
	mark := id - retain
	var ids []ident.BatchID
	for old := d.lowest; old <= mark; old++ {
		ids = append(ids, old)
	}
	if err := d.checkpoint.Purge(ctx, mark, ids, ids); err != nil {
		return err
	}
	d.lowest = mark + 1
	return nil
}

// maintain gives the sinks time for what is due. Only an error whose class says so stops the query.
func (d *driver) maintain(ctx context.Context) error {
	for _, s := range d.sinks() {
		m, ok := s.(sinks.Maintainer)
		if !ok {
			continue
		}
		err := m.Maintain(ctx, d.q.Now())
		switch {
		case err == nil || ctx.Err() != nil:
		case errcode.ClassOf(err) == errcode.Fenced || errcode.ClassOf(err) == errcode.Corrupt:
			return fmt.Errorf("maintain: %w", err)
		default:
			if err := d.later(err, "maintenance"); err != nil {
				return err
			}
		}
	}
	return nil
}

// warn tells of something that a person should know and that does not stop the query.
func (d *driver) warn(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	d.q.Log.Warn(text)
	tell(d.q.Listener.Notice, text)
}

// finish reports the batch and makes room for the next.
func (d *driver) finish() {
	p := d.progress()
	d.current = nil
	d.trigger.ended = d.q.Now()
	tell(d.q.Listener.Progress, p)
}

// progress is what is reported of the batch.
func (d *driver) progress() Progress {
	cur := d.current
	c := cur.staged.Counts
	p := Progress{
		ID: d.info.ID, RunID: d.run_, Name: d.q.Name, Timestamp: isoMillis(cur.fired), Batch: cur.entry.ID, InputRows: c.Read,
		Decoded: c.Decoded, Filtered: c.Filtered, Rejected: c.Rejected, Behind: cur.behind, Attempts: cur.attempts, Epoch: d.info.Epoch,
		Digest: cur.entry.Digest().String(), Replayed: cur.replayed,
		Sink: SinkProgress{Description: d.q.Sink.Describe().Name, Rows: c.Out, Dropped: c.Dropped, Version: cur.result.Version, Outcome: cur.result.Outcome.String(), Files: cur.files, Bytes: cur.bytes},
	}
	p.Sink.Changes = cur.changes
	if cur.entry.Offsets.AtMostOnce() {
		p.Delivery = AtMostOnce.String()
	}
	cur.watch.report(&p)
	for n, s := range d.q.Sources {
		sp := SourceProgress{Description: s.Describe().Name, Start: rawOffset(cur.ranges[n].From), End: rawOffset(cur.ranges[n].To), Latest: rawOffset("")}
		if cur.plans != nil {
			sp.Latest = rawOffset(cur.plans[n].Available)
		}
		if n < len(c.Sources) {
			sp.InputRows = c.Sources[n]
		}
		sp.PerSecond = rate(sp.InputRows, cur.watch.total())
		p.Sources = append(p.Sources, sp)
	}
	return p
}
