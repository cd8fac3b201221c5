package engine

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/batch"
	"microbatch/ident"
	"microbatch/internal/bugs"
	"microbatch/internal/errcode"
	"microbatch/internal/failpoint"
	"microbatch/objstore"
	"microbatch/sinks"
	"microbatch/sources"
	"microbatch/transforms"
)

// rowsPerPart is how many rows make a further part worth while: a smaller batch is one part and gives one file.
const rowsPerPart = 32 << 10

// local executes in this process.
type local struct {
	q        *Query
	in       *arrow.Schema   // of the sources
	schemas  []*arrow.Schema // after each transform
	prefetch *prefetcher
	report   *reporter
}

// execution is one attempt under way.
type execution struct {
	*local
	work     Work
	digest   ident.Digest
	splits   [][]sources.Split // by source
	ops      []transforms.Instance
	rejects  *rejects
	decoded  atomic.Int64
	undecode atomic.Int64 // rejected by the source
}

// Execute does read, transform and prepare.
func (l *local) Execute(ctx context.Context, work Work) (staged Staged, err error) {
	x := &execution{local: l, work: work, digest: ident.DigestOf(work.Entry), rejects: newRejects(l.q, work)}
	defer x.rejects.close()
	defer x.discardAhead()
	l.report.enter(Read)
	failpoint.Hit("read.before")
	streams, err := x.read(ctx)
	if err != nil {
		return Staged{}, err
	}
	failpoint.Hit("read.after")
	l.report.enter(Transform)
	failpoint.Hit("transform.before")
	defer x.closeOperators(&err)
	streams, err = x.transform(ctx, streams)
	if err != nil {
		return Staged{}, err
	}
	failpoint.Hit("transform.after")
	l.report.enter(Prepare)
	failpoint.Hit("prepare.before")
	staged, err = x.prepare(ctx, streams)
	if err == nil {
		failpoint.Hit("prepare.after")
	}
	return staged, err
}

// stream is the rows of one part, not yet pulled.
type stream func(ctx context.Context) batch.Stream

// want is the number of parts for about so many rows: one if the sink keeps their order.
func (l *local) want(rows int64) int {
	if o, ok := l.q.Sink.(sinks.Orderer); ok && o.Ordered() {
		return 1
	}
	if rows < 0 {
		return l.q.Parallelism
	}
	return int(min(int64(l.q.Parallelism), 1+rows/rowsPerPart))
}

// read opens the splits of all sources. A range that was prefetched is taken over with what is in memory already.
func (x *execution) read(ctx context.Context) ([]stream, error) {
	var out []stream
	want := x.want(x.work.Rows)
	for n, s := range x.q.Sources {
		r := x.work.Ranges[n]
		splits := x.prefetch.take(n, r)
		if splits == nil && r.From != r.To {
			var err error
			if splits, err = s.Splits(ctx, r.From, r.To, r.Aux, want); err != nil {
				return nil, fmt.Errorf("source %d: %w", n, err)
			}
		}
		x.splits = append(x.splits, splits)
		for _, split := range splits {
			out = append(out, x.counted(split))
		}
	}
	return out, nil
}

// counted is a split's stream with its rows counted and its rejected rows taken out.
func (x *execution) counted(split sources.Split) stream {
	return func(ctx context.Context) batch.Stream {
		return func(yield func(batch.Chunk, error) bool) {
			for c, err := range split.Records(ctx) {
				if err != nil {
					yield(batch.Chunk{}, err)
					return
				}
				failpoint.Hit("read.chunk")
				x.decoded.Add(c.Rows())
				x.undecode.Add(int64(len(c.Rejected)))
				rejected := c.Rejected
				c.Rejected = nil
				if err := x.rejects.add(rejected); err != nil {
					c.Release()
					yield(batch.Chunk{}, err)
					return
				}
				x.report.rows(x.decoded.Load() + x.undecode.Load())
				if c.Record == nil || c.Rows() == 0 {
					c.Release()
					continue
				}
				if !yield(c, nil) {
					return
				}
			}
		}
	}
}

