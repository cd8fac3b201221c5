package engine

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"microbatch/batch"
	"microbatch/checkpointlog"
	"microbatch/guarantee"
	"microbatch/internal/errcode"
	"microbatch/sinks"
)

// hooked is a ledger that calls the test before it prepares and before it commits.
type hooked struct {
	*ledger
	prepare func(context.Context) error
	staged  func()
	commit  func()
	visible func()
}

func (h hooked) Prepare(ctx context.Context, b *batch.Batch) (sinks.Pending, error) {
	if h.prepare != nil {
		if err := h.prepare(ctx); err != nil {
			return nil, err
		}
	}
	p, err := h.ledger.Prepare(ctx, b)
	if h.staged != nil {
		h.staged()
	}
	return p, err
}

func (h hooked) Commit(ctx context.Context, p sinks.Pending) (sinks.Result, error) {
	if h.commit != nil {
		h.commit()
	}
	return h.ledger.Commit(ctx, p)
}

func (h hooked) Visible(ctx context.Context, q sinks.QueryInfo) (sinks.Visible, error) {
	if h.visible != nil {
		h.visible()
	}
	return h.ledger.Visible(ctx, q)
}

// pause waits on the bubble's clock, whatever happens to the context.
func pause(d time.Duration) { <-time.After(d) }

// begins runs six batches of which each takes what takes says, and returns when they began, after the first moment of the minute.
func begins(t *testing.T, trigger Trigger, takes []time.Duration) (at []time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		pause(3 * time.Second) // not at a multiple of anything
		minute := time.Now().Truncate(time.Minute)
		w := newWorld(10 * int64(len(takes)))
		q, _, sink := w.query()
		ctx, stop := context.WithCancel(t.Context())
		q.Trigger = trigger
		n := 0
		q.Sink = hooked{ledger: sink, prepare: func(context.Context) error { pause(takes[n]); n++; return nil }}
		q.Listener.Progress = func(p Progress) {
			fired, err := time.Parse("2006-01-02T15:04:05.000Z", p.Timestamp)
			if err != nil {
				t.Error(err)
			}
			if at = append(at, fired.Sub(minute)); len(at) == len(takes) {
				stop()
			}
		}
		if err := q.Run(ctx); err != nil {
			t.Fatal(err)
		}
		w.checkRows(t, 10*int64(len(takes)))
	})
	return at
}

func TestTriggers(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		name    string
		trigger Trigger
		takes   []time.Duration
		want    []time.Duration
	}{
		{"every: aligned; a batch that overruns is followed at once, and missed times are not made up", Trigger{Every: 10 * s},
			[]time.Duration{0, 25 * s, 0, 0, 0}, []time.Duration{3 * s, 10 * s, 35 * s, 40 * s, 50 * s}},
		{"0s: back to back", Trigger{}, []time.Duration{s, 2 * s, 0, s}, []time.Duration{3 * s, 4 * s, 6 * s, 6 * s}},
		{"min_pause without every", Trigger{MinPause: 4 * s}, []time.Duration{0, s, 0}, []time.Duration{3 * s, 7 * s, 12 * s}},
		{"min_pause longer than what is left of every", Trigger{Every: 10 * s, MinPause: 5 * s},
			[]time.Duration{0, 8 * s, 0, 0}, []time.Duration{3 * s, 10 * s, 23 * s, 30 * s}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := begins(t, c.trigger, c.takes); !slices.Equal(got, c.want) {
				t.Errorf("batches began at %v, want %v", got, c.want)
			}
		})
	}
}

func TestAQueryWithoutDataGivesASignOfLifeAndGoesOnWhenDataComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(10)
		q, src, _ := w.query()
		q.Trigger = Trigger{}
		ctx, stop := context.WithCancel(t.Context())
		idle := 0
		q.Listener.Idle = func(Idle) { // the driver's own goroutine
			if idle++; idle == 2 {
				src.total += 5
			}
		}
		q.Listener.Progress = func(p Progress) {
			if p.Batch == 1 {
				stop()
			}
		}
		began := time.Now()
		if err := q.Run(ctx); err != nil {
			t.Fatal(err)
		}
		w.checkRows(t, 15)
		if took := time.Since(began); idle != 2 || took < 2*idleReport || took > 2*idleReport+time.Second {
			t.Errorf("%d signs of life in %s", idle, took)
		}
	})
}

func TestABatchBeyondItsTimeoutIsAbortedAndTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(10)
		q, _, sink := w.query()
		q.BatchTimeout = time.Minute
		var notices []string
		q.Listener.Notice = func(text string) { notices = append(notices, text) }
		var progress Progress
		q.Listener.Progress = func(p Progress) { progress = p }
		calls := 0
		q.Sink = hooked{ledger: sink, prepare: func(ctx context.Context) error {
			if calls++; calls == 1 {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}}
		if err := q.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.checkRows(t, 10)
		if progress.Attempts != 2 || len(notices) != 1 || !mentions(notices[0], errcode.BatchTimeout) {
			t.Errorf("%d attempts; notices %q", progress.Attempts, notices)
		}
	})
}

