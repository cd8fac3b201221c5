package lakehouse

import (
	"context"
	"errors"
	"time"

	"microbatch/internal/errcode"
	"microbatch/table"
	"microbatch/table/maintain"
)

// cleanEvery is how often the log is cleaned and files are vacuumed.
const cleanEvery = 24 * time.Hour

// Maintain does what is due at now: a log checkpoint when enough commits have come since the last, and as the settings say, joining small files, and once a
// day clean-up. The clocks start at the first call, so a query that is restarted often still gets to it by `table optimize` and `table vacuum` only.
func (s *Sink) Maintain(ctx context.Context, now time.Time) error {
	t := s.opened()
	if t == nil {
		return nil
	}
	_, err := t.Checkpoint(ctx)
	optimize, clean := s.due(now)
	if optimize {
		err = errors.Join(err, s.optimize(ctx, t))
	}
	if clean {
		err = errors.Join(err, s.clean(ctx, t))
	}
	return err
}

// due says what is due by time, and takes it for done: an error is not repeated before the next time.
func (s *Sink) due(now time.Time) (optimize, clean bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.optimized.IsZero() {
		s.optimized, s.cleaned = now, now
	}
	if every := s.cfg.Maintenance.OptimizeEvery; every > 0 && now.Sub(s.optimized) >= every {
		s.optimized, optimize = now, true
	}
	if now.Sub(s.cleaned) >= cleanEvery {
		s.cleaned, clean = now, true
	}
	return optimize, clean
}

// optimize gives way to other writers: what they prevented is due again next time.
func (s *Sink) optimize(ctx context.Context, t *table.Table) error {
	_, err := t.Optimize(ctx, maintain.OptimizeOptions{
		TargetBytes: s.cfg.TargetFileBytes, Parquet: s.parquet, TempDir: s.cfg.TempDir, Alloc: s.cfg.Alloc, Force: s.cfg.AllowReplacedFiles,
	})
	if err != nil && !errcode.Has(err, errcode.TableConflict) {
		return err
	}
	_, err = t.Refresh(ctx) // the next batch goes behind it at once
	return err
}

func (s *Sink) clean(ctx context.Context, t *table.Table) error {
	_, err := t.CleanLog(ctx)
	if retain := s.cfg.Maintenance.VacuumRetain; retain > 0 {
		_, vacuumErr := t.Vacuum(ctx, maintain.VacuumOptions{Retain: retain})
		err = errors.Join(err, vacuumErr)
	}
	return err
}
