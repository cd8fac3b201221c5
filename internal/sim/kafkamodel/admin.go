package kafkamodel

import (
	"encoding/binary"
	"fmt"
	"time"
)

// Create makes a topic; its partitions are led by the brokers in turn.
func (c *Cluster) Create(name string, partitions int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.topics[name] != nil {
		panic(fmt.Sprintf("kafkamodel: the topic %s exists", name))
	}
	c.made++
	t := &topic{name: name, id: [16]byte{0: 0x6d, 6: 0x40, 8: 0x80}}
	binary.BigEndian.PutUint32(t.id[12:], uint32(c.made))
	c.topics[name] = t
	c.extend(t, partitions)
}

func (c *Cluster) extend(t *topic, n int) {
	for range n {
		p := &partition{leader: c.brokers[len(t.partitions)%len(c.brokers)].id, sequences: map[int64]sequence{}}
		p.log.reign(0)
		t.partitions = append(t.partitions, p)
	}
}

// Delete removes a topic. What open transactions have written to it is gone.
func (c *Cluster) Delete(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.topics, name)
}

// Recreate removes a topic and makes it again: another topic, with another id.
func (c *Cluster) Recreate(name string, partitions int) {
	c.Delete(name)
	c.Create(name, partitions)
}

// AddPartitions appends n partitions to a topic.
func (c *Cluster) AddPartitions(name string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.extend(c.topics[name], n)
}

// Partitions is how many partitions a topic has; 0 for one that does not exist.
func (c *Cluster) Partitions(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.topics[name]; t != nil {
		return len(t.partitions)
	}
	return 0
}

// MoveLeader gives a partition to another broker, or the same again, under the next leader epoch; -1: it has no leader, until the next move.
func (c *Cluster) MoveLeader(topic string, partition, broker int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.must(topic, partition)
	if p.leader = broker; broker >= 0 {
		c.mustBroker(broker)
		p.log.reign(p.log.epoch() + 1)
	}
}

// Truncate is an unclean election: the new leader's log lacks the batches that reach past an offset. What transactions had there is undone: one that had ended
// there is open again, one that had begun there never was. It returns the new end.
func (c *Cluster) Truncate(topic string, partition int32, at int64) (end int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := &c.must(topic, partition).log
	l.truncate(at)
	l.reign(l.epoch() + 1)
	return l.end
}

// DeleteRecords is retention: the log of a partition begins at an offset, if it did not begin later already.
func (c *Cluster) DeleteRecords(topic string, partition int32, before int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.must(topic, partition).log.retain(before)
}

// Compact removes the records before the last stable offset that keep refuses, and batches that become empty; nil keeps the newest of each key, and those
// without a key. Markers of ended transactions go too, if no record before them is left of their transaction and markers is set.
func (c *Cluster) Compact(topic string, partition int32, keep func(Record) bool, markers bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := &c.must(topic, partition).log
	if keep == nil {
		keep = l.newest()
	}
	l.compact(keep, markers)
}

// Hide leaves partitions out of so many answers to Metadata, whoever asks; no partitions: the topic as a whole.
func (c *Cluster) Hide(topic string, answers int, partitions ...int32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(partitions) == 0 {
		c.topics[topic].hidden = answers
	}
	for _, p := range partitions {
		c.must(topic, p).hidden = answers
	}
}

// Understate makes so many answers to ListOffsets, whoever asks, say that the log ends earlier than it does, by so many offsets; not before it begins.
func (c *Cluster) Understate(topic string, partition int32, by int64, answers int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.must(topic, partition)
	p.understated, p.lies = by, answers
}

// Stop makes a broker answer with a broken connection; what it leads has no other leader until MoveLeader.
func (c *Cluster) Stop(broker int32) { c.setDown(broker, true) }

// Start undoes Stop.
func (c *Cluster) Start(broker int32) { c.setDown(broker, false) }

func (c *Cluster) setDown(broker int32, down bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mustBroker(broker).down = down
}

// Slow makes each request to a broker take longer; 0 ends that.
func (c *Cluster) Slow(broker int32, by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.mustBroker(broker).slow = by
}
