package kafka

import (
	"context"

	"microbatch/ident"
)

// What must not be done stands here: only seeded bugs come this way (internal/bugs), and no usual build has them.

// apart is bugs.MarkerApart: the records are committed, and the marker is left to a transaction of its own.
func apart(ctx context.Context, p Producer) error {
	if err := p.End(ctx, true); err != nil {
		return err
	}
	return p.Begin()
}

// remembered is bugs.MarkerFromMemory: the marker as this driver has seen it last.
func (s *Sink) remembered() marker {
	if s.seen.epoch == 0 {
		return marker{batch: ident.NoBatch}
	}
	return s.seen
}
