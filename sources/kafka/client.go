package kafka

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"microbatch/internal/kafkaclient"
)

// Client is how requests reach the brokers. Request sends one to whichever broker it is for, and to each leader its part of what concerns partitions;
// Broker sends to one broker alone. Both return when ctx ends. What a Client must answer: Metadata, ListOffsets, OffsetForLeaderEpoch and, by Broker, Fetch;
// OffsetCommit if a GroupID is set; DescribeProducers may fail, it only helps to name who holds a partition up.
type Client interface {
	kmsg.Requestor
	Broker(id int) kmsg.Requestor
}

// NewClient makes a Client of one of the library's, which is the caller's to close. Its options count, not those of the Config.
func NewClient(c *kgo.Client) Client { return client{c} }

// client is the library's client as a Client.
type client struct{ *kgo.Client }

// Broker implements Client.
func (c client) Broker(id int) kmsg.Requestor { return c.Client.Broker(id) }

// connect makes the client and the decompressor, which is the library's own, bounded by MaxDecompressed.
func (s *Source) connect() error {
	own, err := newClient(s.config, kgo.WithPools(&s.scratch))
	if err != nil {
		return err
	}
	s.client, s.disconnect = client{own}, own.Close
	s.unpack = own.OptValue(kgo.WithDecompressor).(kgo.Decompressor)
	if s.config.Client != nil {
		own.Close() // it has connected to nothing: a bounded decompressor cannot be had without one
		s.client, s.disconnect = s.config.Client, func() {}
	}
	return nil
}

// newClient makes the one client of a source. It consumes nothing by itself: fetches are requests of our own.
func newClient(c Config, more ...kgo.Opt) (*kgo.Client, error) {
	cl, err := kgo.NewClient(append(options(c), more...)...)
	if err != nil {
		return nil, fmt.Errorf("kafka: client: %w", err)
	}
	return cl, nil
}

func options(c Config) []kgo.Opt {
	return append(c.access().Options(),
		kgo.RequestRetries(2), // the patience is ours: ask
		kgo.RetryTimeout(kafkaclient.DialTimeout),
		kgo.MaxDecompressBatchBytes(c.MaxDecompressed),
		kgo.BrokerMaxReadBytes(256<<20),
	)
}
