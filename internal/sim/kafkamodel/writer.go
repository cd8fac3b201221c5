package kafkamodel

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"

	"microbatch/sinks/kafka"
)

// Hook stands before the brokers for a writer: it is told of each request, by its name in lower case and what it is about, and calls serve to have it answered. It may
// fail without asking, or ask and lose the answer. serve may also be called later, when nobody waits for its answer any more.
type Hook func(ctx context.Context, request, about string, serve func() error) error

// WriterConfig is how a process writes to a cluster. The zero value is usable.
type WriterConfig struct {
	Name    string        // those of processes that write at the same time differ
	Timeout time.Duration // of a transaction; 0 is 5 min
	Retries int           // how often the client library sends a request of a producer again that was not answered
	Hook    Hook          // nil: all is well
}

// Writer is one process's way to write to the cluster. It meets kafka.Cluster.
type Writer struct {
	cluster *Cluster
	config  WriterConfig
}

var _ kafka.Cluster = (*Writer)(nil)

// Writer makes a writer.
func (c *Cluster) Writer(config WriterConfig) *Writer {
	if config.Timeout == 0 {
		config.Timeout = 5 * time.Minute
	}
	if config.Hook == nil {
		config.Hook = func(_ context.Context, _, _ string, serve func() error) error { return serve() }
	}
	return &Writer{c, config}
}

// request has a request answered.
func (w *Writer) request(ctx context.Context, request, about string, serve func(c *Cluster) error) error {
	c := w.cluster
	broker := c.anyone()
	if err := wait(ctx, c.latency(w.config.Name, broker, []byte(request+" "+about))); err != nil {
		return err
	}
	return w.config.Hook(ctx, request, about, func() error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.isDown(int32(broker)) {
			return ErrCut
		}
		c.tick()
		return serve(c)
	})
}

// Topic implements kafka.Cluster.
func (w *Writer) Topic(ctx context.Context, name string) (found kafka.Topic, err error) {
	err = w.request(ctx, "metadata", name, func(c *Cluster) error {
		t := c.topics[name]
		if t == nil || spend(&t.hidden) {
			return fmt.Errorf("topic %s: %w", name, fs.ErrNotExist)
		}
		found = kafka.Topic{ID: fmt.Sprintf("%x", t.id), Partitions: int32(len(t.partitions)), MaxBytes: 1048588}
		return nil
	})
	return found, err
}

// Limits implements kafka.Cluster.
func (w *Writer) Limits(ctx context.Context) (l kafka.Limits, err error) {
	err = w.request(ctx, "describeconfigs", "", func(c *Cluster) error {
		l = kafka.Limits{Transaction: longestTransaction, Retention: c.config.Retention}
		return nil
	})
	return l, err
}

// Committed implements kafka.Cluster.
func (w *Writer) Committed(ctx context.Context, group string, at kafka.Partition, stable bool) (found kafka.Position, err error) {
	err = w.request(ctx, "offsetfetch", group, func(c *Cluster) error {
		p, err := c.position(group, place{at.Topic, at.Number}, stable)
		found = kafka.Position{Offset: p.offset, Metadata: p.metadata}
		return err
	})
	if errors.Is(err, kerr.UnstableOffsetCommit) {
		err = fmt.Errorf("%w: %w", kafka.ErrUnstable, err)
	}
	return found, err
}

// Open implements kafka.Cluster.
func (w *Writer) Open(ctx context.Context, transactionalID string) (open bool, err error) {
	err = w.request(ctx, "describetransactions", transactionalID, func(c *Cluster) error {
		id := c.ids[transactionalID]
		open = id != nil && id.state == ongoing
		return nil
	})
	return open, err
}

// Groups implements kafka.Cluster.
func (w *Writer) Groups(ctx context.Context, prefix string) (names []string, err error) {
	err = w.request(ctx, "listgroups", prefix, func(c *Cluster) error {
		names = c.groupsOf(prefix)
		return nil
	})
	return names, err
}

// Consumed implements kafka.Cluster: nobody consumes with a group.
func (w *Writer) Consumed(context.Context, string) (bool, error) { return false, nil }

// Producer implements kafka.Cluster.
func (w *Writer) Producer(ctx context.Context, transactionalID string) (kafka.Producer, error) {
	p := &producer{w: w, id: transactionalID, sequences: map[place]int32{}}
	err := p.request(ctx, "initproducerid", transactionalID, func(c *Cluster) (err error) {
		p.who, err = c.initProducerID(transactionalID, w.config.Timeout)
		return err
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Close implements kafka.Cluster.
func (*Writer) Close() {}
