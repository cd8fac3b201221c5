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
