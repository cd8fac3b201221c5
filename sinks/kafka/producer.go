package kafka

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"microbatch/internal/kafkaclient"
)

// What a producer may hold at most, beyond the chunks that it is made from.
const (
	bufferedBytes   = 32 << 20
	bufferedRecords = 100_000
)

// producing is a Producer of the client library's. Transactions without records, and positions, the library leaves to its consumers: they are requests of our own.
type producing struct {
	client   *kgo.Client
	id       string // transactional; "" for none
	patience time.Duration
	producer int64
	epoch    int16

	produced  atomic.Bool // a record was handed over in this transaction
	positions bool        // positions are part of it
}

// Producer implements Cluster.
func (b *brokers) Producer(ctx context.Context, transactionalID string) (Producer, error) {
	opts := append(b.options(),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.ProducerBatchCompression(codecOf(b.config.Compression), kgo.NoCompression()),
		kgo.RecordPartitioner(partitioner()),
		kgo.MaxBufferedBytes(bufferedBytes),
		kgo.MaxBufferedRecords(bufferedRecords),
		kgo.RecordDeliveryTimeout(b.config.RetryFor),
		kgo.ProducerBatchMaxBytesFn(b.batchBytes),
		kgo.RequestRetries(20),
		kgo.RetryTimeoutFn(patience),
	)
	if transactionalID != "" {
		opts = append(opts, kgo.TransactionalID(transactionalID), kgo.TransactionTimeout(b.config.Timeout))
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("kafka: producer: %w", err)
	}
	p := &producing{client: client, id: transactionalID, patience: b.config.RetryFor}
	if transactionalID != "" {
		ctx, cancel := context.WithTimeout(ctx, b.config.RetryFor)
		defer cancel()
		if p.producer, p.epoch, err = client.ProducerID(ctx); err != nil {
			client.Close()
			return nil, err
		}
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

// patience is how long the library repeats a request by itself. That of a transactional id is repeated by us, who look for a newer driver each time.
func patience(key int16) time.Duration {
	if key == int16(kmsg.InitProducerID) {
		return kafkaclient.DialTimeout
	}
	return 30 * time.Second
}

// Begin implements Producer.
func (p *producing) Begin() error {
	p.positions = false
	p.produced.Store(false)
	return p.client.BeginTransaction()
}

// Produce implements Producer.
func (p *producing) Produce(ctx context.Context, r *kgo.Record, done func(*kgo.Record, error)) {
	if !p.produced.Load() {
		p.produced.Store(true)
	}
	p.client.Produce(ctx, r, done)
}

// Flush implements Producer.
func (p *producing) Flush(ctx context.Context) error { return p.client.Flush(ctx) }

// Positions implements Producer. Both requests may be repeated.
func (p *producing) Positions(ctx context.Context, group string, at map[Partition]Position) error {
	add := kmsg.NewPtrAddOffsetsToTxnRequest()
	add.TransactionalID, add.ProducerID, add.ProducerEpoch, add.Group = p.id, p.producer, p.epoch, group
	added, err := add.RequestWith(ctx, p.client)
	if err != nil {
		return err
	}
	if err := kerr.ErrorForCode(added.ErrorCode); err != nil {
		return err
	}
	p.positions = true
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

// End implements Producer. The library would wait for a former transaction of the id for as long as its context lasts.
func (p *producing) End(ctx context.Context, commit bool) error {
	ctx, cancel := context.WithTimeout(ctx, p.patience)
	defer cancel()
	if !commit {
		if err := p.client.AbortBufferedRecords(ctx); err != nil {
			return err
		}
	}
	if p.positions && !p.produced.Load() {
		if err := p.endEmpty(ctx, commit); err != nil {
			return err
		}
	}
	return p.client.EndTransaction(ctx, kgo.TransactionEndTry(commit))
}

// endEmpty ends a transaction of which the library does not know that it has begun.
func (p *producing) endEmpty(ctx context.Context, commit bool) error {
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = p.id, p.producer, p.epoch, commit
	resp, err := req.RequestWith(ctx, p.client)
	if err != nil {
		return err
	}
	return kerr.ErrorForCode(resp.ErrorCode)
}

// Close implements Producer.
func (p *producing) Close() { p.client.Close() }
