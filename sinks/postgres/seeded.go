package postgres

import "context"

// What must not be done stands here: only seeded bugs come this way (internal/bugs), and no usual build has them.

// apart is bugs.PositionApart: the rows are committed, and the position is left to a transaction of its own. After an error both have ended.
func (s *Sink) apart(ctx context.Context, tx Transaction, r rules) (Transaction, error) {
	if err := tx.Commit(ctx); err != nil {
		return nil, err
	}
	tx, err := s.db.Begin(ctx)
	if err != nil {
		return nil, err
	}
	if _, _, err := tx.Lock(ctx, keyOf(r.query), false); err != nil {
		tx.Rollback(ctx)
		return nil, err
	}
	return tx, nil
}

// blind is bugs.PositionUnlocked: a transaction whose Lock says what was there before it.
func (s *Sink) blind(k Key) func(context.Context) (Transaction, error) {
	return func(ctx context.Context) (Transaction, error) {
		seen, err := s.db.Look(ctx, k)
		if err != nil {
			return nil, err
		}
		tx, err := s.db.Begin(ctx)
		return stale{tx, seen}, err
	}
}

type stale struct {
	Transaction
	seen Look
}

// Lock locks, and does not look.
func (t stale) Lock(ctx context.Context, k Key, create bool) (p Position, found bool, err error) {
	_, found, err = t.Transaction.Lock(ctx, k, create)
	return t.seen.Position, found, err
}
