//go:build services

package kafka

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// wire makes connections that break at EndTxn: before the broker has the request, or after it has answered.
type wire struct {
	mu     sync.Mutex
	breaks bool
	landed bool
	n      int
}

func (w *wire) breakEnds(landed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.breaks, w.landed = true, landed
}

func (w *wire) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.breaks = false
}

func (w *wire) broken() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.n
}

func (w *wire) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, network, addr)
	return &breaking{Conn: c, wire: w}, err
}

// breaking is one connection. The library writes one request at a time, whole.
type breaking struct {
	net.Conn
	wire *wire

	mu   sync.Mutex
	dead bool // what comes back is lost
}

var errBroken = errors.New("the connection broke")

func (c *breaking) Write(b []byte) (int, error) {
	if len(b) < 6 || binary.BigEndian.Uint16(b[4:]) != uint16(kmsg.EndTxn) {
		return c.Conn.Write(b)
	}
	c.wire.mu.Lock()
	breaks, landed := c.wire.breaks, c.wire.landed
	if breaks {
		c.wire.n++
	}
	c.wire.mu.Unlock()
	switch {
	case !breaks:
		return c.Conn.Write(b)
	case !landed:
		c.Conn.Close()
		return 0, errBroken
	}
	c.mu.Lock()
	c.dead = true
	c.mu.Unlock()
	return c.Conn.Write(b)
}

func (c *breaking) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead && err == nil {
		c.Conn.Close()
		return 0, errBroken
	}
	return n, err
}
