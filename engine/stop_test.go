package engine

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"microbatch/checkpointlog"
	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/objstore/mem"
	"microbatch/sinks"
)

// handing is a sink that keeps no batch ids and whose commit is user code that does not come back until it is told to.
type handing struct{ *ledger }

func (h handing) Visible(context.Context, sinks.QueryInfo) (sinks.Visible, error) {
	return sinks.Visible{}, nil
}

func (h handing) Commit(ctx context.Context, _ sinks.Pending) (sinks.Result, error) {
	<-ctx.Done()
	return sinks.Result{}, ctx.Err()
}

func TestUserCodeIsInterruptedWhenTheGraceEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(10)
		q, _, sink := w.query()
		q.Sink, q.ShutdownTimeout = handing{sink}, 5*time.Second
		ctx, stop := context.WithCancel(t.Context())
		began := time.Now()
		time.AfterFunc(time.Minute, stop)
		if err := q.Run(ctx); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != time.Minute+5*time.Second {
			t.Errorf("it ended after %s", took)
		}
	})
}

// keeper is a sink whose upkeep fails once.
type keeper struct {
	*ledger
	fails error
}

func (k *keeper) Maintain(context.Context, time.Time) (err error) {
	err, k.fails = k.fails, nil
	return err
}

// The upkeep of a sink, the purge and the release of a source may fail and are repeated later, but not when fsync has failed: the next one would say that all is well.
func TestAFailedFsyncAfterTheBatchStopsTheQuery(t *testing.T) {
	for name, c := range map[string]struct {
		fails error
		stops bool
	}{
		"something else": {errors.New("not now"), false},
		"fsync":          {fmt.Errorf("put _last_checkpoint: %w", objstore.ErrFsync), true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(25)
			q, _, sink := w.query()
			q.Sink = &keeper{ledger: sink, fails: c.fails}
			err := q.Run(t.Context())
			if stopped := errors.Is(err, objstore.ErrFsync); stopped != c.stops || err != nil && !stopped {
				t.Fatalf("it ended with %v", err)
			}
			q, _, _ = w.query()
			if err := q.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := len(w.rows(t)); got != 25 {
				t.Errorf("%d rows, want 25", got)
			}
		})
	}
}

// TestAFailedFsyncOfALateBatchStopsTheQuery: a disk that is about to die takes its time, so batch_timeout is over when it says that the fsync has failed.
func TestAFailedFsyncOfALateBatchStopsTheQuery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(10)
		q, _, sink := w.query()
		q.BatchTimeout = time.Minute
		calls := 0
		q.Sink = hooked{ledger: sink, prepare: func(ctx context.Context) error {
			calls++
			<-ctx.Done()
			return fmt.Errorf("commit part-00000.parquet: %w", objstore.ErrFsync)
		}}
		if err := q.Run(t.Context()); !errors.Is(err, objstore.ErrFsync) || calls != 1 {
			t.Errorf("it ended after %d attempts with %v", calls, err)
		}
	})
}

// TestTheEntryBeforeIsGone: a driver looked for a newer epoch, then slept while its successor ran two hundred batches and purged, then read the entry before its own.
func TestTheEntryBeforeIsGone(t *testing.T) {
	c := checkpointlog.NewCheckpoint(mem.New())
	before := &checkpointlog.Entry{ID: 45}
	if err := checkBefore(t.Context(), c, 1, before); !errcode.Has(err, errcode.CheckpointGap) {
		t.Errorf("without a newer driver: %v", err)
	}
	for range 2 {
		if _, err := c.Claim(t.Context(), 0, ident.NewRunID(), checkpointlog.Epoch{}); err != nil {
			t.Fatal(err)
		}
	}
	if err := checkBefore(t.Context(), c, 1, before); !errcode.Has(err, errcode.DriverFenced) {
		t.Errorf("purged by a newer driver: %v", err)
	}
}
