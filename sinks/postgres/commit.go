package postgres

import (
	"context"
	"errors"

	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/sinks"
)

// Commit applies the staged rows and moves the position, in one transaction.
func (s *Sink) Commit(ctx context.Context, staged sinks.Pending) (sinks.Result, error) {
	p := staged.(*pending)
	r := s.rules(p.batch.ID, p.batch.Digest)
	err := s.db.Move(ctx, Move{
		Key: keyOf(r.query), Stage: p.stage, Work: p.work,
		Decide: func(was Position, found bool) (Position, error) {
			if err := r.admit(was, found); err != nil {
				return was, err
			}
			return Position{
				Epoch: r.query.Epoch, Batch: p.batch.ID, Digest: p.batch.Digest.String(), Entry: r.query.Entry.String(),
				Offsets: string(p.batch.Entry), Rows: p.rows.Load(),
			}, nil
		},
	})
	result := sinks.Result{Version: -1, Why: err}
	switch {
	case err == nil:
		s.see(p.batch.ID)
		result.Outcome = sinks.Committed
		return result, nil
	case errors.Is(err, errAlready):
		s.see(p.batch.ID)
		result.Outcome, result.Why = sinks.AlreadyCommitted, nil
		return result, nil
	case errcode.Has(err, errcode.PostgresUncertain):
		result.Outcome = sinks.Uncertain
		return result, nil
	case errcode.Has(err, errcode.TableFenced):
		result.Outcome = sinks.Fenced
		return result, nil
	}
	return sinks.Result{Version: -1}, err
}

// claim writes our epoch into the position, which is made if it is missing. It waits for what an older driver has under way (G3).
func (s *Sink) claim(ctx context.Context, q sinks.QueryInfo) (Position, error) {
	r := rules{query: q, place: s.place(), batch: ident.NoBatch, last: ident.NoBatch}
	var now Position
	err := s.db.Move(ctx, Move{
		Key: keyOf(q), Begin: true,
		Decide: func(was Position, found bool) (Position, error) {
			if err := r.admit(was, found); err != nil {
				return was, err
			}
			now = was
			now.Epoch, now.Entry = q.Epoch, q.Entry.String()
			return now, nil
		},
	})
	return now, err
}

// Fence writes the epoch alone, so that nothing of an older one can land afterwards.
func (s *Sink) Fence(ctx context.Context, q sinks.QueryInfo) error {
	if err := s.ownTables(ctx); err != nil {
		return err
	}
	_, err := s.claim(ctx, q)
	return err
}

func keyOf(q sinks.QueryInfo) Key { return Key{Query: q.ID, Shard: q.Shard, Pipeline: q.Name} }

func (s *Sink) see(id ident.BatchID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = max(s.last, id)
}

func (s *Sink) rules(id ident.BatchID, digest ident.Digest) rules {
	s.mu.Lock()
	defer s.mu.Unlock()
	return rules{query: s.query, place: s.place(), batch: id, digest: digest, last: s.last}
}
