package kafka

import (
	"context"
	"time"

	"microbatch/internal/errcode"
	"microbatch/internal/retry"
)

// ask repeats a request until it is answered, within the budget of time, and gives the last error a code.
func (s *Source) ask(ctx context.Context, doing string, op func(ctx context.Context) error) error {
	policy := retry.Policy{First: 50 * time.Millisecond, Max: 2 * time.Second, Budget: s.config.RetryFor, Steady: true} // the client's own retries are varied
	err := retry.Do(ctx, policy, func(err error) bool { return retryable(s.explain(err, doing)) }, op)
	return s.explain(err, doing)
}

func retryable(err error) bool { return errcode.ClassOf(err) == errcode.Retry }

// explain gives an error of the client library or the broker its code; one that has a code keeps it.
func (s *Source) explain(err error, doing string) error {
	return s.config.access().Explain(err, doing)
}

// brokers names the cluster in errors.
func (s *Source) brokers() string { return s.config.access().String() }
