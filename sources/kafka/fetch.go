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

	"microbatch/internal/bugs"
	"microbatch/internal/errcode"
)

const (
	answerBytes = 8 << 20                // most bytes of one answer of a broker
	answerWait  = 100 * time.Millisecond // how long a broker may wait for data, which it has already announced
)

// fetch is the fetcher of one broker: it asks, in one request at a time, for all tapes that the broker leads and that may go on.
func (f *feed) fetch(ctx context.Context, broker int32) {
	for {
		asked := f.ask(ctx, broker)
		if asked == nil {
			return
		}
		resp, err := f.request(ctx, broker, asked)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			err = f.settle(ctx, asked, resp)
		}
		f.free(asked, err)
		if err != nil {
			f.recover(ctx, asked, err)
		}
	}
}

// question is one tape in a request.
type question struct {
	tape   *tape
	gen    int
	from   int64
	bytes  int32
	leader leader
}

// ask waits until there is something to ask a broker for; nil: the feed is at its end.
func (f *feed) ask(ctx context.Context, broker int32) []question {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		if f.closed || f.err != nil || ctx.Err() != nil {
			return nil
		}
		if q := f.questions(broker); len(q) > 0 {
			return q
		}
		if f.wait(ctx) != nil {
			return nil
		}
	}
}

// questions are the tapes of a broker that may go on: those of the range as long as what waits of the range fits the buffer, and ahead of the range up to half a
// buffer. Nothing is asked for that the broker has not announced: there is no waiting for new records here.
func (f *feed) questions(broker int32) []question {
	var within, ahead int64
	for _, t := range f.tapes {
		w, a := t.held()
		within, ahead = within+w, ahead+a
	}
	budget := f.source.config.BufferBytes
	var q []question
	for _, t := range f.tapes {
		wanted := t.next < t.to && within < budget || t.next >= t.to && t.next < t.end && ahead < budget/2
		if wanted && !t.asked && t.leader.broker == broker {
			t.asked = true
			q = append(q, question{tape: t, gen: t.gen, from: t.next, bytes: t.bytes, leader: t.leader})
		}
	}
	slices.SortFunc(q, func(a, b question) int { return cmp.Compare(a.tape.turn, b.tape.turn) }) // by what the broker gave, not by who was quicker to take it
	return q
}

// free ends the questions.
func (f *feed) free(asked []question, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, q := range asked {
		q.tape.asked = false
		switch {
		case err == nil:
			q.tape.failing = time.Time{}
		case q.tape.failing.IsZero():
			q.tape.failing = time.Now()
		}
	}
	f.signal()
}

var errNoLeader = errors.New("a partition has no leader")

// request sends the questions to a broker.
func (f *feed) request(ctx context.Context, broker int32, asked []question) (*kmsg.FetchResponse, error) {
	if broker < 0 {
		return nil, fmt.Errorf("%s: %w", asked[0].tape.name, errNoLeader)
	}
	req := kmsg.NewPtrFetchRequest()
	req.MaxBytes, req.MinBytes, req.MaxWaitMillis = answerBytes, 1, int32(answerWait.Milliseconds())
	if f.source.config.Isolation == ReadCommitted {
		req.IsolationLevel = 1
	}
	topics := map[string]int{}
	for _, q := range asked {
		i, ok := topics[q.tape.name.topic]
		if !ok {
			i = len(req.Topics)
			topics[q.tape.name.topic] = i
			t := kmsg.NewFetchRequestTopic()
			t.Topic, t.TopicID = q.tape.name.topic, q.tape.id
			req.Topics = append(req.Topics, t)
		}
		p := kmsg.NewFetchRequestTopicPartition()
		p.Partition, p.FetchOffset, p.PartitionMaxBytes, p.CurrentLeaderEpoch = q.tape.name.partition, q.from, q.bytes, q.leader.epoch
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, p)
	}
	resp, err := req.RequestWith(ctx, f.source.client.Broker(int(broker)))
	if err != nil {
		return nil, err
	}
	return resp, kerr.ErrorForCode(resp.ErrorCode)
}

// settle puts what a broker has answered on the tapes. An error calls for recover.
func (f *feed) settle(ctx context.Context, asked []question, resp *kmsg.FetchResponse) error {
	bytes := 0
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			bytes += len(resp.Topics[i].Partitions[j].RecordBatches)
		}
	}
	// An answer without a byte, that was not throttled, says that nothing is there for any of its partitions: the limits on its size always let one batch through.
	empty := bytes == 0 && resp.ThrottleMillis == 0
	byName, names := map[partitionName]question{}, map[topicID]string{}
	for _, q := range asked {
		byName[q.tape.name], names[q.tape.id] = q, q.tape.name.topic
	}
	var errs []error
	for i := range resp.Topics {
		t := &resp.Topics[i]
		topic := t.Topic
		if topic == "" { // from version 13 on an answer has only the topic's id
			topic = names[t.TopicID]
		}
		for j := range t.Partitions {
			p := &t.Partitions[j]
			q, ok := byName[partitionName{topic, p.Partition}]
			if !ok {
				continue
			}
			if err := kerr.ErrorForCode(p.ErrorCode); errors.Is(err, kerr.OffsetOutOfRange) {
				errs = append(errs, f.outOfRange(ctx, q))
			} else if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", q.tape.name, err))
			} else {
				errs = append(errs, f.accept(q, p, empty))
			}
		}
	}
	return errors.Join(errs...)
}

