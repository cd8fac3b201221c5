package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"microbatch/checkpointlog"
	"microbatch/guarantee"
	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/internal/sim/gate"
	"microbatch/sinks"
)

// recordedNow are the batches with an entry of commits.
func (w *world) recordedNow(t *testing.T) []ident.BatchID {
	t.Helper()
	ids, err := checkpointlog.NewCheckpoint(w.checkpoint).Commits.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// committed are the batches in the sink, in the order of their commits.
func (w *world) committed(t *testing.T) (out []ident.BatchID) {
	t.Helper()
	all, err := (&ledger{store: w.sink}).entries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if e.Batch != ident.NoBatch {
			out = append(out, e.Batch)
		}
	}
	return out
}

// TestAtMostOnceCrashAtEveryStoreOperation: whatever operation was the last of a process, no batch comes twice, and none is missing but those that it had recorded and
// not committed; the next start says which.
func TestAtMostOnceCrashAtEveryStoreOperation(t *testing.T) {
	lostSome := 0
	for _, applied := range []bool{false, true} {
		for k, crashed := 1, true; crashed; k++ {
			w := newWorld(25)
			var notices []string
			run := func(p *gate.Process) error {
				q, _, sink := w.query()
				q.Delivery, q.MaxRestarts = AtMostOnce, -1
				q.Listener.Notice = func(text string) { notices = append(notices, text) }
				if p != nil {
					q.Checkpoint, sink.store = p.Store("checkpoint", w.checkpoint), p.Store("sink", w.sink)
				}
				return q.Run(t.Context())
			}
			err := run(dying(k, applied))
			if crashed = errors.Is(err, gate.ErrGone); err != nil && !crashed {
				t.Fatalf("operation %d: %v", k, err)
			}
			var lost []ident.BatchID
			there := w.committed(t)
			for _, id := range w.recordedNow(t) {
				if !slices.Contains(there, id) {
					lost = append(lost, id)
				}
			}
			if err := run(nil); err != nil {
				t.Fatalf("crash at operation %d: the next start: %v", k, err)
			}
			want := slices.DeleteFunc([]ident.BatchID{0, 1, 2}, func(id ident.BatchID) bool { return slices.Contains(lost, id) })
			if got := w.committed(t); !slices.Equal(got, want) {
				t.Errorf("crash at operation %d, applied %v: the sink holds the batches %v, want %v", k, applied, got, want)
			}
			if len(lost) > 0 {
				lostSome++
				if text := strings.Join(notices, "\n"); !strings.Contains(text, fmt.Sprintf("at most once: batch %d was recorded and is not in the ledger", lost[len(lost)-1])) {
					t.Errorf("crash at operation %d: %v is lost, and the notices are %q", k, lost, text)
				}
			}
		}
	}
	if lostSome == 0 {
		t.Error("no crash came between record and commit")
	}
}

func TestAtMostOnceOutcomesOfTheCommit(t *testing.T) {
	for _, c := range []struct {
		name   string
		result sinks.Result
		skip   bool // the commit was not applied
		want   []ident.BatchID
	}{
		{"conflict: nothing is visible for sure, so it is prepared again", sinks.Result{Outcome: sinks.Conflict, Why: errors.New("schema changed")}, true, []ident.BatchID{0, 1, 2}},
		{"uncertain and applied: found visible", sinks.Result{Outcome: sinks.Uncertain}, false, []ident.BatchID{0, 1, 2}},
		{"uncertain and not applied: lost", sinks.Result{Outcome: sinks.Uncertain}, true, []ident.BatchID{1, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(30)
			q, _, sink := w.query()
			q.Delivery = AtMostOnce
			sink.results, sink.skip = []sinks.Result{c.result}, []bool{c.skip}
			if err := q.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := w.committed(t); !slices.Equal(got, c.want) {
				t.Errorf("the sink holds %v, want %v", got, c.want)
			}
			if recorded := w.recordedNow(t); len(recorded) != 3 {
				t.Errorf("recorded are %v", recorded)
			}
		})
	}
}

// TestAtMostOnceOfASinkWithoutIDs: user code is given each batch once at most, also if it fails.
func TestAtMostOnceOfASinkWithoutIDs(t *testing.T) {
	w := newWorld(30)
	given := map[ident.BatchID]int{}
	for range 2 {
		q, _, sink := w.query()
		q.Delivery, q.MaxRestarts = AtMostOnce, -1
		q.Sink = failing{exempt{sink, map[ident.BatchID]bool{}}, given}
		if err := q.Run(t.Context()); (err != nil) != (len(given) == 2) {
			t.Fatalf("given %v: %v", given, err)
		}
	}
	if len(given) != 3 || given[0] != 1 || given[1] != 1 || given[2] != 1 {
		t.Errorf("given were %v, want each of three batches once", given)
	}
}

