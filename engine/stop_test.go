package engine

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

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
