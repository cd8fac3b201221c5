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
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

const dialTimeout = 5 * time.Second

// newClient makes the one client of a source. It consumes nothing by itself: fetches are requests of our own.
func newClient(c Config) (*kgo.Client, error) {
	opts := []kgo.Opt{
		kgo.ClientID("microbatch"),
		kgo.SeedBrokers(c.Brokers...),
		kgo.DialTimeout(dialTimeout),
		kgo.RequestRetries(2), // the patience is ours: ask
		kgo.RetryTimeout(dialTimeout),
		kgo.MetadataMinAge(250 * time.Millisecond),
		kgo.MaxDecompressBatchBytes(c.MaxDecompressed),
		kgo.BrokerMaxReadBytes(256 << 20),
		kgo.DisableClientMetrics(),
	}
	if c.TLS != nil {
		opts = append(opts, kgo.Dialer(c.TLS.dial))
	}
	if c.SASL != nil {
		opts = append(opts, kgo.SASL(c.SASL.mechanism()))
	}
	cl, err := kgo.NewClient(opts...)
	if err != nil {
		return nil, fmt.Errorf("kafka: client: %w", err)
	}
	return cl, nil
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
