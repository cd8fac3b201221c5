package proxy_test

import (
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"microbatch/internal/services/proxy"
)

// echo is a server that answers each byte by itself, and says how many it has seen.
func echo(t *testing.T) (addr string, seen chan int) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	seen = make(chan int, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		n := 0
		buf := make([]byte, 1024)
		for {
			k, err := conn.Read(buf)
			n += k
			if err != nil {
				seen <- n
				return
			}
			conn.Write(buf[:k])
		}
	}()
	return l.Addr().String(), seen
}

func TestEachFaultDoesWhatItSays(t *testing.T) {
	const request = 1000
	for _, c := range []struct {
		fault  proxy.Fault
		answer int  // bytes that arrive
		reset  bool // how the connection ends
		server int  // bytes that the server has seen
	}{
		{proxy.Fault{}, request, false, request},
		{proxy.Fault{Kind: proxy.Slow, Delay: time.Millisecond}, request, false, request},
		{proxy.Fault{Kind: proxy.CutAnswer, After: 300}, 300, true, request},
		{proxy.Fault{Kind: proxy.CutRequest, After: 400}, -1, true, 400},
		{proxy.Fault{Kind: proxy.HalfClose, After: 500}, 500, false, request},
		{proxy.Fault{Kind: proxy.EatAnswer}, 0, true, request},
	} {
		t.Run(c.fault.Kind.String(), func(t *testing.T) {
			addr, seen := echo(t)
			p, err := proxy.Listen(addr)
			if err != nil {
				t.Fatal(err)
			}
			p.Schedule(func(int) proxy.Fault { return c.fault })
			conn, err := net.Dial("tcp", p.Addr())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := conn.Write([]byte(strings.Repeat("x", request))); err != nil {
				t.Fatal(err)
			}
			if !c.reset {
				conn.(*net.TCPConn).CloseWrite()
			}
			conn.SetReadDeadline(time.Now().Add(20 * time.Second))
			got, err := io.ReadAll(conn)
			if errors.Is(err, syscall.ECONNRESET) != c.reset || err != nil && !c.reset {
				t.Errorf("the connection ended with %v", err)
			}
			if len(got) > max(c.answer, request) || c.answer >= 0 && !c.reset && len(got) != c.answer || c.reset && c.answer >= 0 && len(got) > c.answer {
				t.Errorf("%d bytes arrived, want %d", len(got), c.answer)
			}
			conn.Close()
			if n := <-seen; n != c.server {
				t.Errorf("the server saw %d bytes, want %d", n, c.server)
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			if n := p.Hits()[c.fault.Kind]; (n == 0) != (c.fault.Kind == proxy.Pass) {
				t.Errorf("counted %d", n)
			}
		})
	}
}

func TestAnOpenConnectionIsBrokenAtWhatComesNext(t *testing.T) {
	for _, c := range []struct {
		kind proxy.Kind
		seen int // bytes of the server
	}{{proxy.CutRequest, 1}, {proxy.EatAnswer, 2}} {
		t.Run(c.kind.String(), func(t *testing.T) {
			addr, seen := echo(t)
			p, err := proxy.Listen(addr)
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			conn, err := net.Dial("tcp", p.Addr())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			answer := make([]byte, 1)
			for n, want := range []error{nil, syscall.ECONNRESET} {
				if n == 1 {
					p.Break(c.kind)
				}
				if _, err := conn.Write([]byte("x")); err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadFull(conn, answer); !errors.Is(err, want) {
					t.Fatalf("answer %d: %v, want %v", n, err, want)
				}
			}
			if n := <-seen; n != c.seen {
				t.Errorf("the server saw %d bytes, want %d", n, c.seen)
			}
		})
	}
}

func TestASeedRepeatsASchedule(t *testing.T) {
	a, b, other := proxy.Seeded(7, 50, 1000), proxy.Seeded(7, 50, 1000), proxy.Seeded(8, 50, 1000)
	differs, kinds := false, map[proxy.Kind]bool{}
	for n := range 200 {
		if a(n) != b(n) {
			t.Fatalf("connection %d: %s and %s", n, a(n), b(n))
		}
		differs = differs || a(n) != other(n)
		kinds[a(n).Kind] = true
	}
	if !differs || len(kinds) != 6 {
		t.Errorf("another seed differs: %v; %d kinds", differs, len(kinds))
	}
}
