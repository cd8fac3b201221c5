package kafkamodel

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"microbatch/checker"
	jsoncodec "microbatch/codec/json"
	"microbatch/ident"
	"microbatch/internal/sim/gate"
	"microbatch/internal/sim/world"
	"microbatch/sinks"
	"microbatch/sinks/kafka"
)

// Target is a topic of a cluster, to which a query writes.
type Target struct {
	*Cluster
	mode kafka.Mode
}

var _ world.Target = (*Target)(nil)

// The names on the cluster of a Target, and how many partitions its topics have: that which is read may grow.
const (
	written, writtenPartitions = "out", 2
	read, readPartitions       = "in", 32
	progress                   = "progress" // the group that has the positions of the source
)

// NewTarget is an empty topic, written to as the mode says; in transactions with the positions of the source.
func NewTarget(mode kafka.Mode) *Target {
	c := New(Config{Settling: 30 * time.Millisecond})
	c.Create(written, writtenPartitions)
	c.Create(read, readPartitions)
	return &Target{c, mode}
}

// Sink is the topic as a process writes to it.
func (t *Target) Sink(p *gate.Process) sinks.Sink {
	c := kafka.Config{Topic: written, Key: "key", Encoder: jsoncodec.NewEncoder, Format: "json", Mode: t.mode, RetryFor: 20 * time.Second}
	c.Cluster = t.Writer(WriterConfig{Name: p.Name, Hook: func(ctx context.Context, request, about string, serve func() error) error {
		return p.Do(ctx, world.Output, request, about, serve)
	}})
	if t.mode == kafka.Transactional {
		c.CommitGroup, c.Positions = progress, positionsOf
	}
	s, err := kafka.New(c)
	if err != nil {
		panic(fmt.Sprintf("kafkamodel: %v", err)) // a mistake of the test
	}
	return s
}

// positionsOf are the positions of the source after a batch: of the world's topic, or of the one topic of a cluster. Of a partition that is not named nothing is read.
func positionsOf(ranges []ident.Range) (map[string]map[int32]int64, error) {
	at := map[int32]int64{}
	ends, err := world.ParseOffset(ranges[0].To)
	for n, end := range ends {
		at[int32(n)] = end
	}
	if err == nil {
		return map[string]map[int32]int64{read: at}, nil
	}
	var topics map[string]map[int32]int64
	if err := json.Unmarshal([]byte(ranges[0].To), &topics); err != nil || len(topics) > 1 {
		return nil, fmt.Errorf("the positions of %s: %w", ranges[0].To, err)
	}
	for _, ends := range topics {
		for n, end := range ends {
			for p := range n {
				at[p] = max(at[p], 0)
			}
			at[n] = end
		}
	}
	return map[string]map[int32]int64{read: at}, nil
}

// seen is the cluster as a reader sees it who waits for what is about to end.
func (t *Target) seen() *Cluster {
	t.mu.Lock()
	t.tick()
	t.mu.Unlock()
	c := t.Cluster.Clone()
	c.Settle()
	return c
}

// Position is what the marker says.
func (t *Target) Position(_ context.Context, query string) (checker.Position, error) {
	if t.mode == kafka.Idempotent {
		return checker.Position{}, nil
	}
	out := checker.Position{Keeps: true, Batch: -1}
	next, text := t.seen().Position("microbatch-"+query, written, 0)
	if next < 0 {
		return out, nil
	}
	var marker struct {
		Batch  int64
		Digest string
		Epoch  int64
		Entry  string
	}
	if err := json.Unmarshal([]byte(text), &marker); err != nil {
		return out, fmt.Errorf("the marker of query %s: %w: %s", query, err, text)
	}
	if marker.Batch != next-1 {
		return out, fmt.Errorf("the marker of query %s is of batch %d, and stands at offset %d", query, marker.Batch, next)
	}
	out.Batch, out.Digest, out.Epoch, out.Entry = marker.Batch, marker.Digest, marker.Epoch, marker.Entry
	return out, nil
}

// Rows are the ids of the records that a reader of committed ones sees.
func (t *Target) Rows(context.Context) (ids []string, err error) {
	c := t.seen()
	for p := range int32(writtenPartitions) {
		for _, r := range c.Records(written, p) {
			var row struct{ ID string }
			if err := json.Unmarshal(r.Value, &row); err != nil {
				return nil, fmt.Errorf("%s-%d, offset %d: %w", written, p, r.Offset, err)
			}
			ids = append(ids, row.ID)
		}
	}
	return ids, nil
}

// Progress is where the source is by the positions that were committed with the rows, partition by partition; none of a partition of which nothing was committed.
func (t *Target) Progress() (ends []int64) {
	c := t.seen()
	for p := range int32(readPartitions) {
		if at := c.Committed(progress, read, p); at >= 0 {
			ends = append(ends, at)
		}
	}
	return ends
}

// Gone changes nothing: the brokers know no connections, and end a transaction when its id is claimed anew or its time is over.
func (*Target) Gone(string) {}

// Clone is a second topic with the same records and groups, to which nobody writes.
func (t *Target) Clone() world.Target { return &Target{t.Cluster.Clone(), t.mode} }
