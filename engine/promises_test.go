package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"microbatch/batch"
	"microbatch/checkpointlog"
	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/objstore/localfs"
	"microbatch/objstore/localfs/crashfs"
	"microbatch/sinks"
	"microbatch/sources"
	"microbatch/transforms"
)

// TestAPendingBatchRunsAgainWithItsRangeWhateverCouldBeReadNow: the limit was taken away and more has come, but what is fixed is fixed.
func TestAPendingBatchRunsAgainWithItsRangeWhateverCouldBeReadNow(t *testing.T) {
	w := newWorld(10)
	q, _, sink := w.query()
	sink.fail = []error{errors.New("the process ends")}
	if err := q.Run(t.Context()); err == nil {
		t.Fatal("no error")
	}
	w.total = 100
	q, _, _ = w.query()
	q.Limit = sources.Limit{}
	if err := q.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.checkRows(t, 100)
}

// clocked is an operator that notes the time it is given.
type clocked struct {
	together
	at *[]time.Time
}

func (c clocked) Open(_ context.Context, env transforms.Env) (transforms.Instance, error) {
	*c.at = append(*c.at, env.Timestamp)
	return c, nil
}

// TestOperatorsGetTheTimeOfTheEntryAlsoWhenTheBatchRunsAgain: the clock has moved on in between.
func TestOperatorsGetTheTimeOfTheEntryAlsoWhenTheBatchRunsAgain(t *testing.T) {
	w := newWorld(10)
	planned := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var given []time.Time
	for i := range 2 {
		q, _, sink := w.query()
		q.Transforms = []transforms.Operator{clocked{at: &given}}
		q.Now = func() time.Time { return planned.Add(time.Duration(i) * time.Hour) }
		if i == 0 {
			sink.fail = []error{errors.New("the process ends")}
		}
		if err := q.Run(t.Context()); (err != nil) != (i == 0) {
			t.Fatalf("run %d: %v", i, err)
		}
	}
	if d := cmp.Diff([]time.Time{planned, planned}, given); d != "" {
		t.Errorf("times that the operator was given (-want +got):\n%s", d)
	}
}

// counted is a sink that cannot refuse anybody, such as user code, and counts how often it was given each batch.
type counted struct {
	exempt
	commits map[ident.BatchID]int
}

func (c counted) Commit(_ context.Context, p sinks.Pending) (sinks.Result, error) {
	c.commits[p.(*ledgerPending).e.Batch]++
	return sinks.Result{Outcome: sinks.Committed, Version: -1}, nil
}

// pausing is a source that runs something before it plans its n-th range.
type pausing struct {
	*numbers
	n     int
	pause func()
}

func (s *pausing) Plan(ctx context.Context, from ident.Offset, limit sources.Limit) (sources.Planned, error) {
	if s.n--; s.n == 0 {
		s.pause()
	}
	return s.numbers.Plan(ctx, from, limit)
}

// TestANewerEpochStopsADriverBeforeItsCommitEvenWhereTheSinkCannotRefuseIt: another driver has claimed the newest epoch before this one puts offsets/1; the look
// for a newer epoch after the put is awaited before the commit (P3).
func TestANewerEpochStopsADriverBeforeItsCommitEvenWhereTheSinkCannotRefuseIt(t *testing.T) {
	w := newWorld(30)
	w.checkpoint = unlocked{w.checkpoint}
	commits := map[ident.BatchID]int{}
	q, src, sink := w.query()
	claim := func() {
		if _, err := checkpointlog.NewCheckpoint(w.checkpoint).Claim(t.Context(), 0, ident.NewRunID(), checkpointlog.Epoch{}); err != nil {
			t.Error(err)
		}
	}
	q.Sources, q.Sink = []sources.Source{&pausing{src, 2, claim}}, counted{exempt{ledger: sink}, commits}
	q.Trigger = Trigger{Once: true, MinPause: time.Nanosecond} // no plan ahead
	if err := q.Run(t.Context()); !errcode.Has(err, errcode.DriverFenced) {
		t.Errorf("error %v", err)
	}
	if _, err := w.checkpoint.Get(t.Context(), "offsets/1"); err != nil {
		t.Errorf("its own put: %v", err)
	}
	if d := cmp.Diff(map[ident.BatchID]int{0: 1}, commits); d != "" {
		t.Errorf("how often each batch was committed (-want +got):\n%s", d)
	}
}

