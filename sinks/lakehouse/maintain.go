package lakehouse

import (
	"context"
	"time"
)

// cleanEvery is how often the log is cleaned and files are vacuumed.
const cleanEvery = 24 * time.Hour

// Maintain writes a log checkpoint when one is due, and with it looks after what is due by time.
func (s *Sink) Maintain(ctx context.Context, now time.Time) error {
	t := s.opened()
	if t == nil {
		return nil
	}
	_, err := t.Checkpoint(ctx)
	return err
}
