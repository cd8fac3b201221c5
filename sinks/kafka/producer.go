package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"microbatch/internal/kafkaclient"
)

// producing is a Producer. The client library has the connections, finds brokers and gets the producer's id; blocks of records, their numbers and the transaction are
// made here: of the processor time of writing small records that saves the larger part, which the library spends on each of them.
//
// A block is sent again, with its number, until it is acknowledged, for as long as patience lasts. The brokers know the numbers of each partition, so it stands there
// once: what was written although the answer was lost is acknowledged as a duplicate. One block of a partition is under way at a time, so none overtakes another.
// Whatever else goes wrong ends the producer (T4).
type producing struct {
	client     *kgo.Client
	compressor kgo.Compressor                          // nil: none
	limit      func(topic string) int32                // the largest block
	learn      func(ctx context.Context, topic string) // asks for the limit of a topic that was not written to yet
	tooMuch    func(topic string, bytes int)           // told that a block was more than the topic takes
	id         string                                  // transactional; "" for none
	patience   time.Duration
	producer   int64
	epoch      int16
	byKey      kgo.TopicPartitioner

	ctx  context.Context // ends with Close
	stop context.CancelFunc

	packers sync.Pool // of *packer

	mu       sync.Mutex
	changed  chan struct{} // closed when held, flying or failed have changed, and made anew
	topics   map[string]*target
	ready    map[int32][]*lane // lanes whose first block can be sent, by leader
	flying   map[int32]int     // requests by broker
	held     int               // bytes of blocks that are not acknowledged
	turn     int               // of partitions for records without key
	begun    bool              // the transaction has something in it, as far as the coordinator may know
	aborting bool              // nothing is sent any more
	failed   error
}

// What a producer may hold at most, beyond the chunks that it is made from.
const bufferedBytes = 16 << 20

// Producer implements Cluster.
func (b *brokers) Producer(ctx context.Context, transactionalID string) (Producer, error) {
	compressor, err := kgo.DefaultCompressor(codecOf(b.config.Compression))
	if err != nil {
		return nil, fmt.Errorf("kafka: compression %s: %w", b.config.Compression, err)
	}
	opts := append(b.options(), kgo.RequiredAcks(kgo.AllISRAcks()), kgo.RequestRetries(20), kgo.RetryTimeoutFn(patience))
	if transactionalID != "" {
		opts = append(opts, kgo.TransactionalID(transactionalID), kgo.TransactionTimeout(b.config.Timeout))
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("kafka: producer: %w", err)
	}
	p := &producing{
		client: client, compressor: compressor, limit: b.batchBytes, learn: b.learnBytes, tooMuch: b.tooMuch, id: transactionalID, patience: b.config.RetryFor, byKey: kgo.StickyKeyPartitioner(nil).ForTopic(""),
		changed: make(chan struct{}), topics: map[string]*target{}, ready: map[int32][]*lane{}, flying: map[int32]int{},
	}
	p.packers.New = func() any { return &packer{} }
	p.ctx, p.stop = context.WithCancel(context.WithoutCancel(ctx))
	ctx, cancel := context.WithTimeout(ctx, b.config.RetryFor)
	defer cancel()
	if p.producer, p.epoch, err = client.ProducerID(ctx); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// batchBytes is the largest batch of records that a topic takes: Kafka's default, unless the topic was looked up.
func (b *brokers) batchBytes(topic string) int32 {
	if size, ok := b.sizes.Load(topic); ok {
		return max(512, min(size.(int32), 1<<30))
	}
	return 1_000_012
}

// learnBytes asks for the largest batch of records that a topic takes. Without an answer, or the right to one, it stays as it was known.
func (b *brokers) learnBytes(ctx context.Context, topic string) {
	settings, err := b.settings(ctx, kmsg.ConfigResourceTypeTopic, topic, "max.message.bytes")
	if n, perr := strconv.ParseInt(settings["max.message.bytes"], 10, 32); err == nil && perr == nil {
		b.sizes.Store(topic, int32(n))
	}
}

// tooMuch notes that a topic did not take a batch of so many bytes: if its setting cannot be learnt, half of it is tried.
func (b *brokers) tooMuch(topic string, bytes int) {
	b.sizes.Store(topic, min(b.batchBytes(topic), int32(bytes))/2)
}

// patience is how long the library repeats a request by itself. That of a transactional id is repeated by us, who look for a newer driver each time.
func patience(key int16) time.Duration {
	if key == int16(kmsg.InitProducerID) {
		return kafkaclient.DialTimeout
	}
	return 30 * time.Second
}

// Begin implements Producer.
func (p *producing) Begin() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.failed
}

