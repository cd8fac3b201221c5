package kafkamodel

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// Record is a record. A nil key or value is null, which is not the empty one.
type Record struct {
	Offset     int64 // given by Produce
	Key, Value []byte
	Time       time.Time // of the record, in whole milliseconds; zero is now
}

// noProducer is the producer id of a batch that is not part of a transaction.
const noProducer = -1

// Produce appends records to a partition as one batch, in a transaction if there is one, and returns the offset of the first.
func (c *Cluster) Produce(topic string, partition int32, txn *Txn, records ...Record) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.must(topic, partition)
	b := &stored{gzip: c.config.Gzip, producer: noProducer, producerEpoch: -1, records: slices.Clone(records)}
	for i := range b.records {
		if b.records[i].Time.IsZero() {
			b.records[i].Time = time.Now()
		}
	}
	if txn != nil {
		txn.join(c, topic, partition)
		b.transactional, b.producer, b.producerEpoch = true, txn.producer, txn.epoch
	}
	return p.log.append(b)
}

// Txn is an open transaction of a producer. One that is never ended hangs: it holds the last stable offset of its partitions.
type Txn struct {
	cluster  *Cluster
	producer int64
	epoch    int16
	parts    map[string]map[int32]*partition
}

// Begin opens a transaction of a producer, which has at most one at a time.
func (c *Cluster) Begin(producer int64) *Txn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.begin(producer, 0)
}

func (c *Cluster) begin(producer int64, epoch int16) *Txn {
	if c.open[producer] != nil {
		panic(fmt.Sprintf("kafkamodel: producer %d has an open transaction", producer))
	}
	t := &Txn{cluster: c, producer: producer, epoch: epoch, parts: map[string]map[int32]*partition{}}
	c.open[producer] = t
	return t
}

func (t *Txn) join(c *Cluster, topic string, number int32) {
	if c.open[t.producer] != t {
		panic(fmt.Sprintf("kafkamodel: a transaction of producer %d has ended", t.producer))
	}
	if t.parts[topic] == nil {
		t.parts[topic] = map[int32]*partition{}
	}
	t.parts[topic][number] = c.must(topic, number)
}

// has reports whether a partition is part of the transaction.
func (t *Txn) has(topic string, number int32) bool { return t.parts[topic][number] != nil }

// Commit makes all records of the transaction visible, by a marker in each partition.
func (t *Txn) Commit() {
	t.cluster.mu.Lock()
	defer t.cluster.mu.Unlock()
	t.end(true)
}

// Abort hides all records of the transaction for good, by a marker in each partition.
func (t *Txn) Abort() {
	t.cluster.mu.Lock()
	defer t.cluster.mu.Unlock()
	t.end(false)
}

func (t *Txn) end(commit bool) {
	if t.cluster.open[t.producer] != t {
		panic(fmt.Sprintf("kafkamodel: a transaction of producer %d has ended", t.producer))
	}
	delete(t.cluster.open, t.producer)
	for _, topic := range slices.Sorted(maps.Keys(t.parts)) {
		for _, n := range slices.Sorted(maps.Keys(t.parts[topic])) {
			t.parts[topic][n].log.mark(&stored{control: true, commit: commit, transactional: true, producer: t.producer, producerEpoch: t.epoch, records: []Record{{Time: time.Now()}}})
		}
	}
}

// Records are the records of a partition that a reader sees under read_committed, in order.
func (c *Cluster) Records(topic string, partition int32) []Record {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tick()
	return c.must(topic, partition).log.visible()
}

// Offsets are where the log of a partition begins, where it ends under read_committed, and where it ends.
func (c *Cluster) Offsets(topic string, partition int32) (begin, stable, end int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tick()
	l := &c.must(topic, partition).log
	return l.begin, l.stable(), l.end
}