// TestADriverThatSleptThroughAPurgeCommitsNothing: it wakes up in front of a slot of offsets that its successor has filled, recorded and purged. Its put succeeds;
// the epoch stops it. What it has put is below the low watermark and does not disturb the next start.
func TestADriverThatSleptThroughAPurgeCommitsNothing(t *testing.T) {
	w := newWorld(3500)
	w.checkpoint = unlocked{w.checkpoint}
	commits := map[ident.BatchID]int{}
	query := func(n int, pause func()) Query {
		q, src, sink := w.query()
		q.Sources, q.Sink = []sources.Source{&pausing{src, n, pause}}, counted{exempt{ledger: sink}, commits}
		q.Trigger = Trigger{Once: true, MinPause: time.Nanosecond} // no plan ahead
		return q
	}
	successor := func() {
		if err := query(0, nil).Run(context.Background()); err != nil {
			t.Errorf("successor: %v", err)
		}
		if _, err := w.checkpoint.Get(t.Context(), "offsets/3"); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("offsets/3 is not purged: %v", err)
		}
	}
	if err := query(4, successor).Run(t.Context()); !errcode.Has(err, errcode.DriverFenced) {
		t.Errorf("the driver that slept: %v", err)
	}
	if _, err := w.checkpoint.Get(t.Context(), "offsets/3"); err != nil {
		t.Errorf("its put into the purged slot: %v", err)
	}
	if err := query(0, nil).Run(t.Context()); err != nil {
		t.Errorf("the next start: %v", err)
	}
	for id := range ident.BatchID(350) {
		if n := commits[id]; n != 1 {
			t.Errorf("batch %d was committed %d times", id, n)
		}
	}
}

