package kafkamodel

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"microbatch/sinks/kafka"
)

// producer is a kafka.Producer, as the sink makes one of brokers: records are sent when they are flushed, one partition after the other, and an end that nothing was added
// to is no request. Nothing waits with records in its hands: there is no limit for them.
type producer struct {
	w         *Writer
	id        string
	who       identity
	sequences map[place]int32
	turn      int  // of records without key
	begun     bool // something was added, as far as this side knows

	mu       sync.Mutex // Produce is called by many
	buffered []kafka.Record
}

// pause is between two requests, of which the first came while the transaction before was about to end.
const pause = 20 * time.Millisecond

// request has a request answered, if need be by asking again: as often as the writer says where there is no answer, and without end while a transaction is about to end.
func (p *producer) request(ctx context.Context, request, about string, serve func(c *Cluster) error) error {
	for left := p.w.config.Retries; ; {
		err := p.w.request(ctx, request, about, serve)
		_, answered := errors.AsType[*kerr.Error](err)
		switch {
		case errors.Is(err, kerr.ConcurrentTransactions):
			if err := wait(ctx, pause); err != nil {
				return err
			}
		case err != nil && !answered && left > 0:
			left--
		default:
			return err
		}
	}
}

// Begin implements kafka.Producer.
func (p *producer) Begin() error {
	p.begun = false
	return nil
}

// Produce implements kafka.Producer.
func (p *producer) Produce(_ context.Context, records []kafka.Record) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range records {
		r.Key, r.Value = slices.Clone(r.Key), slices.Clone(r.Value)
		p.buffered = append(p.buffered, r)
	}
	return nil
}

// take is all that was handed over.
func (p *producer) take() []kafka.Record {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.buffered
	p.buffered = nil
	return all
}

// Flush implements kafka.Producer. After an error of one partition the others are not sent.
func (p *producer) Flush(ctx context.Context) error {
	batches, err := p.spread(p.take())
	if err != nil {
		return err
	}
	return p.send(ctx, batches)
}

// spread gives each record its partition, by what the client knows of the topics.
func (p *producer) spread(all []kafka.Record) (map[place][]Record, error) {
	batches := map[place][]Record{}
	for _, r := range all {
		known := p.w.cluster.Partitions(r.Topic)
		if known == 0 {
			return nil, kerr.UnknownTopicOrPartition
		}
		n, err := p.choose(r, known)
		if err != nil {
			return nil, err
		}
		at := place{r.Topic, n}
		batches[at] = append(batches[at], Record{Key: r.Key, Value: r.Value, Time: time.Now()})
	}
	return batches, nil
}

// choose is a record's partition of n: the one it names, or that of its key, or the next in turn. The hash is not Kafka's.
func (p *producer) choose(r kafka.Record, n int) (int32, error) {
	switch {
	case int(r.Partition) >= n:
		return 0, fmt.Errorf("%w: %d of %d", kafka.ErrPartition, r.Partition, n)
	case r.Partition >= 0:
		return r.Partition, nil
	case r.Key == nil:
		p.turn++
		return int32(p.turn % n), nil
	}
	h := fnv.New32a()
	h.Write(r.Key)
	return int32(h.Sum32() % uint32(n)), nil
}

func (p *producer) send(ctx context.Context, batches map[place][]Record) error {
	order := slices.SortedFunc(maps.Keys(batches), compare)
	if p.id != "" && len(order) > 0 {
		p.begun = true
		err := p.request(ctx, "addpartitionstotxn", p.id, func(c *Cluster) error { return c.addPartitions(p.id, p.who, order) })
		if err != nil {
			return err
		}
	}
	for _, at := range order {
		records, first := batches[at], p.sequences[at]
		err := p.request(ctx, "produce", at.topic+"-"+strconv.Itoa(int(at.partition)), func(c *Cluster) error {
			return c.produce(p.id, p.who, at, first, slices.Clone(records))
		})
		if err != nil {
			return err
		}
		p.sequences[at] = first + int32(len(records))
	}
	return nil
}

func compare(a, b place) int {
	return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(a.partition, b.partition))
}

// Positions implements kafka.Producer.
func (p *producer) Positions(ctx context.Context, group string, at map[kafka.Partition]kafka.Position) error {
	p.begun = true
	err := p.request(ctx, "addoffsetstotxn", group, func(c *Cluster) error { return c.addOffsets(p.id, p.who, group) })
	if err != nil {
		return err
	}
	byPlace := positions{}
	for to, what := range at {
		byPlace[place{to.Topic, to.Number}] = position{offset: what.Offset, metadata: what.Metadata}
	}
	order := slices.SortedFunc(maps.Keys(byPlace), compare)
	return p.request(ctx, "txnoffsetcommit", group, func(c *Cluster) error {
		var what []position
		for _, to := range order {
			what = append(what, byPlace[to])
		}
		return c.commitInTransaction(p.id, p.who, group, order, what)
	})
}

// End implements kafka.Producer.
func (p *producer) End(ctx context.Context, commit bool) error {
	p.take()
	if !p.begun {
		return nil
	}
	about := p.id + " abort"
	if commit {
		about = p.id + " commit"
	}
	if err := p.request(ctx, "endtxn", about, func(c *Cluster) error { return c.endTransaction(p.id, p.who, commit) }); err != nil {
		return err
	}
	p.begun = false
	return nil
}

// Close implements kafka.Producer.
func (*producer) Close() {}
