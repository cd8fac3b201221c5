package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"microbatch/batch"
	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/internal/failpoint"
	"microbatch/sinks"
)

// pending is a batch whose records are in a transaction that has not ended.
type pending struct {
	id       ident.BatchID
	digest   ident.Digest
	ranges   []ident.Range
	producer Producer // that holds the transaction; nil: there is none, for the batch, or a later one, is visible already
	broken   bool     // the producer has failed: it is not used again (T4)
	rows     int64
	bytes    int64
}

// Staged is what the transaction holds.
func (p *pending) Staged() sinks.Staged { return sinks.Staged{Rows: p.rows, Bytes: p.bytes} }

func ours(p sinks.Pending) (*pending, error) {
	q, ok := p.(*pending)
	if !ok {
		return nil, fmt.Errorf("kafka sink: a pending batch of another sink: %T", p)
	}
	return q, nil
}

// Prepare produces all rows in a transaction. Without transactions readers see them from here on.
func (s *Sink) Prepare(ctx context.Context, b *batch.Batch) (sinks.Pending, error) {
	if err := s.claim(ctx); err != nil {
		return nil, err
	}
	p := &pending{id: b.ID, digest: b.Digest, ranges: b.Ranges}
	if s.cfg.Mode == Transactional && s.seen.batch >= b.ID { // Commit says what that means; the rows are counted
		return p, s.pull(ctx, b, p, nil)
	}
	if s.cfg.Mode == Transactional {
		if err := s.producer.Begin(); err != nil {
			s.discard()
			return nil, s.explain(err, "begin a transaction")
		}
	}
	p.producer = s.producer
	err := s.pull(ctx, b, p, p.producer)
	if err == nil {
		failpoint.Hit("kafka.produced")
		return p, nil
	}
	err = s.whose(ctx, err)
	s.drop(ctx, p)
	return nil, err
}

// whose says what an error of a producer means: if its transaction was ended by somebody else, a newer driver may be the reason.
func (s *Sink) whose(ctx context.Context, err error) error {
	if !isFenced(err) || s.cfg.Mode == Idempotent {
		return err
	}
	if newer := s.newest(context.WithoutCancel(ctx)); newer != nil {
		return newer
	}
	return err
}

// output is what all parts of a batch produce.
type output struct {
	to          Producer // nil: rows are only counted
	rows, bytes atomic.Int64
	broken      atomic.Bool // the producer has failed
}

// pull pulls all parts at once and hands their records to the producer; nil: they are only counted. What fails first ends it.
func (s *Sink) pull(ctx context.Context, b *batch.Batch, p *pending, to Producer) error {
	own, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	out := &output{to: to}
	var parts sync.WaitGroup
	for _, part := range b.Parts {
		parts.Go(func() {
			if err := s.pullPart(own, part, out); err != nil {
				stop(err)
			}
		})
	}
	parts.Wait()
	if to != nil && own.Err() == nil {
		if err := to.Flush(own); err != nil {
			stop(s.failed(own, out, err))
		}
	}
	p.rows, p.bytes, p.broken = out.rows.Load(), out.bytes.Load(), out.broken.Load()
	return context.Cause(own)
}

// failed explains an error of the producer, unless the batch has ended before.
func (s *Sink) failed(ctx context.Context, out *output, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	out.broken.Store(true)
	if errors.Is(err, ErrPartition) {
		return errcode.KafkaSinkRecord.Wrap(err, s.cfg.Topic, "the partition column")
	}
	return s.explain(err, "write records")
}

func (s *Sink) pullPart(ctx context.Context, part batch.Part, out *output) error {
	maker, err := newRecorder(s.columns, s.cfg.Topic)
	if err != nil {
		return err
	}
	for c, err := range part.Chunks(ctx) {
		if err == nil {
			err = s.produce(ctx, out, maker, c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// produce hands the records of a chunk over and releases it.
func (s *Sink) produce(ctx context.Context, out *output, maker *recorder, c batch.Chunk) error {
	defer c.Release()
	if out.to != nil && c.Record != nil {
		records, bytes, err := maker.records(c.Record)
		if err != nil {
			return err
		}
		if err := out.to.Produce(ctx, records); err != nil {
			return s.failed(ctx, out, err)
		}
		out.bytes.Add(bytes)
	}
	out.rows.Add(c.Rows())
	return context.Cause(ctx)
}

// Abort aborts the transaction.
func (s *Sink) Abort(ctx context.Context, staged sinks.Pending) error {
	p, err := ours(staged)
	if err != nil {
		return err
	}
	s.drop(ctx, p)
	return nil
}

// abortPatience bounds how long the end of a transaction that nobody wants is waited for: the next claim of its id aborts it too.
const abortPatience = 10 * time.Second

// drop aborts what a batch has staged; what cannot be aborted is left to the next claim, which is no error. Records of a producer without transactions stay.
func (s *Sink) drop(ctx context.Context, p *pending) {
	to := p.producer
	if p.producer = nil; to == nil || to != s.producer {
		return
	}
	if s.cfg.Mode == Transactional {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortPatience)
		defer cancel()
		if err := to.End(ctx, false); err == nil && !p.broken {
			return
		}
	}
	s.discard()
}
