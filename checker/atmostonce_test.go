package checker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"microbatch/engine"
	"microbatch/objstore/mem"
	"microbatch/sinks"
)

// dying is a sink whose process dies when it is about to commit one of its batches, counted from 0 at the start.
type dying struct {
	sinks.Sink
	at, commits int
}

var errDies = errors.New("it dies")

func (d *dying) Commit(ctx context.Context, p sinks.Pending) (sinks.Result, error) {
	if d.commits++; d.commits > d.at {
		return sinks.Result{}, errDies
	}
	return d.Sink.Commit(ctx, p)
}

// lossy is a query that delivers at most once: batches of five numbers, of which 2, 5 and 6 were recorded and never committed. It ends with batch 8, or with 6.
func lossy(t *testing.T, format Format, goesOn bool) *world {
	t.Helper()
	w := newWorld(t, format)
	for _, commits := range []int{2, 2, 0} {
		q := w.query(45, 5)
		q.Delivery = engine.AtMostOnce
		q.Sink = &dying{Sink: q.Sink, at: commits}
		if err := q.Run(t.Context()); !errors.Is(err, errDies) {
			t.Fatal(err)
		}
	}
	if goesOn {
		q := w.query(45, 5)
		q.Delivery = engine.AtMostOnce
		if err := q.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func lostOf(r *Report) (lost []int64) {
	for _, b := range r.Batches {
		if b.Lost {
			lost = append(lost, b.ID)
		}
	}
	return lost
}

// TestLostBatchesOfAtMostOnce are no violation, and are named: beside the checkpoint, without it, and when its entries are purged.
func TestLostBatchesOfAtMostOnce(t *testing.T) {
	for _, format := range []Format{Parquet, Delta} {
		for _, goesOn := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, goes on %v", format, goesOn), func(t *testing.T) {
				w := lossy(t, format, goesOn)
				in := w.input()
				in.Orphan = func(OrphanFile) bool { return true } // of those that died
				r := w.check(in)
				if err := r.Err(); err != nil || !slices.Equal(lostOf(r), []int64{2, 5, 6}) {
					t.Errorf("lost %v, %v", lostOf(r), err)
				}
				want := []int64{2, 5, 6}
				if !goesOn {
					want = []int64{2} // what was never recorded there may still come
				}
				r = w.check(Input{Table: w.table})
				if err := r.Err(); err != nil || !slices.Equal(lostOf(r), want) {
					t.Errorf("the table alone: lost %v, want %v, %v", lostOf(r), want, err)
				}
			})
		}
	}
	w := lossy(t, Parquet, true)
	if err := w.checkpoint.PutIfAbsent(t.Context(), "_engine/low-watermark/6", []byte("v1\n{\"id\":6}\n00000000")); err != nil {
		t.Fatal(err)
	}
	for id := range 7 {
		remove(t, w.checkpoint, fmt.Sprintf("commits/%d", id))
		remove(t, w.checkpoint, fmt.Sprintf("offsets/%d", id))
	}
	r := w.check(Input{Table: w.table, Rejected: w.rejected, Checkpoint: w.checkpoint})
	if err := r.Err(); err != nil || !slices.Equal(lostOf(r), []int64{2, 5, 6}) {
		t.Errorf("purged: lost %v, %v", lostOf(r), err)
	}
}

// TestAHoleThatIsNotOfAtMostOnceIsAViolation: the checkpoint's entry of the batch decides, and of a batch at the end too.
func TestAHoleThatIsNotOfAtMostOnceIsAViolation(t *testing.T) {
	exactly := func(w *world, id int) {
		edit(t, w.checkpoint, fmt.Sprintf("offsets/%d", id), func(text string) string { return strings.Replace(text, `"microbatch.delivery":"at_most_once",`, "", 1) })
	}
	w := lossy(t, Parquet, true)
	exactly(w, 2)
	if r := w.check(Input{Table: w.table, Checkpoint: w.checkpoint}); !slices.ContainsFunc(r.Violations, func(v Violation) bool {
		return v.Rule == Txn && strings.Contains(v.What, "follows batch 1: 1 batches are missing")
	}) || !slices.Equal(lostOf(r), []int64{5, 6}) {
		t.Errorf("lost %v, %v", lostOf(r), r.Violations)
	}
	w = lossy(t, Parquet, false)
	exactly(w, 6)
	if r := w.check(Input{Table: w.table, Checkpoint: w.checkpoint}); !slices.ContainsFunc(r.Violations, func(v Violation) bool {
		return v.Rule == IDs && strings.Contains(v.What, "batch 6 is recorded, but not in the table")
	}) || !slices.Equal(lostOf(r), []int64{2, 5}) {
		t.Errorf("lost %v, %v", lostOf(r), r.Violations)
	}
}

// TestACheckpointBehindItsTableIsAViolationAlsoOfAtMostOnce: the table may lack what is recorded, never the other way round.
func TestACheckpointBehindItsTableIsAViolationAlsoOfAtMostOnce(t *testing.T) {
	w := lossy(t, Parquet, true)
	twice := mem.New() // a checkpoint that has lost its last entries: batches 7 and 8 run again, into the same table
	for _, key := range keys(t, w.checkpoint, "") {
		if strings.HasSuffix(key, "/7") || strings.HasSuffix(key, "/8") {
			continue
		}
		text, err := w.checkpoint.Get(t.Context(), key)
		if err == nil {
			err = twice.Put(t.Context(), key, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	w.checkpoint = twice
	if r := w.check(Input{Table: w.table, Checkpoint: w.checkpoint}); r.Err() == nil {
		t.Error("a checkpoint that is behind its table is no violation")
	}
}
