package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"microbatch/internal/bugs"
	"microbatch/internal/errcode"
	"microbatch/internal/failpoint"
	"microbatch/sinks"
)

// Commit adds the marker to the transaction of the batch and ends it.
func (s *Sink) Commit(ctx context.Context, staged sinks.Pending) (sinks.Result, error) {
	p, err := ours(staged)
	if err != nil {
		return sinks.Result{Version: -1}, err
	}
	if s.cfg.Mode == Idempotent {
		return s.commitWritten(ctx)
	}
	switch {
	case s.seen.is(p.id, p.digest):
		s.drop(ctx, p)
		return sinks.Result{Outcome: sinks.AlreadyCommitted, Version: -1}, nil
	case s.seen.batch >= p.id:
		s.drop(ctx, p)
		return sinks.Result{Version: -1}, s.foreign(s.seen, p)
	case p.producer == nil || p.producer != s.producer: // it was discarded meanwhile: its transaction cannot be committed any more
		return s.settle(ctx, p, errcode.KafkaSinkLost.New(name(s.query), "the producer of the transaction was given up"), false)
	}
	m := markerOf(s.query, p.id, p.digest, s.cfg.Now())
	if bugs.Is(bugs.MarkerApart) {
		err = apart(ctx, p.producer)
	}
	if err == nil {
		err = s.addPositions(ctx, p, m)
	}
	if err != nil {
		return s.settle(ctx, p, err, false)
	}
	failpoint.Hit("kafka.before-end")
	err = p.producer.End(ctx, true)
	failpoint.Hit("kafka.after-end")
	if err != nil {
		return s.settle(ctx, p, s.explain(err, "commit the transaction"), true)
	}
	p.producer, s.seen = nil, m
	return sinks.Result{Outcome: sinks.Committed, Version: -1}, nil
}

// addPositions adds the marker, and the source's positions after the batch, to the transaction.
func (s *Sink) addPositions(ctx context.Context, p *pending, m marker) error {
	if s.cfg.CommitGroup != "" {
		ends, err := s.cfg.Positions(p.ranges)
		if err != nil {
			return fmt.Errorf("kafka sink: positions for group %s: %w", s.cfg.CommitGroup, err)
		}
		at := map[Partition]Position{}
		for topic, partitions := range ends {
			for number, offset := range partitions {
				at[Partition{topic, number}] = Position{Offset: offset}
			}
		}
		if err := s.addTo(ctx, p.producer, s.cfg.CommitGroup, at); err != nil {
			return groupRefused(err, s.cfg.CommitGroup)
		}
	}
	return s.addMarker(ctx, p.producer, m)
}

func (s *Sink) addMarker(ctx context.Context, to Producer, m marker) error {
	position, err := m.position()
	if err != nil {
		return fmt.Errorf("kafka sink: marker: %w", err)
	}
	return s.addTo(ctx, to, name(s.query), map[Partition]Position{s.markerAt(): position})
}

func (s *Sink) addTo(ctx context.Context, to Producer, group string, at map[Partition]Position) error {
	if len(at) == 0 {
		return nil
	}
	return s.ask(ctx, "commit positions of group "+group, func(ctx context.Context) error {
		return to.Positions(ctx, group, at)
	})
}

// groupRefused gives an error about the positions of commit_group its code: topics that the cluster does not have, or a name that it does not take.
func groupRefused(err error, group string) error {
	for _, e := range []*kerr.Error{kerr.UnknownTopicOrPartition, kerr.InvalidGroupID, kerr.UnknownMemberID} {
		if errors.Is(err, e) {
			return errcode.KafkaSinkGroup.Wrap(err, "group "+group, "")
		}
	}
	return err
}

// settle finds out how a commit has ended that was not answered clearly. The producer is given up (T4). ended: its end was asked for, so that only the marker can tell
// (T5); otherwise nothing of the batch can become visible any more.
func (s *Sink) settle(ctx context.Context, p *pending, why error, ended bool) (sinks.Result, error) {
	if !ended {
		s.drop(ctx, p)
	}
	p.producer = nil
	s.discard()
	uncertain := sinks.Result{Outcome: sinks.Uncertain, Version: -1, Why: why}
	m, err := s.settled(ctx, s.query)
	switch {
	case err != nil:
		uncertain.Why = fmt.Errorf("%w; and then: %w", why, err)
		return uncertain, nil
	case m.is(p.id, p.digest):
		s.seen = m
		if ended && m.entry == s.query.Entry.String() {
			return sinks.Result{Outcome: sinks.Committed, Version: -1}, nil
		}
		return sinks.Result{Outcome: sinks.AlreadyCommitted, Version: -1}, nil
	case m.epoch > s.query.Epoch:
		return sinks.Result{Outcome: sinks.Fenced, Version: -1, Why: s.fenced(m)}, nil
	case m.batch >= p.id:
		return sinks.Result{Version: -1}, s.foreign(m, p)
	}
	if newer := s.newest(ctx); errcode.Has(newer, errcode.KafkaSinkFenced) {
		return sinks.Result{Outcome: sinks.Fenced, Version: -1, Why: newer}, nil
	}
	if !ended && errcode.ClassOf(why) != errcode.Retry {
		return sinks.Result{Version: -1}, why
	}
	return uncertain, nil
}

// foreign says that the marker is of another batch than the one that is committed.
func (s *Sink) foreign(m marker, p *pending) error {
	if m.batch == p.id {
		return errcode.KafkaSinkForeign.New("group "+name(s.query), "batch %s is visible with digest %s, this one has %s: it covers other offsets", p.id, m.digest, p.digest)
	}
	return errcode.KafkaSinkForeign.New("group "+name(s.query), "batch %s is visible already, this is batch %s", m.batch, p.id)
}

// mark commits our epoch, with the batch that is visible, in a transaction without records.
func (s *Sink) mark(ctx context.Context) error {
	m := markerOf(s.query, s.seen.batch, s.seen.digest, s.cfg.Now())
	err := s.producer.Begin()
	if err == nil {
		err = s.addMarker(ctx, s.producer, m)
	}
	if err == nil {
		err = s.producer.End(ctx, true)
	}
	if err != nil {
		s.discard()
		if err = s.whose(ctx, err); errcode.Has(err, errcode.KafkaSinkFenced) {
			return err
		}
		return errcode.OutcomeUnknown.Wrap(s.explain(err, "commit the marker"), "group "+name(s.query), "")
	}
	s.seen = m
	return nil
}

// commitWritten is the end of a batch whose records are there already. A newer epoch is looked for: that narrows the time in which two drivers write, and does not close it.
func (s *Sink) commitWritten(ctx context.Context) (sinks.Result, error) {
	err := s.newest(ctx)
	if errcode.Has(err, errcode.KafkaSinkFenced) {
		return sinks.Result{Outcome: sinks.Fenced, Version: -1, Why: err}, nil
	}
	return sinks.Result{Outcome: sinks.Committed, Version: -1}, err
}
