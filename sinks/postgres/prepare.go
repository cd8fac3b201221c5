package postgres

import (
	"context"
	"errors"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"microbatch/batch"
	"microbatch/internal/failpoint"
	"microbatch/internal/invariant"
	"microbatch/sinks"
)

// copyBytes is about how much one COPY sends. What follows is encoded meanwhile.
const copyBytes = 1 << 20

// pending is a staged batch.
type pending struct {
	batch *batch.Batch
	work  *Work
	stage Stage
	rows  atomic.Int64
	bytes atomic.Int64

	changes *sinks.Changes // after the commit, if the server tells
}

// Staged counts the rows that were taken; of several with one key each counts.
func (p *pending) Staged() sinks.Staged {
	return sinks.Staged{Rows: p.rows.Load(), Changes: p.changes, Bytes: p.bytes.Load()}
}

// applied notes how many rows were written. Of an upsert the server does not tell which of them were there before.
func (p *pending) applied(written int64) {
	if p.work.Mode == Ledger {
		p.changes = &sinks.Changes{Inserted: written, Unchanged: p.rows.Load() - written}
	}
}

// Prepare copies the batch's rows into the stage.
func (s *Sink) Prepare(ctx context.Context, b *batch.Batch) (sinks.Pending, error) {
	work := s.now()
	invariant.Check(work != nil, "Recover comes before Prepare")
	stage, err := s.db.Stage(ctx, work)
	if err != nil {
		return nil, err
	}
	p := &pending{batch: b, work: work, stage: stage}
	err = s.pull(ctx, p)
	if err == nil {
		err = s.db.Settle(ctx, stage, work)
	}
	if err != nil {
		return nil, errors.Join(err, s.db.Clear(context.WithoutCancel(ctx), stage))
	}
	failpoint.Hit("postgres.staged")
	return p, nil
}

// pull encodes all parts, several at once, while one goroutine sends what they have made. It has its own context: a part that fails does not tear a COPY
// that is under way, and with it the connection.
func (s *Sink) pull(ctx context.Context, p *pending) error {
	full, spare := make(chan []byte), make(chan []byte, s.cfg.Parallel+1)
	group, pulling := errgroup.WithContext(ctx)
	group.Go(func() error {
		for rows := range full {
			if err := s.db.Copy(ctx, p.stage, rows); err != nil {
				return err
			}
			p.bytes.Add(int64(len(rows)))
			select {
			case spare <- rows[:0]:
			default:
			}
		}
		return nil
	})
	group.Go(func() error {
		defer close(full)
		parts, pulling := errgroup.WithContext(pulling)
		parts.SetLimit(s.cfg.Parallel)
		for n, part := range p.batch.Parts {
			e := &partEncoder{pending: p, part: n, encoders: encoders{json: s.cfg.JSON}, full: full, spare: spare}
			parts.Go(func() error { return e.pull(pulling, part) })
		}
		return parts.Wait()
	})
	return group.Wait()
}

// Abort empties the stage.
func (s *Sink) Abort(ctx context.Context, staged sinks.Pending) error {
	return s.db.Clear(ctx, staged.(*pending).stage)
}
