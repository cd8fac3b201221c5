package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/ident"
	"microbatch/objstore"
	"microbatch/sinks"
)

type recordBatch = arrow.RecordBatch

// errCrashed ends a driver whose process is gone: nothing that it does afterwards has an effect.
var errCrashed = errors.New("the process is gone")

// crashing counts operations over several stores and lets them all fail from the k-th on.
type crashing struct {
	mu      sync.Mutex
	left    int
	applied bool // the k-th operation takes effect, though nobody hears of it
}

func (c *crashing) store(s objstore.Store) objstore.Store { return &crashStore{s, c} }

// do runs op unless the process is gone.
func (c *crashing) do(op func() error) error {
	c.mu.Lock()
	c.left--
	left := c.left
	c.mu.Unlock()
	if left > 0 {
		return op()
	}
	if left == 0 && c.applied {
		op()
	}
	return errCrashed
}

type crashStore struct {
	objstore.Store
	c *crashing
}

func (s *crashStore) Get(ctx context.Context, key string) (data []byte, err error) {
	err = s.c.do(func() (err error) { data, err = s.Store.Get(ctx, key); return err })
	return data, err
}
func (s *crashStore) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	return s.c.do(func() error { return s.Store.PutIfAbsent(ctx, key, data) })
}
func (s *crashStore) Put(ctx context.Context, key string, data []byte) error {
	return s.c.do(func() error { return s.Store.Put(ctx, key, data) })
}
func (s *crashStore) Delete(ctx context.Context, key string) error {
	return s.c.do(func() error { return s.Store.Delete(ctx, key) })
}
func (s *crashStore) Sync(ctx context.Context, key string) error {
	return s.c.do(func() error { return s.Store.Sync(ctx, key) })
}
func (s *crashStore) List(ctx context.Context, prefix, after string) iter.Seq2[objstore.Info, error] {
	return func(yield func(objstore.Info, error) bool) {
		if err := s.c.do(func() error { return nil }); err != nil {
			yield(objstore.Info{}, err)
			return
		}
		s.Store.List(ctx, prefix, after)(yield)
	}
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
					run := func(crash *crashing) error {
						q, _, sink := w.query()
						rejected := &ledger{store: w.sink, suffix: "-rejected"}
						q.OnError, q.Rejected, q.MaxRestarts = RejectRows, rejected, -1
						if crash != nil {
							q.Checkpoint, sink.store, rejected.store = crash.store(w.checkpoint), crash.store(w.sink), crash.store(w.sink)
						}
						if !keeps {
							q.Sink = exempt{sink, given}
						}
						return q.Run(t.Context())
					}
					err := run(&crashing{left: k, applied: applied})
					if crashed = errors.Is(err, errCrashed); err != nil && !crashed {
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
