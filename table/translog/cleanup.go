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
	now := l.now()
	cutoff := now.Add(-max(s.LogRetention(), MinRetention)).UTC().Truncate(24 * time.Hour)
	found, err := l.list(ctx, 0, s.Version)
	if err != nil {
		return 0, err
	}
	keep := int64(-1) // the newest checkpoint that is old enough: it, its commit and all that follows stay
	for _, c := range found.checkpoints {
		last := c.files[len(c.files)-1]
		if !last.Modified.After(cutoff) {
			keep = max(keep, c.version)
		}
	}
	if keep <= 0 {
		return 0, nil
	}
	return l.deleteBefore(ctx, keep, cutoff)
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
