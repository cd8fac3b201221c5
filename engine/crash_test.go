package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/ident"
	"microbatch/internal/sim/gate"
	"microbatch/objstore"
	"microbatch/sinks"
)

type recordBatch = arrow.RecordBatch

// dying is a process whose k-th operation on its stores is its last: nothing that it does afterwards has an effect. applied: the last one takes effect, though
// nobody hears of it.
func dying(k int, applied bool) *gate.Process {
	var done atomic.Int64
	return gate.NewProcess("driver", gate.JudgeFunc(func(gate.Op) gate.Verdict {
		switch n := int(done.Add(1)); {
		case n < k:
			return gate.Verdict{Fate: gate.Pass}
		case n == k && applied:
			return gate.Verdict{Fate: gate.DieDone}
		}
		return gate.Verdict{Fate: gate.Die}
	}))
}

// unlocked is a store without locks, such as S3.
type unlocked struct{ objstore.Store }

func (unlocked) Lock(context.Context, string) (io.Closer, error) { return io.NopCloser(nil), nil }

// exempt is a sink that keeps no batch ids, as foreachbatch: it notes which batches it was given.
type exempt struct {
	*ledger
	given map[ident.BatchID]bool
}

func (e exempt) Visible(context.Context, sinks.QueryInfo) (sinks.Visible, error) {
	return sinks.Visible{}, nil
}

func (e exempt) Commit(_ context.Context, p sinks.Pending) (sinks.Result, error) {
	e.given[p.(*ledgerPending).e.Batch] = true
	return sinks.Result{Outcome: sinks.Committed, Version: -1}, nil
}

func (exempt) Sweep(context.Context, sinks.Intent) error { return nil }

// TestCrashAtEveryStoreOperationWithRejectedRows: whatever operation was the last of a process, the rejected rows are in their table once, beside a sink that
// keeps batches, whose rows are there once, and beside one that does not, which is given every batch.
func TestCrashAtEveryStoreOperationWithRejectedRows(t *testing.T) {
	for _, keeps := range []bool{true, false} {
		for _, applied := range []bool{false, true} {
			t.Run(fmt.Sprintf("keeps=%v/applied=%v", keeps, applied), func(t *testing.T) {
				for k, crashed := 1, true; crashed; k++ {
					w := newWorld(25)
					w.bad = func(n int64) bool { return n%10 == 3 || n == 14 }
					given := map[ident.BatchID]bool{}
					run := func(p *gate.Process) error {
						q, _, sink := w.query()
						rejected := &ledger{store: w.sink, suffix: "-rejected"}
						q.OnError, q.Rejected, q.MaxRestarts = RejectRows, rejected, -1
						if p != nil {
							table := p.Store("sink", w.sink)
							q.Checkpoint, sink.store, rejected.store = p.Store("checkpoint", w.checkpoint), table, table
						}
						if !keeps {
							q.Sink = exempt{sink, given}
						}
						return q.Run(t.Context())
					}
					err := run(dying(k, applied))
					if crashed = errors.Is(err, gate.ErrGone); err != nil && !crashed {
						t.Fatalf("operation %d: %v", k, err)
					}
					if err := run(nil); err != nil {
						t.Fatalf("crash at operation %d: the next start: %v", k, err)
					}
					w.checkRejected(t, k, "13", "14", "23", "3")
					if good := len(w.rows(t)); keeps && good != 21 {
						t.Errorf("crash at operation %d: %d good rows, want 21", k, good)
					}
					if !keeps && len(given) != 3 {
						t.Errorf("crash at operation %d: the sink was given the batches %v", k, given)
					}
				}
			})
		}
	}
}

// checkRejected fails unless exactly these positions were rejected.
func (w *world) checkRejected(t *testing.T, k int, want ...string) {
	t.Helper()
	all, err := (&ledger{store: w.sink, suffix: "-rejected"}).entries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range all {
		got = append(got, e.Texts...)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("crash at operation %d: rejected %v, want %v", k, got, want)
	}
}
