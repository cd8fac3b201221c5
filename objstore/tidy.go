package objstore

import (
	"context"
	"time"
)

// Tidier is a store in which a killed writer leaves something that no List shows: temporary files on disk, unfinished uploads on S3.
type Tidier interface {
	// Tidy removes such things below a prefix that are older than a time, and returns how many. The time has to be well before the start of the oldest
	// writer that may still be at work.
	Tidy(ctx context.Context, prefix string, before time.Time) (int, error)
}

// Tidy tidies a store, if there is anything to tidy in it.
func Tidy(ctx context.Context, s Store, prefix string, before time.Time) (int, error) {
	if t, ok := s.(Tidier); ok {
		return t.Tidy(ctx, prefix, before)
	}
	return 0, nil
}

// Tidy tidies the part of the store.
func (p prefixed) Tidy(ctx context.Context, prefix string, before time.Time) (int, error) {
	return Tidy(ctx, p.Store, p.dir+prefix, before)
}
