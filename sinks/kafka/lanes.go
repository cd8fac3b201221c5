package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// target is a topic that is written to.
type target struct {
	name  string
	lanes []*lane   // by partition
	asked time.Time // when the topic was looked up last
}

// lane is a partition, with the blocks that wait to be acknowledged, in order. Only the first is under way.
type lane struct {
	to       Partition
	leader   int32 // -1: none is known
	blocks   []*block
	first    *block    // of blocks, which is under way, or in line for it; nil: none is
	sequence int32     // of the first block
	sent     time.Time // when the first block was sent first; zero: it was not
	refused  error     // what was said of it last; nil: nothing
	added    bool      // it is part of the transaction
}

// What goes to a broker at a time. Blocks of lanes that are ready together share a request.
const (
	maxFlying  = 4       // requests
	maxRequest = 4 << 20 // bytes, more only of one block
)

// resendPause is before a block is sent again.
const resendPause = 50 * time.Millisecond

// metadataAge is how long a topic is taken to have as many partitions as it had.
const metadataAge = time.Minute

// target is a topic, which is looked up when it is first written to, and now and then: partitions may be added.
func (p *producing) target(ctx context.Context, topic string) (*target, error) {
	p.mu.Lock()
	t := p.topics[topic]
	known := t != nil && time.Since(t.asked) < metadataAge
	p.mu.Unlock()
	if known {
		return t, nil
	}
	leaders, err := p.leaders(ctx, topic)
	for tries := 0; kerr.IsRetriable(err) && tries < 10 && t == nil; tries++ { // it may just have been made
		if err := pause(ctx, 2*resendPause); err != nil {
			return nil, err
		}
		leaders, err = p.leaders(ctx, topic)
	}
	if err != nil && t == nil {
		return nil, fmt.Errorf("topic %q: %w", topic, err)
	}
	if t == nil {
		p.learn(ctx, topic)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	// Others may be using what is there: it is replaced.
	fresh := &target{name: topic, asked: time.Now()}
	if old := p.topics[topic]; old != nil {
		fresh.lanes = slices.Clone(old.lanes)
	}
	for _, leader := range leaders[min(len(fresh.lanes), len(leaders)):] {
		fresh.lanes = append(fresh.lanes, &lane{to: Partition{topic, int32(len(fresh.lanes))}, leader: leader})
	}
	p.topics[topic] = fresh
	return fresh, nil
}

// leaders asks for the leaders of a topic's partitions; -1 for none.
func (p *producing) leaders(ctx context.Context, topic string) ([]int32, error) {
	req := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = kmsg.StringPtr(topic)
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, p.client)
	if err != nil {
		return nil, err
	}
	for _, t := range resp.Topics {
		if t.Topic == nil || *t.Topic != topic {
			continue
		}
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			return nil, err
		}
		leaders := make([]int32, len(t.Partitions))
		for _, partition := range t.Partitions {
			if partition.Partition < 0 || int(partition.Partition) >= len(leaders) {
				return nil, kerr.LeaderNotAvailable // the answer has a hole
			}
			leader := partition.Leader
			if partition.ErrorCode != 0 && !errors.Is(kerr.ErrorForCode(partition.ErrorCode), kerr.ReplicaNotAvailable) {
				leader = -1
			}
			leaders[partition.Partition] = leader
		}
		if len(leaders) > 0 {
			return leaders, nil
		}
	}
	return nil, kerr.UnknownTopicOrPartition
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// release puts a lane in line, if it has something to send and is not under way. mu is held.
func (p *producing) release(l *lane) {
	if l.first == nil && len(l.blocks) > 0 {
		l.first = l.blocks[0]
		p.ready[l.leader] = append(p.ready[l.leader], l)
	}
}

