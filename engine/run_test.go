package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"microbatch/checkpointlog"
	"microbatch/internal/errcode"
	"microbatch/internal/sim/gate"
	"microbatch/objstore"
	"microbatch/sinks"
)

func TestOnceRunsEverythingInBatchesAndStops(t *testing.T) {
	w := newWorld(35)
	q, src, _ := w.query()
	var progress []Progress
	q.Listener.Progress = func(p Progress) { progress = append(progress, p) }
	if err := q.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.checkRows(t, 35)
	if len(progress) != 4 || progress[3].InputRows != 5 || progress[3].Batch != 3 || string(progress[1].Sources[0].Start) != "10" {
		t.Errorf("progress: %+v", progress)
	}
	if src.released != "35" {
		t.Errorf("released up to %s", src.released)
	}
	c := checkpointlog.NewCheckpoint(w.checkpoint)
	logs, err := c.ReadLogs(t.Context())
	if err != nil || len(logs.Offsets) != 4 || len(logs.Commits) != 4 {
		t.Errorf("logs %+v, %v", logs, err)
	}
	if logs.Last.Offsets.Aux(0)["total"] != "35" {
		t.Errorf("facts of the source are not in the entry: %v", logs.Last.Offsets.Conf)
	}
}

func TestOnceStopsAtWhatWasThereAtTheStart(t *testing.T) {
	w := newWorld(30)
	q, src, _ := w.query()
	q.Listener.Progress = func(Progress) { src.total += 1000 } // more arrives with every batch
	if err := q.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.checkRows(t, 30)
}

func TestARestartGoesOnWhereTheLastRunEnded(t *testing.T) {
	w := newWorld(20)
	for total := int64(20); total <= 60; total += 20 {
		w.total = total
		q, _, _ := w.query()
		if err := q.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.checkRows(t, total)
	}
	c := checkpointlog.NewCheckpoint(w.checkpoint)
	if e, err := c.NewestEpoch(t.Context()); err != nil || e != 3 {
		t.Errorf("epoch %d after three starts, %v", e, err)
	}
}

func TestOutcomesOfTheCommit(t *testing.T) {
	for _, c := range []struct {
		name    string
		result  sinks.Result
		skip    bool // the commit was not applied
		wantErr errcode.Code
		aborted int
	}{
		{"conflict: prepared again", sinks.Result{Outcome: sinks.Conflict, Why: errors.New("schema changed")}, true, errcode.Code{}, 1},
		{"uncertain and applied: found visible, recorded", sinks.Result{Outcome: sinks.Uncertain}, false, errcode.Code{}, 0},
		{"uncertain and lost: run again", sinks.Result{Outcome: sinks.Uncertain}, true, errcode.Code{}, 0},
		{"fenced: stop", sinks.Result{Outcome: sinks.Fenced, Why: errors.New("epoch 9")}, true, errcode.DriverFenced, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(30)
			q, _, sink := w.query()
			sink.results, sink.skip = []sinks.Result{c.result}, []bool{c.skip}
			err := q.Run(t.Context())
			if c.wantErr.ID != "" {
				if !errcode.Has(err, c.wantErr) {
					t.Fatalf("error %v, want %s", err, c.wantErr.ID)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			w.checkRows(t, 30)
			if sink.aborted != c.aborted {
				t.Errorf("aborted %d times, want %d", sink.aborted, c.aborted)
			}
			if sink.swept != 1 {
				t.Errorf("swept %d times, want once: the batch had another attempt", sink.swept)
			}
		})
	}
}

func TestRetryableErrorsAreRetriedAndThenGivenUp(t *testing.T) {
	away := errcode.BatchTimeout.New("", "away")
	for _, max := range []int{1, 3} {
		w := newWorld(10)
		q, src, sink := w.query()
		q.MaxRestarts = max
		src.planErr = []error{away}
		sink.fail = []error{away}
		err := q.Run(t.Context())
		if max == 3 {
			if err != nil {
				t.Fatal(err)
			}
			w.checkRows(t, 10)
		} else if !errcode.Has(err, errcode.RestartsSpent) {
			t.Fatalf("error %v, want restarts spent", err)
		}
	}
}

func TestErrorsOfTheDataStopAndTheRestartRunsTheSameRange(t *testing.T) {
	w := newWorld(10)
	q, _, sink := w.query()
	sink.fail = []error{errors.New("user code")}
	if err := q.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "user code") {
		t.Fatalf("error %v", err)
	}
	w.total = 100 // more has come, but the range is fixed
	q, _, _ = w.query()
	var first Progress
	q.Listener.Progress = func(p Progress) {
		if p.Batch == 0 {
			first = p
		}
	}
	if err := q.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !first.Replayed || string(first.Sources[0].End) != "10" {
		t.Errorf("batch 0 ran again as %+v", first)
	}
	w.checkRows(t, 100)
}

