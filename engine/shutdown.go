package engine

import (
	"context"
	"errors"
	"time"
)

// grace derives the context of a batch under way: it ends ShutdownTimeout after ctx does. end frees it.
func grace(ctx context.Context, timeout time.Duration) (work context.Context, end func()) {
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		timer := time.AfterFunc(timeout, cancel)
		context.AfterFunc(work, func() { timer.Stop() })
	})
	return work, func() { stop(); cancel() }
}

// abandoned ends a run whose grace was too short for the batch: what is staged is removed, and the fixed range runs again at the next start. Once its
// commit has begun the batch is finished whatever the clock says, so an error of that is one.
func (d *driver) abandoned(ctx context.Context, err error) error {
	switch {
	case d.current == nil || d.current.entry == nil:
		return nil
	case d.current.committing:
		if errors.Is(err, context.Canceled) {
			return nil
		}
		return err
	}
	d.unstage(ctx)
	if d.current.recorded {
		d.warn("at most once: batch %d was abandoned before its commit, and it is recorded: its rows are lost", d.current.entry.ID)
		return nil
	}
	d.warn("batch %d was abandoned before its commit; the next start runs it again", d.current.entry.ID)
	return nil
}