// Produce implements Producer.
func (p *producing) Produce(ctx context.Context, records []Record) error {
	open := map[*lane]*packer{}
	defer func() {
		for _, in := range open {
			in.raw, in.count = in.raw[:0], 0
			p.packers.Put(in)
		}
	}()
	var (
		to    *target
		limit int
		last  *lane // of the record before, and what is open for it
		in    *packer
		any   *lane // of records without key, until its block is full
		key   kgo.Record
		now   = time.Now()
	)
	for i := range records {
		r := &records[i]
		if to == nil || r.Topic != to.name {
			var err error
			if to, err = p.target(ctx, r.Topic); err != nil {
				return err
			}
			limit, any = int(p.limit(r.Topic)), nil
		}
		var into *lane
		switch {
		case r.Partition != ByKey:
			if r.Partition < 0 || int(r.Partition) >= len(to.lanes) {
				return fmt.Errorf("%w: %d of topic %s, which has %d", ErrPartition, r.Partition, r.Topic, len(to.lanes))
			}
			into = to.lanes[r.Partition]
		case r.Key != nil:
			key.Key = r.Key
			into = to.lanes[p.byKey.Partition(&key, len(to.lanes))]
		default:
			if any == nil {
				any = p.next(to)
			}
			into = any
		}
		if into != last {
			if last, in = into, open[into]; in == nil {
				in = p.packers.Get().(*packer)
				open[into] = in
			}
		}
		for !in.add(r, limit) {
			if in.count == 0 {
				return fmt.Errorf("a record of %d bytes for topic %s: %w", len(r.Key)+len(r.Value), r.Topic, kerr.MessageTooLarge)
			}
			if err := p.put(ctx, into, in.pack(p.compressor, p.id != "", now)); err != nil {
				return err
			}
			if into == any { // the next block goes elsewhere
				any = nil
			}
		}
	}
	for into, in := range open {
		if in.count > 0 {
			if err := p.put(ctx, into, in.pack(p.compressor, p.id != "", now)); err != nil {
				return err
			}
		}
	}
	return nil
}

// next is the lane for the next block of records without key: in turn, but for partitions that have no leader while others have one.
func (p *producing) next(to *target) *lane {
	p.mu.Lock()
	defer p.mu.Unlock()
	for range to.lanes {
		p.turn++
		if l := to.lanes[p.turn%len(to.lanes)]; l.leader >= 0 {
			return l
		}
	}
	return to.lanes[p.turn%len(to.lanes)]
}

// put hands a block to its lane. It waits while too much is held.
func (p *producing) put(ctx context.Context, into *lane, b *block) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.wait(ctx, func() bool { return p.held < bufferedBytes }); err != nil {
		return err
	}
	p.held += len(b.bytes)
	into.blocks = append(into.blocks, b)
	p.release(into)
	p.dispatch()
	return nil
}

// wait waits until something is so, or the producer has failed. mu is held when it is called and when it returns.
func (p *producing) wait(ctx context.Context, met func() bool) error {
	for {
		if p.failed != nil {
			return p.failed
		}
		if met() {
			return nil
		}
		changed := p.changed
		p.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
		p.mu.Lock()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// change wakes those who wait. mu is held.
func (p *producing) change() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// fail ends the producer. mu is held.
func (p *producing) fail(err error) {
	if p.failed == nil {
		p.failed = err
	}
	p.change()
}

// Flush implements Producer.
func (p *producing) Flush(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.wait(ctx, func() bool { return p.held == 0 })
}

// Positions implements Producer. Both requests may be repeated.
func (p *producing) Positions(ctx context.Context, group string, at map[Partition]Position) error {
	p.begin()
	err := whileEnding(ctx, func() error {
		add := kmsg.NewPtrAddOffsetsToTxnRequest()
		add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = p.id, p.producer, p.epoch, group
		added, err := add.RequestWith(ctx, p.client)
		if err != nil {
			return err
		}
		return kerr.ErrorForCode(added.ErrorCode)
	})
	if err != nil {
		return err
	}
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group, req.Generation = p.id, p.producer, p.epoch, group, -1
	topics := map[string]int{}
	for name, position := range at {
		i, ok := topics[name.Topic]
		if !ok {
			t := kmsg.NewTxnOffsetCommitRequestTopic()
			t.Topic = name.Topic
			i = len(req.Topics)
			topics[name.Topic], req.Topics = i, append(req.Topics, t)
		}
		partition := kmsg.NewTxnOffsetCommitRequestTopicPartition()
		partition.Partition, partition.Offset = name.Number, position.Offset
		if position.Metadata != "" {
			partition.Metadata = kmsg.StringPtr(position.Metadata)
		}
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, partition)
	}
	resp, err := req.RequestWith(ctx, p.client)
	if err != nil {
		return err
	}
	for _, t := range resp.Topics {
		for _, partition := range t.Partitions {
			if err := kerr.ErrorForCode(partition.ErrorCode); err != nil {
				return fmt.Errorf("%s: %w", Partition{t.Topic, partition.Partition}, err)
			}
		}
	}
	return nil
}

// begin notes that from here on the coordinator may have a transaction.
func (p *producing) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun = true
}

// End implements Producer. A transaction with nothing in it is none.
func (p *producing) End(ctx context.Context, commit bool) error {
	ctx, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	begun, err := p.quiet(ctx, commit)
	if err != nil || !begun {
		return err
	}
	err = whileEnding(ctx, func() error {
		req := kmsg.NewPtrEndTxnRequest()
		req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = p.id, p.producer, p.epoch, commit
		resp, err := req.RequestWith(ctx, p.client)
		if err != nil {
			return err
		}
		return kerr.ErrorForCode(resp.ErrorCode)
	})
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil {
		p.fail(err)
		return err
	}
	p.begun = false
	for _, t := range p.topics {
		for _, l := range t.lanes {
			l.added = false
		}
	}
	return nil
}

// quiet waits until nothing of the transaction is under way, and says whether there is one; of one that is aborted it drops what was not sent yet.
func (p *producing) quiet(ctx context.Context, commit bool) (begun bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !commit {
		p.aborting = true
		p.drop()
	}
	err = p.wait(ctx, func() bool { return p.held == 0 })
	p.aborting = false
	return p.begun, err
}

// whileEnding repeats a request that comes while the coordinator still ends the transaction before.
func whileEnding(ctx context.Context, request func() error) error {
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		err := request()
		if !errors.Is(err, kerr.ConcurrentTransactions) {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
	}
}

// Close implements Producer.
func (p *producing) Close() {
	p.stop()
	p.client.Close()
}