func TestAShortReadIsNotCommitted(t *testing.T) {
	w := newWorld(10)
	q, src, _ := w.query()
	src.lose = 2
	if err := q.Run(t.Context()); !errcode.Has(err, errcode.ShortRead) {
		t.Fatalf("error %v", err)
	}
	w.checkRows(t, 0)
}

func TestRejectedRowsAreCommittedOnceBesideTheGoodOnes(t *testing.T) {
	w := newWorld(100)
	w.bad = func(n int64) bool { return n%10 == 3 }
	q, _, sink := w.query()
	rejected := &ledger{store: w.sink, suffix: "-rejected"}
	q.OnError, q.Rejected = RejectRows, rejected
	// The rejected rows of batch 0 are committed, then the main commit is lost: they must not come twice.
	sink.results, sink.skip = []sinks.Result{{Outcome: sinks.Uncertain}}, []bool{true}
	if err := q.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	all, err := rejected.entries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, e := range all {
		for _, p := range e.Texts {
			seen[p]++
		}
	}
	if len(seen) != 10 || len(w.rows(t)) != 90 {
		t.Fatalf("rejected %v, good %d", seen, len(w.rows(t)))
	}
	for p, n := range seen {
		if n != 1 {
			t.Errorf("row %s was rejected %d times", p, n)
		}
	}
}

func TestAVisibleBatchWithoutRejectedRowsIsRecorded(t *testing.T) {
	w := newWorld(20)
	start := func() error {
		q, _, _ := w.query()
		q.OnError, q.Rejected = RejectRows, &ledger{store: w.sink, suffix: "-rejected"}
		return q.Run(t.Context())
	}
	if err := start(); err != nil {
		t.Fatal(err)
	}
	if err := w.checkpoint.Delete(t.Context(), "commits/1"); err != nil {
		t.Fatal(err)
	}
	if err := start(); err != nil {
		t.Fatal(err)
	}
	w.checkRows(t, 20)
}

func TestRejectPolicies(t *testing.T) {
	for _, c := range []struct {
		name string
		set  func(*Query)
		want errcode.Code
	}{
		{"fail names the first row", func(q *Query) { q.OnError = FailQuery }, errcode.RejectedRow},
		{"a ceiling of rows", func(q *Query) { q.MaxRejected.Rows = 1 }, errcode.TooManyRejected},
		{"a ceiling as a share", func(q *Query) { q.MaxRejected.Share = 0.1 }, errcode.TooManyRejected},
		{"below the ceiling", func(q *Query) { q.MaxRejected = Ceiling{Rows: 5, Share: 0.9} }, errcode.Code{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(10)
			w.bad = func(n int64) bool { return n == 4 || n == 7 }
			q, _, _ := w.query()
			c.set(&q)
			err := q.Run(t.Context())
			if c.want.ID == "" && err != nil || c.want.ID != "" && !errcode.Has(err, c.want) {
				t.Fatalf("error %v, want %q", err, c.want.ID)
			}
		})
	}
}

func TestASecondDriverIsRefusedByTheLock(t *testing.T) {
	w := newWorld(30)
	first, _, _ := w.query()
	var refused error
	first.Listener.Progress = func(p Progress) {
		if p.Batch == 1 {
			q, _, _ := w.query()
			refused = q.Run(context.Background())
		}
	}
	if err := first.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !errcode.Has(refused, errcode.CheckpointLocked) {
		t.Errorf("second driver: %v", refused)
	}
	w.checkRows(t, 30)
}

func TestASecondDriverTakesOverAndTheFirstStops(t *testing.T) {
	w := newWorld(30)
	w.checkpoint = unlocked{w.checkpoint}
	first, _, _ := w.query()
	second := func() {
		q, _, _ := w.query()
		if err := q.Run(context.Background()); err != nil {
			t.Errorf("second driver: %v", err)
		}
	}
	ran := false
	first.Listener.Working = func(p Working) {
		if p.Phase == Prepare && p.Batch == 1 && !ran {
			ran = true
			second()
		}
	}
	if err := first.Run(t.Context()); !errcode.Has(err, errcode.DriverFenced) {
		t.Fatalf("first driver: %v", err)
	}
	w.checkRows(t, 30)
}

