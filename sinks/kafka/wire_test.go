package kafka

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// wire makes connections that break at requests of one kind: before the broker has the request, or after it has answered.
type wire struct {
	mu   sync.Mutex
	kind kmsg.Key
	fate func() (breaks, landed bool) // of the next request; nil: all is well
	n    int
}

func (w *wire) breakAt(kind kmsg.Key, fate func() (breaks, landed bool)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kind, w.fate = kind, fate
}

// breakEnds breaks at each EndTxn.
func (w *wire) breakEnds(landed bool) {
	w.breakAt(kmsg.EndTxn, func() (bool, bool) { return true, landed })
}

func (w *wire) mend() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.fate = nil
}

func (w *wire) broken() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.n
}

// next is the fate of a request.
func (w *wire) next(request []byte) (breaks, landed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fate == nil || len(request) < 6 || binary.BigEndian.Uint16(request[4:]) != uint16(w.kind) {
		return false, false
	}
	if breaks, landed = w.fate(); breaks {
		w.n++
	}
	return breaks, landed
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
	breaks, landed := c.wire.next(b)
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
