//go:build failpoints

package crashtest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"microbatch/checkpointlog"
	"microbatch/engine"
	"microbatch/internal/sim/gate"
	"microbatch/internal/sim/world"
	"microbatch/sinks/lakehouse"
)

// jumps of a wall clock, each while the query runs.
var jumps = map[string]time.Duration{
	"an hour forward": time.Hour, "an hour back": -time.Hour, "ten years forward": 10 * 365 * 24 * time.Hour, "ten years back": -10 * 365 * 24 * time.Hour,
	"a leap second: a second comes twice": -time.Second,
}

// TestClockThatJumps: the wall clock jumps in the middle of each batch, then once more while no process runs, on a table with upkeep that is due by time. Nothing is
// lost or doubled, no time that is written down goes back, and the query, which has a batch every minute, is not delayed beyond one more interval.
func TestClockThatJumps(t *testing.T) {
	for name, by := range jumps {
		for _, k := range sinkKinds[:4] {
			t.Run(name+"/"+k.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { runWithJumps(t, k, by, time.UTC) })
			})
		}
	}
}

// TestSummerTime: a host in Berlin sets its clock by an hour, in spring and in autumn. What is written down is in UTC and does not notice.
func TestSummerTime(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	for name, at := range map[string]time.Time{
		"spring": time.Date(2026, 3, 29, 0, 58, 30, 0, time.UTC), "autumn": time.Date(2026, 10, 25, 0, 58, 30, 0, time.UTC),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { runWithJumps(t, sinkKinds[0], time.Until(at), berlin) })
		})
	}
}

// runWithJumps runs a query for five batches, one a minute; the clock jumps during the first, and in Berlin is changed during the third.
func runWithJumps(t *testing.T, k sinkKind, by time.Duration, zone *time.Location) {
	l := newLife(t, &scenario{name: "clock", sink: lakehouse.Config{
		Maintenance:        lakehouse.Maintenance{OptimizeEvery: time.Minute, VacuumRetain: 48 * time.Hour},
		Properties:         map[string]string{"delta.checkpointInterval": "2"},
		AllowReplacedFiles: true,
	}}, k)
	var offset time.Duration
	l.now = func() time.Time { return time.Now().Add(offset).In(zone) }
	for range 3 { // processes
		p := gate.NewProcess("p", gate.JudgeFunc(func(op gate.Op) gate.Verdict {
			if op.Place == "topic" && op.Kind == "read" && offset == 0 {
				offset = by
			}
			return gate.Verdict{}
		}))
		q := l.query(p)
		q.Trigger = engine.Trigger{Every: time.Minute}
		ctx, cancel := context.WithCancel(t.Context())
		var ends []time.Time // by the bubble's clock, which runs on
		q.Listener.Progress = func(engine.Progress) {
			if ends = append(ends, time.Now()); len(ends) == 5 {
				cancel()
			}
			l.produce(batchRows)
		}
		l.produce(batchRows)
		if err := q.Run(ctx); err != nil {
			t.Fatal(err)
		}
		p.Kill()
		for i := 1; i < len(ends); i++ {
			if d := ends[i].Sub(ends[i-1]); d > 2*time.Minute {
				t.Errorf("batch %d came %s after the one before", i, d)
			}
		}
		offset = 0 // while no process runs it jumps back
	}
	l.mustFinish(t)
	if err := l.exact(false); err != nil {
		t.Error(err)
	}
	timesRise(t, l)
}

// timesRise fails if a batch's time is before that of an earlier one.
func timesRise(t *testing.T, l *life) {
	t.Helper()
	c := checkpointlog.NewCheckpoint(l.Store(world.Checkpoint))
	ids, err := c.Offsets.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var last time.Time
	for _, id := range ids {
		e, err := c.ReadEntry(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if e.Offsets.Timestamp.Before(last) {
			t.Errorf("batch %d is of %s, the one before of %s", id, e.Offsets.Timestamp, last)
		}
		last = e.Offsets.Timestamp
	}
}
