package kafkaclient

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"os"
)

// TLS is how the brokers are recognised, and this client by them. Files are read again for each connection, so that they can be replaced while it runs.
type TLS struct {
	CA         string // PEM file of certificate authorities; "" are the system's
	Cert, Key  string // PEM files of a client certificate; "" for none
	ServerName string // expected in the broker's certificate; "" is the host in the address
}

// Dial makes a connection. It reads the files anew for each: replaced certificates need no restart.
func (t *TLS) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	config, err := t.config()
	if err != nil {
		return nil, err
	}
	d := tls.Dialer{NetDialer: &net.Dialer{Timeout: DialTimeout}, Config: config}
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
