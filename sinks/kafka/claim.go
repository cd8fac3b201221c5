package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"microbatch/internal/bugs"
	"microbatch/internal/errcode"
	"microbatch/internal/failpoint"
	"microbatch/internal/kafkaclient"
	"microbatch/internal/retry"
)

// claim makes a producer of the query's transactional id, if there is none. This is the only way to one.
func (s *Sink) claim(ctx context.Context) error {
	if s.producer != nil {
		return nil
	}
	if s.cfg.Mode == Idempotent {
		return s.ask(ctx, "make a producer", func(ctx context.Context) (err error) {
			s.producer, err = s.cluster.Producer(ctx, "")
			return err
		})
	}
	var p Producer
	err := s.ask(ctx, "claim the transactional id "+name(s.query), func(ctx context.Context) (err error) {
		if err := s.newest(ctx); err != nil { // (T1)
			return err
		}
		failpoint.Hit("kafka.before-init")
		p, err = s.cluster.Producer(ctx, name(s.query))
		return err
	})
	if err != nil {
		return err
	}
	failpoint.Hit("kafka.after-init")
	m, err := s.admit(ctx)
	if err != nil {
		p.Close()
		return err
	}
	s.producer, s.seen = p, m
	return nil
}

// admit says whether this driver may write with the producer that it has just claimed, and what is visible.
func (s *Sink) admit(ctx context.Context) (marker, error) {
	if err := s.newest(ctx); err != nil { // (T2)
		return marker{}, err
	}
	if bugs.Is(bugs.MarkerFromMemory) {
		return s.remembered(), nil
	}
	m, err := s.settled(ctx, s.query) // (T3)
	if err == nil && m.epoch > s.query.Epoch {
		err = s.fenced(m)
	}
	return m, err
}

// newest is an error if a newer epoch was claimed.
func (s *Sink) newest(ctx context.Context) error {
	newest, err := s.query.Newest(ctx)
	if err != nil {
		return fmt.Errorf("kafka sink: list epochs: %w", err)
	}
	if newest > s.query.Epoch {
		return errcode.KafkaSinkFenced.New(name(s.query), "epoch %s was claimed, this driver has %s", newest, s.query.Epoch)
	}
	return nil
}

func (s *Sink) fenced(m marker) error {
	return errcode.KafkaSinkFenced.New(name(s.query), "the marker holds epoch %s (batch %s, entry %s), this driver has %s", m.epoch, m.batch, m.entry, s.query.Epoch)
}

// discard closes the producer, if there is one (T4).
func (s *Sink) discard() {
	if s.producer != nil && !bugs.Is(bugs.ProducerIsKept) {
		s.producer.Close()
		s.producer = nil
	}
}

// ask repeats what fails because the brokers do not answer, within the budget, and gives the last error a code. A producer that was fenced is not asked again (T4).
func (s *Sink) ask(ctx context.Context, doing string, op func(ctx context.Context) error) error {
	policy := retry.Policy{First: 20 * time.Millisecond, Max: 2 * time.Second, Budget: s.cfg.RetryFor, Steady: true} // the client's own retries are varied
	err := retry.Do(ctx, policy, func(err error) bool {
		return !isFenced(err) && errcode.ClassOf(s.explain(err, doing)) == errcode.Retry
	}, op)
	return s.explain(err, doing)
}

// explain gives an error its code; one that has a code keeps it.
func (s *Sink) explain(err error, doing string) error {
	switch {
	case err == nil:
		return nil
	case kafkaclient.NotAuthorized(err):
		return errcode.KafkaSinkRights.Wrap(err, s.cfg.access().String(), "%s", doing)
	case errors.Is(err, kerr.InvalidTransactionTimeout):
		return errcode.KafkaSinkTimeout.Wrap(err, s.cfg.access().String(), "transaction_timeout is %s, more than the brokers allow (transaction.max.timeout.ms)", s.cfg.Timeout)
	case errors.Is(err, errTooMuch):
		return errcode.KafkaBrokerError.Wrap(err, s.cfg.access().String(), "%s", doing)
	case errors.Is(err, kerr.MessageTooLarge), errors.Is(err, kerr.RecordListTooLarge), errors.Is(err, kerr.InvalidRecord):
		return errcode.KafkaSinkRecord.Wrap(err, s.cfg.access().String(), "%s", doing)
	case errors.Is(err, kerr.UnknownTopicOrPartition), errors.Is(err, kerr.UnknownTopicID), errors.Is(err, kerr.InvalidTopicException):
		return errcode.KafkaSinkTopic.Wrap(err, s.cfg.access().String(), "%s", doing)
	case isFenced(err):
		return errcode.KafkaSinkLost.Wrap(err, s.cfg.access().String(), "%s", doing)
	}
	return s.cfg.access().Explain(err, doing)
}

// isFenced reports whether the broker refuses a producer because its transaction has ended without it: another producer of the id has come, or it took too long.
func isFenced(err error) bool {
	for _, e := range []*kerr.Error{kerr.ProducerFenced, kerr.InvalidProducerEpoch, kerr.InvalidProducerIDMapping, kerr.InvalidTxnState, kerr.TransactionAbortable} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}
