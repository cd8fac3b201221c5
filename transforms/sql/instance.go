package sql

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/batch"
	"microbatch/internal/errcode"
	"microbatch/transforms"
)

// planTime stands for the batch's timestamp while a query is planned.
var planTime = time.Unix(0, 0)

// instance is the query at work on one attempt of one batch.
type instance struct {
	session *session
	plan    *plan
	env     transforms.Env
	in, out atomic.Int64
}

// Counts are the rows of all parts; rows that a projection and filter did not let through are filtered.
func (i *instance) Counts() transforms.Counts {
	c := transforms.Counts{In: i.in.Load(), Out: i.out.Load(), Filtered: -1}
	if i.plan.rowWise {
		c.Filtered = c.In - c.Out
	}
	return c
}

// Close does nothing: what a part holds ends with its stream.
func (i *instance) Close() error { return nil }

// Apply runs the query over one part's stream.
func (i *instance) Apply(ctx context.Context, in batch.Stream) batch.Stream {
	return func(yield func(batch.Chunk, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		r := &run{instance: i, feed: make(chan arrow.RecordBatch), out: make(chan batch.Chunk), queried: make(chan struct{})}
		go r.start(ctx, in)
		defer func() {
			cancel()
			for c := range r.out {
				c.Release()
			}
		}()
		for c := range r.out {
			i.out.Add(c.Rows())
			if !yield(c, nil) {
				return
			}
		}
		if r.err != nil {
			yield(batch.Chunk{}, r.err)
		}
	}
}

// run is the query over one part. Two goroutines work for the consumer: one pulls the input and passes rejected rows on, the other runs the query. So
// neither rows nor rejects pile up: all three meet at channels without buffers.
type run struct {
	*instance
	feed    chan arrow.RecordBatch
	out     chan batch.Chunk // closed when both are done; then err is valid
	queried chan struct{}    // closed when the query needs no more input
	err     error
}

// start runs the query while pump feeds it, and closes out when both have ended. It ends when ctx ends.
func (r *run) start(ctx context.Context, in batch.Stream) {
	defer close(r.out)
	pumped := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		err := r.pump(ctx, in)
		if err != nil {
			cancel() // before the feed ends: the query must not take a broken input for a complete one
		}
		close(r.feed)
		pumped <- err
	}()
	err := r.query(ctx)
	close(r.queried)
	if err != nil {
		cancel()
	}
	if upstream := <-pumped; upstream != nil && (err == nil || errors.Is(err, context.Canceled)) {
		err = upstream
	}
	r.err = err
}

// pump pulls all the input (Q2): records go to the query as long as it wants them, rejected rows to the consumer.
func (r *run) pump(ctx context.Context, in batch.Stream) error {
	for c, err := range in {
		if err != nil {
			return err
		}
		r.in.Add(c.Rows())
		if len(c.Rejected) > 0 {
			select {
			case r.out <- batch.Chunk{Rejected: c.Rejected}:
			case <-ctx.Done():
				c.Release()
				return ctx.Err()
			}
		}
		if c.Rows() == 0 {
			c.Release()
			continue
		}
		select {
		case r.feed <- c.Record:
		case <-r.queried:
			c.Release()
		case <-ctx.Done():
			c.Release()
			return ctx.Err()
		}
	}
	return nil
}

// query runs the SQL over what pump feeds.
func (r *run) query(ctx context.Context) error {
	w, err := r.session.take(ctx, r.plan)
	if err != nil {
		return err
	}
	if err := r.queryOn(ctx, w); err != nil {
		w.close() // whatever state it is in
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return r.plan.failed(errcode.SQLFailed, err)
	}
	r.session.give(r.plan, w)
	return nil
}

func (r *run) queryOn(ctx context.Context, w *worker) error {
	if err := w.setTime(ctx, r.env.Timestamp); err != nil {
		return err
	}
	if r.plan.bypass != nil {
		return r.gather(ctx, w)
	}
	w.view.Feed(func() (arrow.RecordBatch, error) { return r.next(ctx) })
	if r.plan.scans > 1 {
		if err := w.conn.Exec(ctx, "CREATE TEMP TABLE "+viewName+" AS FROM "+streamName); err != nil {
			return err
		}
	}
	rows, err := w.conn.Query(ctx, r.plan.text)
	if err != nil {
		return err
	}
	err = r.collect(ctx, rows)
	rows.Close()
	if err == nil && r.plan.scans > 1 {
		err = w.conn.Exec(ctx, "DROP TABLE "+viewName)
	}
	return err
}

// next is called by DuckDB for the next record of the input.
func (r *run) next(ctx context.Context) (arrow.RecordBatch, error) {
	select {
	case rec := <-r.feed:
		if rec == nil && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return rec, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