// dispatch sends what can be sent now. mu is held.
func (p *producing) dispatch() {
	for leader, line := range p.ready {
		for len(line) > 0 && p.flying[leader] < maxFlying && p.failed == nil {
			n, bytes := 0, 0
			for n < len(line) && (n == 0 || bytes+len(line[n].first.bytes) <= maxRequest) {
				bytes += len(line[n].first.bytes)
				n++
			}
			lanes := line[:n:n]
			line = line[n:]
			p.flying[leader]++
			for _, l := range lanes {
				if l.sent.IsZero() {
					l.sent = time.Now()
				}
			}
			go p.send(leader, lanes)
		}
		if p.ready[leader] = line; len(line) == 0 {
			delete(p.ready, leader)
		}
	}
}

// errInDoubt says that a block was sent, and nobody knows whether it arrived.
var errInDoubt = errors.New("the transaction is aborted, and a batch of records that was sent has no answer")

// drop forgets all blocks that were not sent. mu is held.
func (p *producing) drop() {
	for _, line := range p.ready {
		for _, l := range line {
			if !l.sent.IsZero() { // it waits to be sent again
				p.fail(fmt.Errorf("%s: %w", l.to, errInDoubt))
			}
			l.first = nil
		}
	}
	clear(p.ready)
	for _, t := range p.topics {
		for _, l := range t.lanes {
			keep := 0
			if l.first != nil {
				keep = 1
			}
			for _, b := range l.blocks[keep:] {
				p.held -= len(b.bytes)
			}
			l.blocks = l.blocks[:keep]
		}
	}
	p.change()
}

// errTooMuch says that it is not the records that are too large: the topic's setting was changed, or is not known. A batch that runs again makes smaller blocks.
var errTooMuch = errors.New("a batch of records is more than the topic's max.message.bytes, which is asked for again")

// send sends the first blocks of lanes to their leader. The lanes are its own until it ends.
func (p *producing) send(leader int32, lanes []*lane) {
	answers, err := p.request(leader, lanes)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.flying[leader]--
	var again []*lane
	for _, l := range lanes {
		why := err
		if why == nil {
			why = answers[l.to]
		}
		switch {
		case why == nil || errors.Is(why, kerr.DuplicateSequenceNumber): // it was written, and the answer was lost
			p.acknowledged(l)
		case errors.Is(why, kerr.MessageTooLarge) && l.first.count > 1:
			p.tooMuch(l.to.Topic, len(l.first.bytes))
			p.fail(fmt.Errorf("%s: %w (%d records, %d bytes): %w", l.to, errTooMuch, l.first.count, len(l.first.bytes), why))
		case !repeatable(why):
			p.fail(fmt.Errorf("%s: %w", l.to, why))
		case time.Since(l.sent) >= p.patience:
			p.fail(fmt.Errorf("%s: not acknowledged within %s: %w", l.to, p.patience, cmp.Or(l.refused, why)))
		default:
			if !errors.Is(why, context.DeadlineExceeded) {
				l.refused = why
			}
			again = append(again, l)
		}
	}
	if len(again) > 0 && p.failed == nil {
		go p.resend(again)
	}
	p.dispatch()
}

// acknowledged takes the first block of a lane away. mu is held.
func (p *producing) acknowledged(l *lane) {
	l.sequence = sequenceAfter(l.sequence, l.first.count)
	p.held -= len(l.first.bytes)
	l.blocks[0] = nil // for the garbage collector
	l.blocks, l.first, l.sent, l.refused = l.blocks[1:], nil, time.Time{}, nil
	p.release(l)
	p.change()
}

