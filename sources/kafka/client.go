package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

const dialTimeout = 5 * time.Second

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
	own, err := newClient(s.config)
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
func newClient(c Config) (*kgo.Client, error) {
	cl, err := kgo.NewClient(options(c)...)
	if err != nil {
		return nil, fmt.Errorf("kafka: client: %w", err)
	}
	return cl, nil
}

func options(c Config) []kgo.Opt {
	opts := []kgo.Opt{
		kgo.ClientID("microbatch"),
		kgo.DialTimeout(dialTimeout),
		kgo.RequestRetries(2), // the patience is ours: ask
		kgo.RetryTimeout(dialTimeout),
		kgo.MetadataMinAge(250 * time.Millisecond),
		kgo.MaxDecompressBatchBytes(c.MaxDecompressed),
		kgo.BrokerMaxReadBytes(256 << 20),
		kgo.DisableClientMetrics(),
	}
	if len(c.Brokers) > 0 {
		opts = append(opts, kgo.SeedBrokers(c.Brokers...))
	}
	if c.TLS != nil {
		opts = append(opts, kgo.Dialer(c.TLS.dial))
	}
	if c.SASL != nil {
		opts = append(opts, kgo.SASL(c.SASL.mechanism()))
	}
	return opts
}

// dial reads the files anew for each connection: replaced certificates need no restart.
func (t *TLS) dial(ctx context.Context, network, address string) (net.Conn, error) {
	config, err := t.config()
	if err != nil {
		return nil, err
	}
	d := tls.Dialer{NetDialer: &net.Dialer{Timeout: dialTimeout}, Config: config}
	return d.DialContext(ctx, network, address)
}

func (t *TLS) config() (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	if t.CA != "" {
		pem, err := os.ReadFile(t.CA)
		if err != nil {
			return nil, fmt.Errorf("tls.ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("tls.ca: %s holds no certificate", t.CA)
		}
	}
	if t.Cert != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, fmt.Errorf("tls.cert: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

func (s *SASL) mechanism() sasl.Mechanism {
	user, password := s.User, s.Password.Expose()
	switch s.Mechanism {
	case "SCRAM-SHA-256":
		return scram.Auth{User: user, Pass: password}.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		return scram.Auth{User: user, Pass: password}.AsSha512Mechanism()
	}
	return plain.Auth{User: user, Pass: password}.AsMechanism()
}
