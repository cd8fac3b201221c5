package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"microbatch/internal/errcode"
)

// TestRareFailuresOfAQuietQueryAreNotInARow has a source without news whose service fails once an hour, far more often in all than max_restarts allows in a row.
func TestRareFailuresOfAQuietQueryAreNotInARow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(0)
		q, src, _ := w.query()
		q.Trigger, q.MaxRestarts = Trigger{Every: time.Minute}, 2
		ctx, stop := context.WithCancel(t.Context())
		for range 10 {
			src.planErr = append(src.planErr, errcode.BatchTimeout.New("", "away"), nil)
		}
		time.AfterFunc(24*time.Hour, stop)
		if err := q.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if len(src.planErr) > 0 {
			t.Errorf("%d plans were never made", len(src.planErr))
		}
	})
}

func TestAClockThatIsSetBackDelaysABatchByOneIntervalAtMost(t *testing.T) {
	began := time.Date(2026, 5, 1, 12, 0, 10, 0, time.UTC)
	for _, back := range []time.Duration{0, time.Hour, 10 * 365 * 24 * time.Hour} {
		ended := began.Add(time.Second - back)
		if wait := (Trigger{Every: 30 * time.Second}).next(began, ended, false).Sub(ended); wait > 30*time.Second {
			t.Errorf("set back by %s it waits %s", back, wait)
		}
	}
}
