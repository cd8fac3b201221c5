package kafkamodel

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// group is a consumer group, as far as positions go.
type group struct {
	committed positions
	pending   map[int64]positions // of transactions that have not ended, by producer
}

// positions are what is committed where.
type positions map[place]position

// place is where a position is.
type place struct {
	topic     string
	partition int32
}

// position is what a group has committed at a place.
type position struct {
	offset   int64
	metadata string
	at       time.Time
}

// mostMetadata is offset.metadata.max.bytes.
const mostMetadata = 4096

// group is the group of a name, made if there is none.
func (c *Cluster) group(name string) *group {
	if c.groups[name] == nil {
		c.groups[name] = &group{committed: positions{}, pending: map[int64]positions{}}
	}
	return c.groups[name]
}

// commitOffsets keeps the offsets of a group.
func (c *Cluster) commitOffsets(req *kmsg.OffsetCommitRequest) *kmsg.OffsetCommitResponse {
	resp := kmsg.NewPtrOffsetCommitResponse()
	g := c.group(req.Group)
	for _, t := range req.Topics {
		rt := kmsg.NewOffsetCommitResponseTopic()
		rt.Topic = t.Topic
		for _, p := range t.Partitions {
			rp := kmsg.NewOffsetCommitResponseTopicPartition()
			rp.Partition = p.Partition
			if _, ok := c.partition(t.Topic, p.Partition); ok {
				g.committed[place{t.Topic, p.Partition}] = position{offset: p.Offset, at: time.Now()}
			} else {
				rp.ErrorCode = kerr.UnknownTopicOrPartition.Code
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

// position is what a group has committed at a place; -1: nothing. stable: not while a transaction that touches it has not ended.
func (c *Cluster) position(name string, at place, stable bool) (position, error) {
	g := c.groups[name]
	if g == nil {
		return position{offset: -1}, nil
	}
	if stable {
		for _, pending := range g.pending {
			if _, ok := pending[at]; ok {
				return position{}, kerr.UnstableOffsetCommit
			}
		}
	}
	if p, ok := g.committed[at]; ok {
		return p, nil
	}
	return position{offset: -1}, nil
}

// add adds a position to the transaction of a producer.
func (g *group) add(producer int64, at place, p position) {
	if g.pending[producer] == nil {
		g.pending[producer] = positions{}
	}
	g.pending[producer][at] = p
}

// end commits or forgets what the transaction of a producer would have made of the positions.
func (g *group) end(producer int64, commit bool) {
	if commit {
		maps.Copy(g.committed, g.pending[producer])
	}
	delete(g.pending, producer)
}

// expire forgets positions that are older than the cluster keeps them, and groups without any.
func (c *Cluster) expire(now time.Time) {
	if c.config.Retention == 0 {
		return
	}
	for name, g := range c.groups {
		maps.DeleteFunc(g.committed, func(_ place, p position) bool { return now.Sub(p.at) >= c.config.Retention })
		if len(g.committed) == 0 && len(g.pending) == 0 {
			delete(c.groups, name)
		}
	}
}

// groupsOf are the groups whose names begin so.
func (c *Cluster) groupsOf(prefix string) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(c.groups)) {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	return names
}

// Committed is the offset that a group has committed; -1: none.
func (c *Cluster) Committed(group, topic string, partition int32) int64 {
	offset, _ := c.Position(group, topic, partition)
	return offset
}

// Position is the offset that a group has committed, -1 for none, with its metadata.
func (c *Cluster) Position(group, topic string, partition int32) (offset int64, metadata string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tick()
	p, _ := c.position(group, place{topic, partition}, false) // only what is to be stable may be refused
	return p.offset, p.metadata
}

// DeleteGroup deletes a group with all that it has committed.
func (c *Cluster) DeleteGroup(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.groups, name)
}
