package engine

import (
	"context"
	"time"
)

// idlePoll is how often a back-to-back query looks for new data when there was none.
const idlePoll = 50 * time.Millisecond

// next is when the batch after one that ended at ended may begin. An overrun begins at once; times that were missed are not made up.
func (t Trigger) next(began, ended time.Time, empty bool) time.Time {
	at := ended.Add(t.MinPause)
	switch {
	case t.Every > 0:
		due := began.Truncate(t.Every).Add(t.Every)
		if limit := ended.Add(t.Every); due.After(limit) { // the clock was set back since the batch began
			due = limit
		}
		if due.After(at) {
			at = due
		}
	case empty && !t.Once:
		if poll := ended.Add(idlePoll); poll.After(at) {
			at = poll
		}
	}
	return at
}

// sleepUntil waits for a time on the clock now; false if ctx ended first.
func sleepUntil(ctx context.Context, now func() time.Time, at time.Time) bool {
	if wait := at.Sub(now()); wait > 0 {
		return sleep(ctx, wait)
	}
	return ctx.Err() == nil
}