// transform chains the operators on the streams, with an exchange where an operator needs its rows in one part.
func (x *execution) transform(ctx context.Context, streams []stream) ([]stream, error) {
	if bugs.Is(bugs.ClockInTransform) {
		x.work.Timestamp = time.Now()
	}
	in := x.in
	for n, op := range x.q.Transforms {
		switch d := op.Requires(); d.Kind {
		case transforms.Any:
		case transforms.Whole:
			streams = []stream{gather(streams)}
		default:
			return nil, fmt.Errorf("transform %d: it requires rows by key %v, and no exchange by key exists", n, d.Keys)
		}
		inst, err := op.Open(ctx, transforms.Env{
			Batch: x.work.ID, Attempt: x.work.Attempt, Timestamp: x.work.Timestamp, Watermark: x.work.Watermark,
			Input: in, Parts: len(streams), Alloc: x.q.Alloc,
		})
		if err != nil {
			return nil, fmt.Errorf("transform %d: %w", n, err)
		}
		x.ops = append(x.ops, inst)
		for i, s := range streams {
			streams[i] = func(ctx context.Context) batch.Stream { return inst.Apply(ctx, s(ctx)) }
		}
		in = x.schemas[n]
	}
	return streams, nil
}

func (x *execution) closeOperators(err *error) {
	for n, op := range x.ops {
		if cerr := op.Close(); cerr != nil && *err == nil {
			*err = fmt.Errorf("transform %d: close: %w", n, cerr)
		}
	}
}

// prepare lets the sink pull everything, checks the counts (P6) and stages the rejected rows.
func (x *execution) prepare(ctx context.Context, streams []stream) (Staged, error) {
	b := x.batchOf(x.outSchema(), streams)
	b.Reject = x.rejects.one
	pending, err := x.q.Sink.Prepare(ctx, b)
	if err == nil {
		err = x.rejects.firstError()
	}
	if err != nil {
		return Staged{}, errors.Join(fmt.Errorf("prepare: %w", err), abort(ctx, x.q.Sink, pending, err))
	}
	staged := Staged{Sink: pending, Counts: x.counts(pending.Staged())}
	if err = x.check(staged.Counts); err == nil {
		staged.Rejected, err = x.rejects.prepare(ctx, x)
	}
	if err != nil {
		return Staged{}, errors.Join(err, abort(ctx, x.q.Sink, pending, err))
	}
	return staged, nil
}

// discardAhead ends splits that were read ahead and never pulled to their end.
func (x *execution) discardAhead() {
	for _, splits := range x.splits {
		for _, s := range splits {
			if a, ok := s.(*ahead); ok {
				a.discard()
			}
		}
	}
}

func (x *execution) outSchema() *arrow.Schema {
	if n := len(x.schemas); n > 0 {
		return x.schemas[n-1]
	}
	return x.in
}

func (x *execution) batchOf(schema *arrow.Schema, streams []stream) *batch.Batch {
	b := &batch.Batch{
		ID: x.work.ID, Attempt: x.work.Attempt, Digest: x.digest, Timestamp: x.work.Timestamp, Entry: x.work.Entry, Ranges: x.work.Ranges, Schema: schema,
	}
	for _, s := range streams {
		b.Parts = append(b.Parts, batch.PartFunc(func(ctx context.Context) batch.Stream { return passing(recovered(s(ctx))) }))
	}
	return b
}

// passing lets each chunk that has gone through all operators pass a crash point.
func passing(s batch.Stream) batch.Stream {
	if !failpoint.Enabled {
		return s
	}
	return func(yield func(batch.Chunk, error) bool) {
		for c, err := range s {
			if err == nil {
				failpoint.Hit("transform.chunk")
			}
			if !yield(c, err) {
				return
			}
		}
	}
}

// recovered turns a panic of the part's own code into an error of the batch, so that other queries of the process live on.
func recovered(s batch.Stream) batch.Stream {
	return func(yield func(batch.Chunk, error) bool) {
		next, stop := pull(s)
		defer stop()
		for {
			c, err, ok := next()
			if !ok || !yield(c, err) || err != nil {
				return
			}
		}
	}
}

// pull is iter.Pull2 with panics as errors.
func pull(s batch.Stream) (next func() (batch.Chunk, error, bool), stop func()) {
	inner, end := iter.Pull2(s)
	return func() (c batch.Chunk, err error, ok bool) {
		defer func() {
			if r := recover(); r != nil {
				c, err, ok = batch.Chunk{}, errcode.PartPanicked.New("", "panic: %v\n%s", r, debug.Stack()), true
			}
		}()
		return inner()
	}, end
}

// abort gives back what was staged; it works on after the attempt's own context has ended. After a failed fsync nothing is deleted: the next process looks at what
// is there.
func abort(ctx context.Context, s sinks.Sink, p sinks.Pending, why error) error {
	if p == nil || errors.Is(why, objstore.ErrFsync) {
		return nil
	}
	if err := s.Abort(context.WithoutCancel(ctx), p); err != nil {
		return fmt.Errorf("abort: %w", err)
	}
	return nil
}