// failing is user code that fails with batch 1, after it has done its part.
type failing struct {
	exempt
	given map[ident.BatchID]int
}

func (f failing) Commit(_ context.Context, p sinks.Pending) (sinks.Result, error) {
	id := p.(*ledgerPending).e.Batch
	f.given[id]++
	if id == 1 {
		return sinks.Result{}, errors.New("the program has failed")
	}
	return sinks.Result{Outcome: sinks.Committed, Version: -1}, nil
}

// TestARecordedBatchIsCommittedInSpiteOfAStop: it would not run again.
func TestARecordedBatchIsCommittedInSpiteOfAStop(t *testing.T) {
	w := newWorld(10)
	q, _, sink := w.query()
	q.Delivery, q.ShutdownTimeout = AtMostOnce, time.Nanosecond
	ctx, cancel := context.WithCancel(t.Context())
	q.Sink = hooked{ledger: sink, commit: func() { cancel(); pause(10 * time.Millisecond) }}
	var progress []Progress
	q.Listener.Progress = func(p Progress) { progress = append(progress, p) }
	if err := q.Run(ctx); err != nil {
		t.Fatal(err)
	}
	w.checkRows(t, 10)
	if len(progress) != 1 || progress[0].Delivery != "at_most_once" {
		t.Errorf("progress %+v", progress)
	}
}

// TestDeliveryChangesOnlyBetweenBatches, and each batch is judged by how it was delivered itself.
func TestDeliveryChangesOnlyBetweenBatches(t *testing.T) {
	for _, from := range []Delivery{ExactlyOnce, AtMostOnce} {
		w := newWorld(10)
		q, _, sink := w.query()
		q.Delivery = from
		sink.fail = []error{errors.New("stop here")}
		if err := q.Run(t.Context()); err == nil {
			t.Fatal("no error")
		}
		q, _, _ = w.query()
		q.Delivery = AtMostOnce - from
		if err := q.Run(t.Context()); !errcode.Has(err, errcode.ChangedWhilePending) || !strings.Contains(err.Error(), "at_most_once") {
			t.Fatalf("a pending batch of %s: %v", from, err)
		}
		q, _, _ = w.query()
		q.Delivery = from
		if err := q.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.total = 20
		q, _, _ = w.query()
		q.Delivery = AtMostOnce - from
		if err := q.Run(t.Context()); err != nil {
			t.Fatalf("after batches of %s: %v", from, err)
		}
		w.checkRows(t, 20)
	}
}

// TestALostBatchIsNoDamage: neither to a start that delivers exactly once from now on, nor to a repair; the same of a batch that was delivered exactly once is.
func TestALostBatchIsNoDamage(t *testing.T) {
	for _, delivery := range []Delivery{ExactlyOnce, AtMostOnce} {
		w := newWorld(30)
		q, _, _ := w.query()
		q.Delivery = delivery
		if err := q.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := w.sink.Delete(t.Context(), "ledger/000002"); err != nil {
			t.Fatal(err)
		}
		q, _, _ = w.query()
		err := q.Repair(t.Context(), Repair{Step: func(string) {}})
		if delivery == ExactlyOnce {
			if !errcode.Has(err, errcode.SinkBehind) {
				t.Errorf("repair: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("repair: %v", err)
		}
		w.total = 40
		q, _, _ = w.query()
		if err := q.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := w.committed(t); !slices.Equal(got, []ident.BatchID{0, 1, 3}) {
			t.Errorf("the sink holds %v", got)
		}
	}
}

// repeating is a sink that shows rows before they are committed.
type repeating struct{ *ledger }

func (repeating) Guarantee() guarantee.Link {
	return guarantee.Link{Name: "repeating", Level: guarantee.AtLeastOnce, Repeats: true}
}

func TestAtMostOnceNeedsASinkThatRepeatsNothingByItself(t *testing.T) {
	w := newWorld(10)
	q, _, sink := w.query()
	q.Delivery, q.Sink = AtMostOnce, repeating{sink}
	if err := q.Run(t.Context()); !errcode.Has(err, errcode.QueryIncomplete) {
		t.Errorf("error %v", err)
	}
}

// TestTheGuaranteeOfAQuery: its parts are asked in the order that a row takes, and the engine is one of them.
func TestTheGuaranteeOfAQuery(t *testing.T) {
	q, _, _ := newWorld(10).query()
	q.Transforms = append(q.Transforms, together{}, together{})
	for delivery, want := range map[Delivery]string{ExactlyOnce: "exactly once", AtMostOnce: "at most once"} {
		q.Delivery = delivery
		r := q.Guarantee(t.Context())
		var parts []string
		for _, l := range r.Links {
			parts = append(parts, l.Part)
		}
		if r.Level.String() != want || strings.Join(parts, ", ") != "source, transform 1, transform 2, batches, sink" {
			t.Errorf("%s: %s by %v", delivery, r.Level, parts)
		}
	}
}
