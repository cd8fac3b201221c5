package kafkamodel

import (
	"maps"
	"slices"
	"time"
)

// Clone is a second cluster with the same content. What clients, writers and transactions of the first one do has no effect on it. It is as old as the first one was
// when somebody asked it last, so that all copies of a cluster that nobody asks are the same, whenever they are made.
func (c *Cluster) Clone() *Cluster {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	slept := now.Sub(c.asked)
	to := New(c.config)
	to.asked = now
	to.made, to.given, to.brokers = c.made, c.given, nil
	for _, b := range c.brokers {
		twin := *b
		to.brokers = append(to.brokers, &twin)
	}
	twins := map[*partition]*partition{}
	for name, t := range c.topics {
		twin := *t
		twin.partitions = nil
		for _, p := range t.partitions {
			twins[p] = p.clone()
			twin.partitions = append(twin.partitions, twins[p])
		}
		to.topics[name] = &twin
	}
	for producer, t := range c.open {
		to.open[producer] = t.clone(to, twins)
	}
	for name, id := range c.ids {
		twin := *id
		twin.groups, twin.began, twin.ends = maps.Clone(id.groups), id.began.Add(slept), id.ends.Add(slept)
		if id.txn != nil {
			twin.txn = to.open[id.producer]
		}
		to.ids[name] = &twin
	}
	for name, g := range c.groups {
		twin := to.group(name)
		twin.committed = g.committed.clone(slept)
		for producer, positions := range g.pending {
			twin.pending[producer] = positions.clone(slept)
		}
	}
	return to
}

// clone is the same positions, which were committed later.
func (p positions) clone(later time.Duration) positions {
	twin := positions{}
	for at, position := range p {
		position.at = position.at.Add(later)
		twin[at] = position
	}
	return twin
}

func (p *partition) clone() *partition {
	twin := *p
	twin.sequences = maps.Clone(p.sequences)
	l := &twin.log
	l.txns, l.reigns, l.batches = slices.Clone(l.txns), slices.Clone(l.reigns), nil
	for _, b := range p.log.batches {
		batch := *b
		batch.records = slices.Clone(b.records) // the bytes are made anew when they change
		l.batches = append(l.batches, &batch)
	}
	return &twin
}

func (t *Txn) clone(to *Cluster, twins map[*partition]*partition) *Txn {
	twin := &Txn{cluster: to, producer: t.producer, epoch: t.epoch, parts: map[string]map[int32]*partition{}}
	for topic, partitions := range t.parts {
		twin.parts[topic] = map[int32]*partition{}
		for n, p := range partitions {
			if twins[p] == nil { // of a topic that was deleted
				twins[p] = p.clone()
			}
			twin.parts[topic][n] = twins[p]
		}
	}
	return twin
}
