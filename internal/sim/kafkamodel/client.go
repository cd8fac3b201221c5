package kafkamodel

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Intercept stands before a broker: it sees each request that arrives, after it was shared out to the brokers and in the one order of their arrival (M4), and
// calls serve to have it answered. It may wait, fail without asking, ask and lose the answer (ErrCut), ask twice, change the answer. It must return when ctx ends.
type Intercept func(ctx context.Context, broker int, req kmsg.Request, serve func() (kmsg.Response, error)) (kmsg.Response, error)

// ErrCut is what a client sees of a connection that breaks.
var ErrCut = errors.New("kafkamodel: the connection was cut")

// Client is one process's way to the cluster. It meets kafka.Client.
type Client struct {
	cluster *Cluster
	name    string
	hook    Intercept
}

// Client makes a client. Different processes have different names, so that what they send at one instant has an order too; hook may be nil.
func (c *Cluster) Client(name string, hook Intercept) *Client {
	if hook == nil {
		hook = func(_ context.Context, _ int, _ kmsg.Request, serve func() (kmsg.Response, error)) (kmsg.Response, error) {
			return serve()
		}
	}
	return &Client{cluster: c, name: name, hook: hook}
}

// Request sends a request to whom it concerns: each leader gets its part of what concerns partitions, one after the other by id, and the answers are joined;
// the rest goes to the first broker that runs.
func (cl *Client) Request(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	switch req := req.(type) {
	case *kmsg.ListOffsetsRequest:
		return cl.shareListOffsets(ctx, req)
	case *kmsg.OffsetForLeaderEpochRequest:
		return cl.shareEpochs(ctx, req)
	case *kmsg.DescribeProducersRequest:
		return cl.shareProducers(ctx, req)
	}
	return cl.send(ctx, cl.cluster.anyone(), req)
}

// Broker sends to one broker.
func (cl *Client) Broker(id int) kmsg.Requestor { return oneBroker{cl, id} }

type oneBroker struct {
	client *Client
	id     int
}

// Request implements kmsg.Requestor.
func (b oneBroker) Request(ctx context.Context, req kmsg.Request) (kmsg.Response, error) {
	return b.client.send(ctx, b.id, req)
}

func (cl *Client) send(ctx context.Context, broker int, req kmsg.Request) (kmsg.Response, error) {
	version, ok := versions[kmsg.Key(req.Key())]
	if !ok {
		return nil, fmt.Errorf("kafkamodel: %s: %w", kmsg.NameForKey(req.Key()), kerr.UnsupportedVersion)
	}
	req.SetVersion(version)
	wire := req.AppendTo(nil)
	if err := wait(ctx, cl.cluster.latency(cl.name, broker, wire)); err != nil {
		return nil, err
	}
	return cl.hook(ctx, broker, req, func() (kmsg.Response, error) { return cl.serve(ctx, broker, req, wire) })
}

// versions are what the brokers speak: those of Kafka 3.8.
var versions = map[kmsg.Key]int16{
	kmsg.Metadata: 12, kmsg.ListOffsets: 8, kmsg.Fetch: 16, kmsg.OffsetForLeaderEpoch: 4, kmsg.DescribeProducers: 0, kmsg.OffsetCommit: 9,
}

// serve takes a request off the wire, and its answer back over it (M2).
func (cl *Client) serve(ctx context.Context, broker int, req kmsg.Request, wire []byte) (kmsg.Response, error) {
	arrived := kmsg.RequestForKey(req.Key())
	arrived.SetVersion(req.GetVersion())
	if err := arrived.ReadFrom(wire); err != nil {
		return nil, fmt.Errorf("kafkamodel: %w", err)
	}
	resp, err := cl.cluster.answer(ctx, int32(broker), arrived)
	if err != nil {
		return nil, err
	}
	resp.SetVersion(req.GetVersion())
	back := req.ResponseKind()
	if err := back.ReadFrom(resp.AppendTo(nil)); err != nil {
		return nil, fmt.Errorf("kafkamodel: %w", err)
	}
	return back, nil
}

// latency is how long a request is under way: a time that its bytes, its sender and its broker decide (M4).
func (c *Cluster) latency(client string, id int, wire []byte) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.config.Latency
	if d > 0 {
		h := fnv.New64a()
		fmt.Fprintf(h, "%s %d ", client, id)
		h.Write(wire)
		d += time.Duration(h.Sum64() % uint64(d))
	}
	if i := slices.IndexFunc(c.brokers, func(b *broker) bool { return int(b.id) == id }); i >= 0 {
		d += c.brokers[i].slow
	}
	return d
}

// wait lets time pass; with none it does not give way either.
func wait(ctx context.Context, d time.Duration) error {
	if d == 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// anyone is the first broker that runs, or else the first.
func (c *Cluster) anyone() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range c.brokers {
		if !b.down {
			return int(b.id)
		}
	}
	return int(c.brokers[0].id)
}

// answer is a broker's answer.
func (c *Cluster) answer(ctx context.Context, id int32, req kmsg.Request) (kmsg.Response, error) {
	if r, ok := req.(*kmsg.FetchRequest); ok {
		return c.fetchOrWait(ctx, id, r)
	}
	return c.reply(id, req)
}

func (c *Cluster) reply(id int32, req kmsg.Request) (kmsg.Response, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isDown(id) {
		return nil, ErrCut
	}
	c.tick()
	switch req := req.(type) {
	case *kmsg.MetadataRequest:
		return c.metadata(req), nil
	case *kmsg.ListOffsetsRequest:
		return c.listOffsets(id, req), nil
	case *kmsg.OffsetForLeaderEpochRequest:
		return c.endsOfEpochs(id, req), nil
	case *kmsg.DescribeProducersRequest:
		return c.describeProducers(id, req), nil
	case *kmsg.OffsetCommitRequest:
		return c.commitOffsets(req), nil
	}
	return nil, fmt.Errorf("kafkamodel: %s is not answered", kmsg.NameForKey(req.Key()))
}