func TestFreshCheckpointOnAUsedSinkIsRefusedUntilAskedFor(t *testing.T) {
	w := newWorld(10)
	q, _, _ := w.query()
	if err := q.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.checkpoint = newWorld(0).checkpoint
	q, _, _ = w.query()
	if err := q.Run(t.Context()); !errcode.Has(err, errcode.FreshOnUsed) {
		t.Fatalf("error %v", err)
	}
	for info := range w.checkpoint.List(t.Context(), "", "") {
		t.Errorf("the refused start has left %s", info.Key)
	}
	q, _, _ = w.query()
	q.NewQuery = true
	if err := q.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(w.rows(t)); n != 20 {
		t.Errorf("%d rows after a knowing second fill", n)
	}
}

func TestChangedPipeline(t *testing.T) {
	w := newWorld(10)
	q, _, sink := w.query()
	sink.fail = []error{errors.New("stop here")}
	if err := q.Run(t.Context()); err == nil {
		t.Fatal("no error")
	}
	q, _, _ = w.query()
	q.OnError, q.Rejected = RejectRows, &ledger{store: w.sink, suffix: "-rejected"}
	if err := q.Run(t.Context()); !errcode.Has(err, errcode.ChangedWhilePending) {
		t.Fatalf("error %v", err)
	}
	q, _, _ = w.query()
	q.OnError, q.Rejected = RejectRows, &ledger{store: w.sink, suffix: "-rejected"}
	q.AcceptChange = true
	if err := q.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.checkRows(t, 10)
	for _, accept := range []bool{false, true} {
		q, _, _ = w.query()
		q.Sources, q.AcceptChange = append(q.Sources, &numbers{}), accept
		if err := q.Run(t.Context()); !errcode.Has(err, errcode.PipelineChanged) {
			t.Fatalf("another source, accept-change %v: %v", accept, err)
		}
	}
}

func TestDryRunShowsRowsAndWritesNothing(t *testing.T) {
	w := newWorld(50)
	w.bad = func(n int64) bool { return n == 2 }
	q, _, _ := w.query()
	var shown int64
	p, err := q.DryRun(t.Context(), 5, func(r recordBatch) { shown += r.NumRows() })
	if err != nil || p.Rows != 4 || shown != 4 || len(p.Rejected) != 1 {
		t.Fatalf("%+v, %v, shown %d", p, err, shown)
	}
	for _, s := range []objstore.Store{w.checkpoint, w.sink} {
		for info := range s.List(t.Context(), "", "") {
			t.Errorf("the dry run has left %s", info.Key)
		}
	}
}

func TestPurgeKeepsTheRetainedBatchesAndTheQueryGoesOn(t *testing.T) {
	w := newWorld(3500)
	for range 2 {
		q, _, _ := w.query()
		if err := q.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.checkRows(t, w.total)
		w.total += 50
	}
	c := checkpointlog.NewCheckpoint(w.checkpoint)
	logs, err := c.ReadLogs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(logs.Offsets); n < 100 || n > 210 || logs.LowWatermark != logs.Offsets[0]-1 {
		t.Errorf("%d entries from %d, low watermark %d", n, logs.Offsets[0], logs.LowWatermark)
	}
}

// TestCrashAtEveryStoreOperation kills the driver at its k-th store operation, before or after it takes effect, for every k, and again
// during the recovery from that, and requires that a last run ends with every row once.
func TestCrashAtEveryStoreOperation(t *testing.T) {
	for _, applied := range []bool{false, true} {
		for _, second := range []int{0, 3, 9, 15, 21} {
			name := fmt.Sprintf("applied=%v/again after %d", applied, second)
			t.Run(name, func(t *testing.T) {
				k := 1
				for ; ; k++ {
					w := newWorld(25)
					crashed := w.runUntil(t, k, applied)
					if !crashed {
						break
					}
					if second > 0 {
						w.runUntil(t, second, applied)
					}
					q, _, _ := w.query()
					if err := q.Run(t.Context()); err != nil {
						t.Fatalf("crash at operation %d: the next start: %v", k, err)
					}
					w.checkRows(t, 25)
				}
				if k < 20 {
					t.Errorf("only %d operations", k)
				}
			})
		}
	}
}

// runUntil runs the query on stores that stop answering at the k-th write or read, as for a process that is gone; false if it ended before.
func (w *world) runUntil(t *testing.T, k int, applied bool) bool {
	t.Helper()
	p := dying(k, applied)
	q, _, sink := w.query()
	q.MaxRestarts = -1
	q.Checkpoint, sink.store = p.Store("checkpoint", w.checkpoint), p.Store("sink", w.sink)
	err := q.Run(t.Context())
	if err != nil && !errors.Is(err, gate.ErrGone) {
		t.Fatalf("operation %d: %v", k, err)
	}
	return errors.Is(err, gate.ErrGone)
}
