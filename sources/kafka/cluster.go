package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"microbatch/internal/errcode"
)

// cluster is what the brokers say about the topics that are read.
type cluster struct {
	ids     map[string]topicID
	leaders byPartition[leader]
}

// leader is the broker that serves a partition, and the number of its reign.
type leader struct {
	broker int32 // -1: none just now
	epoch  int32 // -1: unknown
}

// lookAround asks for the topics, their partitions and leaders. A topic that does not exist is left out.
func (s *Source) lookAround(ctx context.Context) (cluster, error) {
	var c cluster
	err := s.ask(ctx, "ask for the topics", func(ctx context.Context) (err error) {
		c, err = s.metadata(ctx)
		return err
	})
	return c, err
}

func (s *Source) metadata(ctx context.Context) (cluster, error) {
	req := kmsg.NewPtrMetadataRequest()
	for _, topic := range s.config.Topics { // none: all topics, for a pattern
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(topic)
		req.Topics = append(req.Topics, t)
	}
	resp, err := req.RequestWith(ctx, s.client)
	if err != nil {
		return cluster{}, err
	}
	c := cluster{ids: map[string]topicID{}, leaders: byPartition[leader]{}}
	for i := range resp.Topics {
		if err := s.note(c, &resp.Topics[i]); err != nil {
			return cluster{}, err
		}
	}
	return c, nil
}

// note adds a topic of an answer to c.
func (s *Source) note(c cluster, t *kmsg.MetadataResponseTopic) error {
	if t.Topic == nil || s.pattern != nil && (t.IsInternal || !s.pattern.MatchString(*t.Topic)) {
		return nil
	}
	switch err := kerr.ErrorForCode(t.ErrorCode); {
	case errors.Is(err, kerr.UnknownTopicOrPartition):
		return nil
	case err != nil:
		return fmt.Errorf("topic %s: %w", *t.Topic, err)
	}
	c.ids[*t.Topic] = t.TopicID
	for _, p := range t.Partitions {
		c.leaders.set(*t.Topic, p.Partition, leader{p.Leader, p.LeaderEpoch})
	}
	return nil
}

// What ListOffsets takes for a time.
const (
	atEarliest int64 = -2
	atLatest   int64 = -1
)

// mark is an offset and the leader epoch in which it lies; -1 if unknown.
type mark struct {
	offset int64
	epoch  int32
}

// offsetsAt asks for the offset of a time, atEarliest or atLatest, of each partition. The latest is the last stable one under read_committed (K2). A time after
// all records gives -1.
func (s *Source) offsetsAt(ctx context.Context, c cluster, at func(partitionName) int64, isolation Isolation) (byPartition[mark], error) {
	var found byPartition[mark]
	err := s.ask(ctx, "ask for offsets", func(ctx context.Context) (err error) {
		found, err = s.listOffsets(ctx, c, at, isolation)
		return err
	})
	return found, err
}

func (s *Source) listOffsets(ctx context.Context, c cluster, at func(partitionName) int64, isolation Isolation) (byPartition[mark], error) {
	found := byPartition[mark]{}
	if len(c.leaders) == 0 {
		return found, nil
	}
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	req.TimeoutMillis = int32(min(30*time.Second, s.config.RetryFor/4).Milliseconds()) // the client waits as long for an answer, and an answer may be lost
	if isolation == ReadCommitted {
		req.IsolationLevel = 1
	}
	for name := range c.leaders.all {
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != name.topic {
			t := kmsg.NewListOffsetsRequestTopic()
			t.Topic = name.topic
			req.Topics = append(req.Topics, t)
		}
		t := &req.Topics[len(req.Topics)-1]
		p := kmsg.NewListOffsetsRequestTopicPartition()
		p.Partition, p.Timestamp = name.partition, at(name)
		t.Partitions = append(t.Partitions, p)
	}
	resp, err := req.RequestWith(ctx, s.client)
	if err != nil {
		return nil, err
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return nil, fmt.Errorf("%s: %w", partitionName{t.Topic, p.Partition}, err)
			}
			found.set(t.Topic, p.Partition, mark{p.Offset, p.LeaderEpoch})
		}
	}
	for name := range c.leaders.all {
		if _, ok := found.get(name.topic, name.partition); !ok {
			return nil, errcode.KafkaBrokerError.New(name.String(), "the brokers did not say its offset")
		}
	}
	return found, nil
}

func everywhere(at int64) func(partitionName) int64 { return func(partitionName) int64 { return at } }

// endsOfEpochs asks where the log of each epoch ends; what is asked about is past epochs only, so a log that was cut shows itself by an end before the position.
func (s *Source) endsOfEpochs(ctx context.Context, c cluster, epochs byPartition[int32]) (position, error) {
	var ends position
	err := s.ask(ctx, "ask for the ends of leader epochs", func(ctx context.Context) (err error) {
		if ends, err = s.offsetsForEpochs(ctx, c, epochs); err == nil {
			return nil
		}
		if now, err := s.metadata(ctx); err == nil {
			c = now // others may lead since c was seen, and they answer to nobody who does not know
		}
		return err
	})
	return ends, err
}

func (s *Source) offsetsForEpochs(ctx context.Context, c cluster, epochs byPartition[int32]) (position, error) {
	req := kmsg.NewPtrOffsetForLeaderEpochRequest()
	req.ReplicaID = -1
	for name, epoch := range epochs.all {
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != name.topic {
			t := kmsg.NewOffsetForLeaderEpochRequestTopic()
			t.Topic = name.topic
			req.Topics = append(req.Topics, t)
		}
		t := &req.Topics[len(req.Topics)-1]
		p := kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
		p.Partition, p.LeaderEpoch = name.partition, epoch
		if l, ok := c.leaders.get(name.topic, name.partition); ok {
			p.CurrentLeaderEpoch = l.epoch
		}
		t.Partitions = append(t.Partitions, p)
	}
	resp, err := req.RequestWith(ctx, s.client)
	if err != nil {
		return nil, err
	}
	ends := position{}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return nil, fmt.Errorf("%s: %w", partitionName{t.Topic, p.Partition}, err)
			}
			ends.set(t.Topic, p.Partition, p.EndOffset)
		}
	}
	return ends, nil
}