// TestABatchStartsFromTheDurableEntryAndNotFromMemory: somebody has put another entry in place of the one that the batch was planned from (P4).
func TestABatchStartsFromTheDurableEntryAndNotFromMemory(t *testing.T) {
	w := newWorld(30)
	q, src, _ := w.query()
	replace := func() {
		c := checkpointlog.NewCheckpoint(w.checkpoint)
		e, err := c.ReadEntry(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		e.Offsets.Ends[0] = "7"
		data, err := e.Offsets.Encode()
		if err == nil {
			err = w.checkpoint.Put(t.Context(), c.Offsets.Key(0), data)
		}
		if err != nil {
			t.Error(err)
		}
	}
	q.Sources, q.Trigger = []sources.Source{&pausing{src, 2, replace}}, Trigger{Once: true, MinPause: time.Nanosecond} // no plan ahead
	if err := q.Run(t.Context()); !errcode.Has(err, errcode.ForeignDigest) {
		t.Errorf("error %v", err)
	}
	w.checkRows(t, 10)
}

// lastCommit is a sink that calls a function after each commit.
type lastCommit struct {
	*ledger
	after func()
}

func (s lastCommit) Commit(ctx context.Context, p sinks.Pending) (sinks.Result, error) {
	r, err := s.ledger.Commit(ctx, p)
	s.after()
	return r, err
}

// TestWhatAStartBuildsOnSurvivesAPowerLoss: a process is killed at any operation on the disk of the checkpoint, perhaps between a link and the fsync of its folder.
// The next one commits a batch to a sink that is elsewhere; then the power fails. What it has found and built on must still be there.
func TestWhatAStartBuildsOnSurvivesAPowerLoss(t *testing.T) {
	run := func(w *world, disk *crashfs.FS, after func()) error {
		q, _, sink := w.query()
		q.Checkpoint, q.MaxRestarts = localfs.NewOn(disk, localfs.Options{}), -1
		if after != nil {
			q.Sink = lastCommit{sink, after}
		}
		return q.Run(t.Context())
	}
	for k := 1; ; k++ {
		w, disk := newWorld(25), crashfs.New()
		disk.CrashAt(k)
		if run(w, disk, nil) == nil {
			break
		}
		killed := disk.Kill()
		var left *crashfs.FS
		err := run(w, killed, func() {
			if left == nil {
				left = killed.Crash(rand.New(rand.NewPCG(1, 1)), 0)
			}
		})
		if left == nil {
			if err != nil {
				t.Fatalf("killed at operation %d, the next start: %v", k, err)
			}
			left = killed
		}
		if err := run(w, left, nil); err != nil {
			t.Fatalf("killed at operation %d, then the power failed behind the next commit: %v", k, err)
		}
		w.checkRows(t, 25)
	}
}

// careful is a source that must not be told to forget what is not recorded.
type careful struct {
	*numbers
	release func(upTo ident.Offset)
}

func (s careful) Release(_ context.Context, upTo ident.Offset) error {
	s.release(upTo)
	return nil
}

func TestSourcesForgetOnlyWhatIsRecorded(t *testing.T) {
	w := newWorld(25)
	q, src, _ := w.query()
	var released []ident.Offset
	q.Sources = []sources.Source{careful{src, func(upTo ident.Offset) {
		key := fmt.Sprintf("commits/%d", len(released))
		if _, err := w.checkpoint.Get(t.Context(), key); err != nil {
			t.Errorf("released up to %s before %s: %v", upTo, key, err)
		}
		released = append(released, upTo)
	}}}
	if err := q.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(released, []ident.Offset{"10", "20", "25"}) {
		t.Errorf("released %v", released)
	}
}

func TestABatchThatWasNotCommittedIsNotReported(t *testing.T) {
	w := newWorld(25)
	q, _, sink := w.query()
	sink.results, sink.skip = []sinks.Result{{Outcome: sinks.Fenced, Why: errors.New("epoch 9")}}, []bool{true}
	q.Listener.Progress = func(p Progress) { t.Errorf("batch %d is reported", p.Batch) }
	if err := q.Run(t.Context()); !errcode.Has(err, errcode.DriverFenced) {
		t.Fatalf("error %v", err)
	}
}

// TestTheTimeOfABatchNeverGoesBack: the clock was set back between two batches.
func TestTheTimeOfABatchNeverGoesBack(t *testing.T) {
	w := newWorld(30)
	q, src, _ := w.query()
	clock := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	q.Now, q.Trigger = func() time.Time { return clock }, Trigger{Once: true, MinPause: time.Nanosecond} // no plan ahead
	q.Sources = []sources.Source{&pausing{src, 2, func() { clock = clock.Add(-time.Hour) }}}
	if err := q.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	var before time.Time
	for id := range ident.BatchID(3) {
		e, err := checkpointlog.NewCheckpoint(w.checkpoint).ReadEntry(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if e.Offsets.Timestamp.Before(before) {
			t.Errorf("batch %d is of %s, the one before it of %s", id, e.Offsets.Timestamp, before)
		}
		before = e.Offsets.Timestamp
	}
}

// TestADriverThatMeetsWhatANewerOneHasDoneStopsAndClaimsNothing: else the two would take the query from each other for ever.
func TestADriverThatMeetsWhatANewerOneHasDoneStopsAndClaimsNothing(t *testing.T) {
	for _, met := range []string{"offsets/1", "commits/1"} {
		t.Run(met, func(t *testing.T) {
			w := newWorld(30)
			w.checkpoint = unlocked{w.checkpoint}
			newer := func() {
				q, _, _ := w.query()
				if err := q.Run(t.Context()); err != nil {
					t.Errorf("newer driver: %v", err)
				}
			}
			q, src, sink := w.query()
			q.Trigger = Trigger{Once: true, MinPause: time.Nanosecond} // no plan ahead
			if met == "offsets/1" {
				q.Sources = []sources.Source{&pausing{src, 2, newer}}
			} else {
				commits := 0
				q.Sink = lastCommit{sink, func() {
					if commits++; commits == 2 {
						newer()
					}
				}}
			}
			if err := q.Run(t.Context()); !errcode.Has(err, errcode.DriverFenced) {
				t.Errorf("error %v", err)
			}
			if e, err := checkpointlog.NewCheckpoint(w.checkpoint).NewestEpoch(t.Context()); err != nil || e != 2 {
				t.Errorf("the newest epoch is %d, %v", e, err)
			}
			w.checkRows(t, 30)
		})
	}
}

// TestAnAcceptedChangeFencesThePastBeforeItJudges: a driver of the former pipeline is about to commit the pending batch, which now runs again with the new one.
func TestAnAcceptedChangeFencesThePastBeforeItJudges(t *testing.T) {
	w := newWorld(10)
	q, _, sink := w.query()
	sink.fail = []error{errors.New("it fell asleep")}
	if err := q.Run(t.Context()); err == nil {
		t.Fatal("no error")
	}
	c := checkpointlog.NewCheckpoint(w.checkpoint)
	id, err := c.QueryID(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	entry, err := c.ReadEntry(t.Context(), 0)
	if err != nil {
		t.Fatal(err)
	}
	q, _, _ = w.query()
	q.OnError, q.Rejected, q.AcceptChange = RejectRows, &ledger{store: w.sink, suffix: "-rejected"}, true
	woke := false
	q.Listener.Working = func(p Working) {
		if p.Phase == Prepare && !woke {
			woke = true
			r, err := (&ledger{store: w.sink}).put(t.Context(), ledgerEntry{Query: id, Name: q.Name, Batch: 0, Digest: entry.Digest().Stored(0), Epoch: 1, Rows: []int64{999}})
			if err != nil || r.Outcome != sinks.Fenced {
				t.Errorf("the sleeper's commit: %s, %v", r.Outcome, err)
			}
		}
	}
	if err := q.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !woke {
		t.Error("the batch did not run again")
	}
	w.checkRows(t, 10)
}

// losing is a sink that leaves out the last row of each batch.
type losing struct{ *ledger }

func (s losing) Prepare(ctx context.Context, b *batch.Batch) (sinks.Pending, error) {
	p, err := s.ledger.Prepare(ctx, b)
	if err == nil {
		e := &p.(*ledgerPending).e
		e.Rows = e.Rows[:len(e.Rows)-1]
	}
	return p, err
}

func TestABatchOfWhichTheSinkHasStagedFewerRowsIsNotCommitted(t *testing.T) {
	w := newWorld(10)
	q, _, sink := w.query()
	q.Sink = losing{sink}
	if err := q.Run(t.Context()); !errcode.Has(err, errcode.CountMismatch) {
		t.Errorf("error %v", err)
	}
	w.checkRows(t, 0)
}

// telling is a sink that says of a number of rows of each batch that they were inserted.
type telling struct {
	*ledger
	inserted int64
}

type told struct {
	*ledgerPending
	sinks.Changes
}

func (p told) Staged() sinks.Staged {
	st := p.ledgerPending.Staged()
	st.Changes = &p.Changes
	return st
}

func (s telling) Prepare(ctx context.Context, b *batch.Batch) (sinks.Pending, error) {
	p, err := s.ledger.Prepare(ctx, b)
	if err != nil {
		return nil, err
	}
	return told{p.(*ledgerPending), sinks.Changes{Inserted: s.inserted}}, nil
}

func (s telling) Commit(ctx context.Context, p sinks.Pending) (sinks.Result, error) {
	return s.ledger.Commit(ctx, p.(told).ledgerPending)
}

func (s telling) Abort(ctx context.Context, p sinks.Pending) error {
	return s.ledger.Abort(ctx, p.(told).ledgerPending)
}

// TestWhatASinkTellsOfItsRowsAddsUp: it is reported of the batch that was committed, and a batch of which it does not add up is not committed.
func TestWhatASinkTellsOfItsRowsAddsUp(t *testing.T) {
	w := newWorld(10)
	q, _, sink := w.query()
	q.Limit.Rows = 10
	q.Sink = telling{sink, 10}
	var changes []sinks.Changes
	q.Listener.Progress = func(p Progress) {
		if p.Sink.Changes != nil {
			changes = append(changes, *p.Sink.Changes)
		}
	}
	if err := q.Run(t.Context()); err != nil || len(changes) != 1 || changes[0].Inserted != 10 {
		t.Errorf("%v, %+v", err, changes)
	}
	w = newWorld(10)
	q, _, sink = w.query()
	q.Sink = telling{sink, 9}
	if err := q.Run(t.Context()); !errcode.Has(err, errcode.CountMismatch) {
		t.Errorf("error %v", err)
	}
	w.checkRows(t, 0)
}

// replaced is a source that notices, when it opens the empty range at the end of the last batch, that it was made anew.
type replaced struct{ *numbers }

func (s replaced) Splits(ctx context.Context, from, to ident.Offset, aux map[string]string, want int) ([]sources.Split, error) {
	if from == to && aux["total"] != "" {
		return nil, errcode.KafkaTopicRecreated.New("numbers", "it is another one since %s", to)
	}
	return s.numbers.Splits(ctx, from, to, aux, want)
}

// TestAStartAsksTheSourceWhetherItIsStillTheOneThatWasRead: with the facts that were noted at the end of the last batch, before anything new is planned.
func TestAStartAsksTheSourceWhetherItIsStillTheOneThatWasRead(t *testing.T) {
	w := newWorld(10)
	for i := range 2 {
		q, src, _ := w.query()
		q.Sources = []sources.Source{replaced{src}}
		if err := q.Run(t.Context()); (err != nil) != (i == 1) || err != nil && !errcode.Has(err, errcode.KafkaTopicRecreated) {
			t.Errorf("run %d: %v", i, err)
		}
		w.total = 20
	}
	w.checkRows(t, 10)
}
