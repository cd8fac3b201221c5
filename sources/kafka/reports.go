package kafka

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"microbatch/ident"
)

// reports commits progress to a consumer group, for lag tools. It is informative: nothing is read back, and a failure is only a notice. At most one commit a
// second is made, beside the batches.
type reports struct {
	source *Source
	wake   chan struct{}
	stop   chan struct{}
	done   chan struct{}

	complaint string // the last notice, which is not repeated

	mu      sync.Mutex
	pending position // nil: nothing new
}

const (
	reportEvery  = time.Second
	reportBudget = 5 * time.Second
)

func newReports(s *Source) *reports {
	r := &reports{source: s, wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{})}
	go r.loop()
	return r
}

// set replaces what is to be committed.
func (r *reports) set(p position) {
	r.mu.Lock()
	r.pending = p
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *reports) loop() {
	defer close(r.done)
	pause := time.NewTicker(reportEvery)
	defer pause.Stop()
	for {
		select {
		case <-r.wake:
			r.commit()
		case <-r.stop:
			r.commit()
			return
		}
		select {
		case <-pause.C:
		case <-r.stop:
		}
	}
}

func (r *reports) commit() {
	r.mu.Lock()
	p := r.pending
	r.pending = nil
	r.mu.Unlock()
	if p == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), reportBudget)
	defer cancel()
	err := r.source.commitOffsets(ctx, p)
	if err != nil && err.Error() != r.complaint {
		r.complaint = err.Error()
		r.source.config.Notice(fmt.Sprintf("kafka: progress was not committed to the group %s: %v", r.source.config.GroupID, err))
	}
}

func (s *Source) commitOffsets(ctx context.Context, p position) error {
	ids := s.knownIDs()
	req := kmsg.NewPtrOffsetCommitRequest()
	req.Group = s.config.GroupID
	for name, at := range p.all {
		if n := len(req.Topics); n == 0 || req.Topics[n-1].Topic != name.topic {
			t := kmsg.NewOffsetCommitRequestTopic()
			t.Topic, t.TopicID = name.topic, ids[name.topic]
			req.Topics = append(req.Topics, t)
		}
		t := &req.Topics[len(req.Topics)-1]
		o := kmsg.NewOffsetCommitRequestTopicPartition()
		o.Partition, o.Offset = name.partition, at
		t.Partitions = append(t.Partitions, o)
	}
	resp, err := req.RequestWith(ctx, s.client)
	if err != nil {
		return err
	}
	for _, t := range resp.Topics {
		for _, o := range t.Partitions {
			if err := kerr.ErrorForCode(o.ErrorCode); err != nil {
				return err
			}
		}
	}
	return nil
}

// close commits the last position and ends.
func (r *reports) close() {
	close(r.stop)
	<-r.done
}

// Release shows the position to lag tools, if a group is set. Kafka keeps its records by its own rules.
func (s *Source) Release(_ context.Context, upTo ident.Offset) error {
	if s.reports == nil {
		return nil
	}
	p, err := parsePosition(upTo)
	if err != nil {
		return err
	}
	s.reports.set(p)
	return nil
}