// accept puts the batches of a partition on its tape.
func (f *feed) accept(q question, p *kmsg.FetchResponseTopicPartition, empty bool) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := q.tape
	if t.gen != q.gen {
		return nil // it was dropped meanwhile
	}
	e, err := measure(p.RecordBatches, q.from)
	if err != nil {
		return errcode.KafkaCorruptBatch.Wrap(err, fmt.Sprintf("%s-%d", t.name, q.from), "")
	}
	t.end = p.HighWatermark
	if f.source.config.Isolation == ReadCommitted {
		t.end = p.LastStableOffset
	}
	if e.bytes > 0 {
		p.RecordBatches = p.RecordBatches[:e.bytes]
		t.put(&slab{name: t.name, from: q.from, to: e.next, answer: p, begin: q.from, batches: e})
		t.bytes, t.pointless, t.turn = f.source.config.FetchBytes, time.Time{}, f.turn()
		return nil
	}
	if e.missing > 0 {
		t.bytes = int32(max(e.missing, int(t.bytes))) // a broker that does not send a batch whole unless asked for as much
		return nil
	}
	if !empty || t.next >= t.to {
		return nil
	}
	if t.end >= t.to { // (K1) the rest of the range is a hole
		t.put(&slab{name: t.name, from: t.next, to: t.to})
		return nil
	}
	return f.patience(t)
}

// patience bounds how long a range may stay announced and yet not there, as after a change of leaders.
func (f *feed) patience(t *tape) error {
	if t.pointless.IsZero() {
		t.pointless = time.Now()
	}
	if time.Since(t.pointless) < f.source.config.RetryFor {
		return nil
	}
	return errcode.KafkaNoProgress.New(t.name.String(), "the range is planned up to offset %d, but the broker serves up to %d only, for %s now", t.to, t.end, f.source.config.RetryFor)
}

// outOfRange finds out on which side of the log a position lies.
func (f *feed) outOfRange(ctx context.Context, q question) error {
	name := q.tape.name
	c := cluster{leaders: byPartition[leader]{}}
	c.leaders.set(name.topic, name.partition, q.leader)
	earliest, err := f.source.listOffsets(ctx, c, everywhere(atEarliest), f.source.config.Isolation)
	if err != nil {
		return err
	}
	lost, err := f.lose(q, earliest[name.topic][name.partition].offset)
	if lost != (span{}) {
		f.source.tellLoss(name, lost)
	}
	return err
}

// lose covers what is lost before the first offset of the log, if that is allowed.
func (f *feed) lose(q question, first int64) (lost span, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	name, t := q.tape.name, q.tape
	lost = span{q.from, min(first, t.to)}
	switch {
	case t.gen != q.gen:
		return span{}, nil
	case t.next >= t.to: // only ahead: the next plan will look
		t.end = t.next
		return span{}, nil
	case q.from >= first:
		return span{}, errcode.KafkaTruncated.New(name.String(), "the broker no longer has the offset %d, though its log begins at %d", q.from, first)
	case f.source.config.OnDataLoss == Fail && !bugs.Is(bugs.ResetToEarliest):
		return span{}, errcode.KafkaRangeLost.New(name.String(), "retention removed the offsets %s (%d of them) of a planned range", lost, lost[1]-lost[0])
	}
	t.skip(first)
	return lost, nil
}

// recover waits a little and looks for the leaders anew; it ends the feed with an error that does not go away.
func (f *feed) recover(ctx context.Context, asked []question, cause error) {
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		cause = f.source.explain(cause, "fetch")
		if ctx.Err() != nil {
			return
		}
		if !retryable(cause) || f.failingTooLong(asked) {
			f.fail(cause)
			return
		}
		if sleep(ctx, pause) != nil {
			return
		}
		c, err := f.source.metadata(ctx)
		if err == nil {
			err = f.recognise(c)
		}
		if err == nil {
			err = f.uncut(ctx, c)
		}
		if err == nil {
			f.mu.Lock()
			f.assign(ctx, c)
			f.mu.Unlock()
			return
		}
		cause = err
	}
}

func (f *feed) failingTooLong(asked []question) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, q := range asked {
		if !q.tape.failing.IsZero() && time.Since(q.tape.failing) > f.source.config.RetryFor {
			return true
		}
	}
	return false
}

// uncut checks that the range was not cut off between the epoch that it was read in and that of a new leader: what was planned must be there still (K3).
func (f *feed) uncut(ctx context.Context, c cluster) error {
	former, reigns, ends := byPartition[int32]{}, byPartition[mark]{}, position{}
	f.mu.Lock()
	for _, t := range f.tapes {
		if l, _ := c.leaders.get(t.name.topic, t.name.partition); l.epoch > t.epoch {
			former.set(t.name.topic, t.name.partition, t.epoch)
			reigns.set(t.name.topic, t.name.partition, mark{epoch: l.epoch})
			ends.set(t.name.topic, t.name.partition, t.to)
		}
	}
	f.mu.Unlock()
	if bugs.Is(bugs.CutLogIsReadOn) {
		return nil
	}
	return f.source.notCut(ctx, c, reigns, ends, former)
}

// recognise compares the topics with those that the range was planned on.
func (f *feed) recognise(c cluster) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, t := range f.tapes {
		id, ok := c.ids[t.name.topic]
		if !ok {
			return vanished(t.name)
		}
		if t.id.differs(id) {
			return recreated(t.name.topic, t.id, id)
		}
	}
	return nil
}
