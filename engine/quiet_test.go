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

// kept is a sink that counts its upkeep.
type kept struct {
	*ledger
	times []time.Time
}

func (k *kept) Maintain(_ context.Context, now time.Time) error {
	k.times = append(k.times, now)
	return nil
}

// A sink has things to keep up without batches too, such as a marker that a broker forgets after a week.
func TestAQuietQueryGivesItsSinkTimeForUpkeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(10)
		q, _, sink := w.query()
		k := &kept{ledger: sink}
		q.Sink, q.Trigger = k, Trigger{Every: time.Minute}
		ctx, stop := context.WithCancel(t.Context())
		time.AfterFunc(5*time.Hour+30*time.Minute, stop)
		if err := q.Run(ctx); err != nil {
			t.Fatal(err)
		}
		idle := 0
		for i, at := range k.times {
			if i > 0 && at.Sub(k.times[i-1]) >= time.Hour {
				idle++
			}
		}
		if idle != 5 {
			t.Errorf("upkeep without a batch %d times: %v", idle, k.times)
		}
	})
}
