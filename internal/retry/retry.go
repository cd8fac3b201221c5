package retry

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Policy says how long and how often to try. The zero value tries for 30 s, from 100 ms up to 5 s apart, give or take a half.
type Policy struct {
	First  time.Duration             // pause after the first failure; 0 is 100 ms
	Max    time.Duration             // longest pause; 0 is 5 s
	Budget time.Duration             // no new try after this long; 0 is 30 s
	Wanted func(error) time.Duration // how long the other side asks to wait after an error, 0 if it does not; nil asks nobody
	Steady bool                      // the pauses are not varied by chance: where something below does that already, or a run must be repeatable
}

// Do calls op until it succeeds, its error is not retryable, the budget is spent or ctx ends, and returns the last error.
func Do(ctx context.Context, p Policy, retryable func(error) bool, op func(ctx context.Context) error) error {
	b := backoff.NewExponentialBackOff()
	b.InitialInterval = or(p.First, 100*time.Millisecond)
	b.MaxInterval = or(p.Max, 5*time.Second)
	if p.Steady {
		b.RandomizationFactor = 0
	}
	var last error
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		last = op(ctx)
		if last != nil && !retryable(last) {
			return struct{}{}, backoff.Permanent(last)
		}
		if last != nil && p.Wanted != nil {
			if wait := min(p.Wanted(last), longestWanted); wait > 0 {
				return struct{}{}, &backoff.RetryAfterError{Duration: wait}
			}
		}
		return struct{}{}, last
	}, backoff.WithBackOff(b), backoff.WithMaxElapsedTime(or(p.Budget, 30*time.Second)))
	if err != nil && last != nil {
		return last
	}
	return err
}

// longestWanted bounds what the other side may ask for: it must not use up the budget with one word.
const longestWanted = 10 * time.Second

func or(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}
