package objstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"

	"microbatch/internal/bugs"
)

// Remove deletes objects and makes that durable: after it has returned nil, none of them comes back with a loss of power. It goes on after an error.
func Remove(ctx context.Context, s Store, keys []string) error {
	var errs []error
	gone := map[string]string{} // a deleted key of each directory
	for _, key := range keys {
		if err := s.Delete(ctx, key); err != nil {
			errs = append(errs, fmt.Errorf("delete %s: %w", key, err))
			continue
		}
		gone[path.Dir(key)] = key
	}
	if bugs.Is(bugs.SweepIsNotDurable) {
		return errors.Join(errs...)
	}
	for _, dir := range slices.Sorted(maps.Keys(gone)) {
		key := gone[dir]
		if err := s.Sync(ctx, key); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("delete files of %s: %w", dir, err))
		}
	}
	return errors.Join(errs...)
}