// resend puts lanes in line again, after a pause, before the leaders that they have then.
func (p *producing) resend(lanes []*lane) {
	if pause(p.ctx, resendPause) != nil {
		return
	}
	leaders := map[string][]int32{}
	for _, l := range lanes {
		if _, ok := leaders[l.to.Topic]; !ok {
			leaders[l.to.Topic], _ = p.leaders(p.ctx, l.to.Topic) // what is not known is asked for again
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.aborting {
		p.fail(errInDoubt)
		return
	}
	for _, l := range lanes {
		if known := leaders[l.to.Topic]; int(l.to.Number) < len(known) {
			l.leader = known[l.to.Number]
		}
		p.ready[l.leader] = append(p.ready[l.leader], l)
	}
	p.dispatch()
}

// repeatable reports whether a block may be sent again with its number. An answer that did not come is one: what was written is found to be a duplicate.
func repeatable(err error) bool {
	if answer, ok := errors.AsType[*kerr.Error](err); ok {
		return answer.Retriable || answer == kerr.ConcurrentTransactions // (KIP-890) the coordinator is still at the transaction before
	}
	return !errors.Is(err, context.Canceled)
}

// request adds lanes to the transaction that are not part of it, sends the first block of each, and returns what the broker says of each.
func (p *producing) request(leader int32, lanes []*lane) (map[Partition]error, error) {
	if leader < 0 {
		return nil, kerr.LeaderNotAvailable
	}
	ctx, cancel := context.WithDeadline(p.ctx, lanes[0].sent.Add(p.patience))
	defer cancel()
	if err := p.add(ctx, lanes); err != nil {
		return nil, err
	}
	req := kmsg.NewPtrProduceRequest()
	req.Acks, req.TimeoutMillis = -1, 10_000
	if p.id != "" {
		req.TransactionID = &p.id
	}
	topics := map[string]int{}
	for _, l := range lanes {
		i, ok := topics[l.to.Topic]
		if !ok {
			i = len(req.Topics)
			t := kmsg.NewProduceRequestTopic()
			t.Topic = l.to.Topic
			topics[l.to.Topic], req.Topics = i, append(req.Topics, t)
		}
		partition := kmsg.NewProduceRequestTopicPartition()
		l.first.stamp(p.producer, p.epoch, l.sequence)
		partition.Partition, partition.Records = l.to.Number, l.first.bytes
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, partition)
	}
	resp, err := p.client.Broker(int(leader)).Request(ctx, req)
	if err != nil {
		return nil, err
	}
	answers := map[Partition]error{}
	for _, l := range lanes {
		answers[l.to] = kerr.UnknownServerError // unless the broker says something
	}
	for _, t := range resp.(*kmsg.ProduceResponse).Topics {
		for _, partition := range t.Partitions {
			err := kerr.ErrorForCode(partition.ErrorCode)
			if err != nil && partition.ErrorMessage != nil {
				err = fmt.Errorf("%w: %s", err, *partition.ErrorMessage)
			}
			answers[Partition{t.Topic, partition.Partition}] = err
		}
	}
	return answers, nil
}

// add makes lanes part of the transaction. It may be repeated.
func (p *producing) add(ctx context.Context, lanes []*lane) error {
	if p.id == "" {
		return nil
	}
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = p.id, p.producer, p.epoch
	topics := map[string]int{}
	for _, l := range lanes {
		if l.added {
			continue
		}
		i, ok := topics[l.to.Topic]
		if !ok {
			i = len(req.Topics)
			t := kmsg.NewAddPartitionsToTxnRequestTopic()
			t.Topic = l.to.Topic
			topics[l.to.Topic], req.Topics = i, append(req.Topics, t)
		}
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, l.to.Number)
	}
	if len(req.Topics) == 0 {
		return nil
	}
	p.begin()
	err := whileEnding(ctx, func() error {
		req.Transactions = nil // the library's, of the last time
		resp, err := req.RequestWith(ctx, p.client)
		if err != nil {
			return err
		}
		for _, t := range resp.Topics {
			for _, partition := range t.Partitions {
				if err := kerr.ErrorForCode(partition.ErrorCode); err != nil && !errors.Is(err, kerr.OperationNotAttempted) { // of another partition's error
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("add to the transaction: %w", err)
	}
	for _, l := range lanes {
		l.added = true
	}
	return nil
}
