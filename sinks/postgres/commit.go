package postgres

import (
	"context"
	"errors"

	"microbatch/ident"
	"microbatch/internal/bugs"
	"microbatch/internal/errcode"
	"microbatch/internal/failpoint"
	"microbatch/sinks"
)

// Commit applies the staged rows and moves the position, in one transaction.
func (s *Sink) Commit(ctx context.Context, staged sinks.Pending) (sinks.Result, error) {
	p := staged.(*pending)
	r := s.rules(p.batch.ID, p.batch.Digest)
	var written int64
	_, err := s.move(ctx, r, false, func(tx Transaction, _ Position) (_ Position, err error) {
		written, err = tx.Apply(ctx, p.stage, p.work, keyOf(r.query), p.batch.ID)
		return Position{
			Epoch: r.query.Epoch, Batch: p.batch.ID, Digest: p.batch.Digest.String(), Entry: r.query.Entry.String(),
			Offsets: string(p.batch.Entry), Rows: p.rows.Load(),
		}, err
	})
	result := sinks.Result{Version: -1, Why: err}
	switch class := errcode.ClassOf(err); {
	case err == nil:
		s.see(p.batch.ID)
		p.applied(written)
		result.Outcome = sinks.Committed
		return result, nil
	case errors.Is(err, errAlready):
		s.see(p.batch.ID)
		result.Outcome, result.Why = sinks.AlreadyCommitted, nil
		return result, nil
	case (class == errcode.Retry || class == errcode.Uncertain) && s.overtaken(ctx, r.query):
		result.Outcome = sinks.Fenced
		return result, nil
	case class == errcode.Uncertain:
		result.Outcome = sinks.Uncertain
		return result, nil
	case errcode.Has(err, errcode.TableFenced):
		result.Outcome = sinks.Fenced
		return result, nil
	}
	return sinks.Result{Version: -1}, err
}

// overtaken reports whether a newer driver has claimed the query. It is asked when the connection broke: the server ends the transaction of a driver that sleeps, and one
// that wakes up and finds it ended must not take the query back.
func (s *Sink) overtaken(ctx context.Context, q sinks.QueryInfo) bool {
	newest, err := q.Newest(ctx)
	return err == nil && newest > q.Epoch // unknown: the recovery that follows finds out
}

// claim writes our epoch into the position, which is made if it is missing. It waits for what an older driver has under way (G3).
func (s *Sink) claim(ctx context.Context, q sinks.QueryInfo) (Position, error) {
	r := rules{query: q, place: s.place(), batch: ident.NoBatch, last: ident.NoBatch}
	return s.move(ctx, r, true, func(_ Transaction, was Position) (Position, error) {
		was.Epoch, was.Entry = q.Epoch, q.Entry.String()
		return was, nil
	})
}

// move is the one transaction: it locks the position and compares it by the rules, does what act does and writes the position that act says. An error of the rules
// ends it and is returned as it is.
func (s *Sink) move(ctx context.Context, r rules, create bool, act func(Transaction, Position) (Position, error)) (next Position, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	begin := s.db.Begin
	if bugs.Is(bugs.PositionUnlocked) {
		begin = s.blind(keyOf(r.query))
	}
	tx, err := begin(ctx)
	if err != nil {
		return next, err
	}
	next, err = s.prepareMove(ctx, tx, r, create, act)
	if bugs.Is(bugs.PositionApart) && err == nil {
		if tx, err = s.apart(ctx, tx, r); err != nil {
			return next, err
		}
	}
	if err == nil {
		err = tx.Write(ctx, keyOf(r.query), next)
	}
	if err != nil {
		tx.Rollback(ctx)
		return next, err
	}
	failpoint.Hit("postgres.before-commit")
	err = tx.Commit(ctx)
	failpoint.Hit("postgres.after-commit")
	return next, err
}

// prepareMove is what comes before the position is written.
func (s *Sink) prepareMove(ctx context.Context, tx Transaction, r rules, create bool, act func(Transaction, Position) (Position, error)) (next Position, err error) {
	was, found, err := tx.Lock(ctx, keyOf(r.query), create)
	if err != nil {
		return next, err
	}
	if err := r.admit(was, found); err != nil {
		return next, err
	}
	failpoint.Hit("postgres.locked")
	return act(tx, was)
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
