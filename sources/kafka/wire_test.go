package kafka

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fate is what becomes of an answer on its way.
type fate int

const (
	eaten  fate = iota // the broker has answered, then the connection breaks
	halved             // it breaks in the middle of the answer
	muted              // nothing comes any more, and the connection stays
)

func (f fate) String() string { return [...]string{"eaten", "halved", "muted"}[f] }

// wire dials connections that treat the next answers to requests of one kind badly.
type wire struct {
	mu    sync.Mutex
	key   kmsg.Key
	fate  fate
	times int
}

func (w *wire) arm(key kmsg.Key, f fate, times int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.key, w.fate, w.times = key, f, times
}

func (w *wire) left() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.times
}

// strikes says whether, and how, an answer is treated badly.
func (w *wire) strikes(key kmsg.Key) (fate, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if key != w.key || w.times == 0 {
		return 0, false
	}
	w.times--
	return w.fate, true
}

func (w *wire) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &wiredConn{Conn: c, wire: w, asked: map[uint32]kmsg.Key{}}, nil
}

// wiredConn knows requests and answers by their frames:
//
//	request: length (4) key (2) version (2) correlation (4) ...    answer: length (4) correlation (4) ...
type wiredConn struct {
	net.Conn
	wire *wire

	mu    sync.Mutex
	asked map[uint32]kmsg.Key

	ready []byte // of the answer that is being handed on
	last  bool   // the connection breaks after it
}

func (c *wiredConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	for rest := b; len(rest) >= 12; rest = rest[min(len(rest), 4+int(binary.BigEndian.Uint32(rest))):] {
		c.asked[binary.BigEndian.Uint32(rest[8:])] = kmsg.Key(binary.BigEndian.Uint16(rest[4:]))
	}
	c.mu.Unlock()
	return c.Conn.Write(b)
}

func (c *wiredConn) Read(b []byte) (int, error) {
	for len(c.ready) == 0 {
		if c.last {
			c.Conn.Close()
			return 0, io.ErrUnexpectedEOF
		}
		if err := c.receive(); err != nil {
			return 0, err
		}
	}
	n := copy(b, c.ready)
	c.ready = c.ready[n:]
	return n, nil
}

// receive takes the next answer from the broker, and decides what becomes of it.
func (c *wiredConn) receive() error {
	frame := make([]byte, 4)
	if _, err := io.ReadFull(c.Conn, frame); err != nil {
		return err
	}
	frame = append(frame, make([]byte, binary.BigEndian.Uint32(frame))...)
	if _, err := io.ReadFull(c.Conn, frame[4:]); err != nil {
		return err
	}
	c.mu.Lock()
	key := c.asked[binary.BigEndian.Uint32(frame[4:])]
	c.mu.Unlock()
	c.ready = frame
	if f, hit := c.wire.strikes(key); hit {
		c.ready, c.last = map[fate][]byte{eaten: nil, halved: frame[:len(frame)/2], muted: nil}[f], f != muted
	}
	return nil
}

// wired is a config whose client, the source's own in all else, dials by a wire and is not patient with a broker that says nothing.
func (k *kit) wired(w *wire, topics ...string) Config {
	config := k.config(topics...)
	cl, err := kgo.NewClient(append(options(config.withDefaults()), kgo.Dialer(w.dial), kgo.RequestTimeoutOverhead(200*time.Millisecond))...)
	if err != nil {
		k.Fatal(err)
	}
	k.Cleanup(cl.Close)
	config.Client = NewClient(cl)
	return config
}

func TestAnswersThatAreEatenCutOrNeverComeAreAskedForAgain(t *testing.T) {
	for _, key := range []kmsg.Key{kmsg.Fetch, kmsg.ListOffsets, kmsg.Metadata} {
		for _, f := range []fate{eaten, halved, muted} {
			for _, times := range []int{1, 2} {
				t.Run(fmt.Sprintf("%s %s %d", key.Name(), f, times), func(t *testing.T) {
					t.Parallel()
					k := newKit(t, kfake.NumBrokers(2))
					k.topic("orders", 2)
					k.produce("orders", 0, 0, 300)
					k.produce("orders", 1, 300, 600)
					w := &wire{}
					config := k.wired(w, "orders")
					config.FetchBytes = 2000
					s := k.open(config)
					w.arm(key, f, times)
					p := k.plan(s, "", 0)
					if d := cmp.Diff(Numbers(0, 600), k.read(s, "", p)); d != "" {
						t.Errorf("read: %s", d)
					}
					k.produce("orders", 0, 600, 700)
					if d := cmp.Diff(Numbers(600, 700), k.read(s, p.To, k.plan(s, p.To, 0))); d != "" {
						t.Errorf("the next range: %s", d)
					}
					if n := w.left(); n > 0 {
						t.Errorf("%d answers were not met", n)
					}
				})
			}
		}
	}
}
