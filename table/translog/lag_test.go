package translog

import (
	"context"
	"iter"
	"slices"
	"testing"
	"time"

	"microbatch/objstore"
	"microbatch/objstore/mem"
)

// lagging is a store whose listings do not show some keys yet.
type lagging struct {
	objstore.Store
	hidden []string
}

func (s *lagging) List(ctx context.Context, prefix, after string) iter.Seq2[objstore.Info, error] {
	return func(yield func(objstore.Info, error) bool) {
		for info, err := range s.Store.List(ctx, prefix, after) {
			if err == nil && slices.Contains(s.hidden, info.Key) {
				continue
			}
			if !yield(info, err) {
				return
			}
		}
	}
}

// TestTheNewestVersionIsFoundThoughTheListingLags: what a listing shows last is asked for its successors (S07).
func TestTheNewestVersionIsFoundThoughTheListingLags(t *testing.T) {
	for _, format := range []Format{Parquet, Delta} {
		store := &lagging{Store: mem.New()}
		log := New(store, format, time.Now)
		state := begin(t, log)
		for i := range 4 {
			state = add(t, log, state, i)
		}
		for v := int64(4); v >= 2; v-- {
			store.hidden = append(store.hidden, format.CommitKey(v))
			if s, err := log.Load(t.Context(), Latest); err != nil || s.Version != 4 {
				t.Errorf("%s: %d versions are not listed: %+v, %v", format, len(store.hidden), s, err)
			}
		}
	}
}
