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

// Maintain does what is due at now: a log checkpoint when enough commits have come since the last, and as the settings say, joining small files; and once a
// day clean-up. When that was done last is kept with the table (maintain.Done), so it counts over restarts.
func (s *Sink) Maintain(ctx context.Context, now time.Time) error {
	t := s.opened()
	if t == nil {
		return nil
	}
	_, err := t.Checkpoint(ctx)
	optimize, clean, dueErr := s.due(ctx, t, now)
	err = errors.Join(err, dueErr)
	if optimize {
		err = errors.Join(err, s.optimize(ctx, t))
	}
	if clean {
		err = errors.Join(err, s.clean(ctx, t))
	}
	return err
}

// due says what is due by time, and takes it for done: an error is not repeated before the next time.
func (s *Sink) due(ctx context.Context, t *table.Table, now time.Time) (optimize, clean bool, err error) {
	if s.done == nil {
		done, err := maintain.LoadDone(ctx, t.Log(), now)
		if err != nil {
			return false, false, err
		}
		s.done = &done
	}
	changed := s.done.PutRight(now)
	every := s.cfg.Maintenance.OptimizeEvery
	optimize = every > 0 && now.Sub(s.done.Optimized) >= every
	clean = now.Sub(s.done.Cleaned) >= cleanEvery
	if optimize {
		s.done.Optimized = now
	}
	if clean {
		s.done.Cleaned = now
	}
	if changed || optimize || clean {
		err = s.done.Save(ctx, t.Log())
	}
	return optimize, clean, err
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
		_, vacuumErr := t.Vacuum(ctx, maintain.VacuumOptions{Retain: new(retain)})
		err = errors.Join(err, vacuumErr)
	}
	return err
}