// limited is a sink whose service gives a batch up after a while.
type limited struct {
	hooked
	limit time.Duration
}

func (l limited) Guarantee() guarantee.Link {
	link := l.hooked.Guarantee()
	link.BatchLimit = l.limit
	return link
}

func TestABatchThatComesNearTheLimitOfAServiceIsToldOf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(50)
		q, _, sink := w.query()
		q.Limit.Rows = 10
		var notices []string
		q.Listener.Notice = func(text string) { notices = append(notices, text) }
		takes := []time.Duration{29 * time.Second, 31 * time.Second, 31 * time.Second, 40 * time.Second, time.Second}
		calls := 0
		q.Sink = limited{limit: time.Minute, hooked: hooked{ledger: sink, prepare: func(context.Context) error {
			time.Sleep(takes[calls])
			calls++
			return nil
		}}}
		if err := q.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.checkRows(t, 50)
		if len(notices) != 2 || !strings.Contains(notices[0], "batch 1 took 31s") || !strings.Contains(notices[1], "batch 3 took 40s") || !strings.Contains(notices[1], "after 1m0s") {
			t.Errorf("notices %q", notices)
		}
	})
}

func TestAnAttemptOlderThan24HoursIsAbandonedBeforeItsCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(10)
		q, _, sink := w.query()
		var progress Progress
		q.Listener.Progress = func(p Progress) { progress = p }
		calls := 0
		q.Sink = hooked{ledger: sink, prepare: func(context.Context) error {
			if calls++; calls == 1 {
				pause(25 * time.Hour)
			}
			return nil
		}}
		if err := q.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.checkRows(t, 10)
		if progress.Attempts != 2 || sink.aborted != 1 || sink.swept != 1 {
			t.Errorf("%d attempts, %d aborted, %d sweeps", progress.Attempts, sink.aborted, sink.swept)
		}

		q, _, sink = w.query()
		q.MaxRestarts, q.NewQuery, q.Checkpoint = -1, true, newWorld(0).checkpoint
		q.Sink = hooked{ledger: sink, prepare: func(context.Context) error { pause(25 * time.Hour); return nil }}
		if err := q.Run(t.Context()); !errcode.Has(err, errcode.AttemptTooOld) {
			t.Errorf("error %v", err)
		}
	})
}

// TestStop ends the context while a batch is prepared or committed.
func TestStop(t *testing.T) {
	for _, c := range []struct {
		name                    string
		prepare, staged, commit time.Duration // the stop comes where it is not 0, and so long it takes from there
		took                    time.Duration // from the stop
		done                    bool
		aborted                 int
	}{
		{name: "the batch is finished within the timeout", prepare: 20 * time.Second, took: 20 * time.Second, done: true},
		{name: "the batch is abandoned at the timeout", prepare: time.Hour, took: 25 * time.Second},
		{name: "staged, but too late: aborted before its commit", staged: 26 * time.Second, took: 26 * time.Second, aborted: 1},
		{name: "a commit that has begun is finished and recorded", commit: time.Minute, took: time.Minute, done: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(10)
				q, _, sink := w.query()
				q.Trigger = Trigger{}
				ctx, cancel := context.WithCancel(t.Context())
				var stopped time.Time
				stop := func() { cancel(); stopped = time.Now() }
				h := hooked{ledger: sink}
				if c.prepare > 0 {
					h.prepare = func(ctx context.Context) error {
						stop()
						sleep(ctx, c.prepare)
						return ctx.Err()
					}
				}
				if c.staged > 0 {
					h.staged = func() { stop(); pause(c.staged) }
				}
				if c.commit > 0 {
					h.commit = func() { stop(); pause(c.commit) }
				}
				q.Sink = h
				if err := q.Run(ctx); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(stopped); took != c.took {
					t.Errorf("it took %s, want %s", took, c.took)
				}
				logs, err := checkpointlog.NewCheckpoint(w.checkpoint).ReadLogs(t.Context())
				if err != nil || len(logs.Offsets) != 1 || (len(logs.Commits) == 1) != c.done {
					t.Errorf("offsets %v, commits %v, %v", logs.Offsets, logs.Commits, err)
				}
				if sink.aborted != c.aborted {
					t.Errorf("aborted %d times, want %d", sink.aborted, c.aborted)
				}
				if !c.done {
					w.checkRows(t, 0)
				}
				w.total = 30 // the range of the batch stays what it was
				q, _, _ = w.query()
				if err := q.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
				w.checkRows(t, 30)
			})
		})
	}
}
