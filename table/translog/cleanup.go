package translog

import (
	"context"
	"fmt"
	"slices"
	"time"

	"microbatch/internal/bugs"
	"microbatch/internal/failpoint"
)

// Cleanup deletes log entries that are older than the table's retention (delta.logRetentionDuration, at least 48 hours) and summed up by a checkpoint that is
// old enough itself, so that every version within the retention stays readable. It returns how many files went. The order is ascending: whatever
// was deleted when it was interrupted, the table loads (T5).
func (l *Log) Cleanup(ctx context.Context, s *State) (int, error) {
	if s.Property("delta.enableExpiredLogCleanup") == "false" {
		return 0, nil
	}
	found, err := l.list(ctx, 0, s.Version)
	if err != nil {
		return 0, err
	}
	cutoff := s.cutoff(l.now())
	keep := found.oldCheckpoint(cutoff)
	if keep > 0 { // what is deleted is old by the store's clock too: this machine's may be years ahead
		now, err := l.StoreTime(ctx)
		if err != nil {
			return 0, err
		}
		if limit := s.cutoff(now); limit.Before(cutoff) && !bugs.Is(bugs.ClockOfTheMachine) {
			cutoff, keep = limit, found.oldCheckpoint(limit)
		}
	}
	if keep <= 0 {
		return 0, nil
	}
	return l.deleteBefore(ctx, keep, cutoff)
}

// cutoff is the time before which entries may go.
func (s *State) cutoff(now time.Time) time.Time {
	return now.Add(-max(s.LogRetention(), MinRetention)).UTC().Truncate(24 * time.Hour)
}

// oldCheckpoint is the version of the newest checkpoint that is old enough: it, its commit and all that follows stay. -1 if there is none.
func (s *listing) oldCheckpoint(cutoff time.Time) int64 {
	keep := int64(-1)
	for _, c := range s.checkpoints {
		if last := c.files[len(c.files)-1]; !last.Modified.After(cutoff) {
			keep = max(keep, c.version)
		}
	}
	return keep
}

// StoreTime is the time by the store's clock, which dates its files. It is read from a file beside the log, which readers pass over and which is written for that.
func (l *Log) StoreTime(ctx context.Context) (time.Time, error) {
	key := l.format.Dir() + "_clock"
	if err := l.store.Put(ctx, key, []byte("written to be dated\n")); err != nil {
		return time.Time{}, fmt.Errorf("put %s: %w", key, err)
	}
	info, err := l.store.Stat(ctx, key)
	if err != nil {
		return time.Time{}, fmt.Errorf("stat %s: %w", key, err)
	}
	return info.Modified, nil
}

// deleteBefore deletes all log files of versions below keep, ascending, and stops at the first that is not old enough.
func (l *Log) deleteBefore(ctx context.Context, keep int64, cutoff time.Time) (int, error) {
	var old []string
	for info, err := range l.store.List(ctx, l.format.Dir(), "") {
		if err != nil {
			return 0, fmt.Errorf("list %s: %w", l.format.Dir(), err)
		}
		file, ok := l.format.parse(info.Key)
		if !ok {
			continue
		}
		if file.version >= keep || info.Modified.After(cutoff) {
			break
		}
		old = append(old, info.Key)
	}
	if bugs.Is(bugs.CleanupFromTop) {
		slices.Reverse(old)
	}
	for deleted, key := range old {
		failpoint.Hit("cleanup.delete")
		if err := l.store.Delete(ctx, key); err != nil {
			return deleted, fmt.Errorf("delete %s: %w", key, err)
		}
	}
	return len(old), nil
}
