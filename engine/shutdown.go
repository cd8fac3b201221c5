package engine

import (
	"context"
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

// abandoned gives up the batch that the grace was too short for: what is staged is removed, unless its commit has begun. The range is fixed and runs again.
func (d *driver) abandoned(ctx context.Context) {
	if d.current == nil || d.current.entry == nil || d.current.committing {
		return
	}
	d.unstage(ctx)
	d.warn("batch %d was abandoned before its commit; the next start runs it again", d.current.entry.ID)
}
