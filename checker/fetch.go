package checker

import (
	"context"
	"iter"
)

// fetched are the bytes of a version.
type fetched struct {
	data []byte
	err  error
}

const (
	// fetchAhead is how many versions are fetched at once: on S3 each takes a round trip.
	fetchAhead = 32
	// fetchMany is from how many versions on that is done. Fewer are read one after another, so that simulations stay in one goroutine.
	fetchMany = 512
)

// fetch yields the versions from first to last in order.
func (t *tableLog) fetch(ctx context.Context, first, last int64) iter.Seq2[int64, fetched] {
	get := func(ctx context.Context, n int64) fetched {
		data, err := t.store.Get(ctx, t.format.commitKey(n))
		return fetched{data, err}
	}
	if last-first < fetchMany {
		return func(yield func(int64, fetched) bool) {
			for n := first; n <= last && yield(n, get(ctx, n)); n++ {
			}
		}
	}
	return func(yield func(int64, fetched) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		queue := make(chan chan fetched, fetchAhead)
		go func() {
			defer close(queue)
			for n := first; n <= last; n++ {
				one := make(chan fetched, 1)
				select {
				case queue <- one:
				case <-ctx.Done():
					return
				}
				go func() { one <- get(ctx, n) }()
			}
		}()
		for n := first; n <= last; n++ {
			one, ok := <-queue
			if !ok { // ctx ended
				yield(n, fetched{err: ctx.Err()})
				return
			}
			if !yield(n, <-one) {
				return
			}
		}
	}
}
