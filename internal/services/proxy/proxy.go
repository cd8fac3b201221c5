package proxy

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Proxy forwards connections until Close.
type Proxy struct {
	listener *net.TCPListener

	mu     sync.Mutex
	target string
	plan   func(n int) Fault
	count  int
	hits   map[Kind]int
	open   map[*net.TCPConn]bool
	links  map[*link]bool
	closed bool
	done   sync.WaitGroup
}

// Listen is a proxy on a free port of 127.0.0.1. Target, host:port, may be "" and set later; until then connections are refused.
func Listen(target string) (*Proxy, error) {
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, fmt.Errorf("proxy: %w", err)
	}
	p := &Proxy{listener: l, target: target, hits: map[Kind]int{}, open: map[*net.TCPConn]bool{}, links: map[*link]bool{}}
	p.done.Go(p.accept) // ends with Close
	return p, nil
}

// Addr is where the proxy listens, host:port.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Target sets where new connections go.
func (p *Proxy) Target(addr string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = addr
}

// Schedule decides what is done to the n-th connection from now on, counted from 0; nil lets all pass. It is called by one goroutine at a time.
func (p *Proxy) Schedule(plan func(n int) Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.plan, p.count = plan, 0
}

// Break breaks the connections that are open now, whatever the schedule says: with CutRequest each is reset at its next request, which the server does not get;
// with EatAnswer at its next answer, which the client does not get.
func (p *Proxy) Break(k Kind) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.broken.Store(int32(k))
	}
}

// Hits is how often each kind of fault has struck. A connection that ended before its fault counts for nothing.
func (p *Proxy) Hits() map[Kind]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make(map[Kind]int, len(p.hits))
	for k, n := range p.hits {
		out[k] = n
	}
	return out
}

// Close resets all connections and waits for their end.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	err := p.listener.Close()
	for c := range p.open {
		reset(c)
	}
	p.mu.Unlock()
	p.done.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.AcceptTCP()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // of the one connection
		}
		target, fault := p.next()
		p.done.Go(func() { p.forward(client, target, fault) })
	}
}

// next is where the next connection goes, and what is done to it.
func (p *Proxy) next() (string, Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.count
	p.count++
	if p.plan == nil {
		return p.target, Fault{}
	}
	return p.target, p.plan(n)
}

// forward serves one connection.
func (p *Proxy) forward(client *net.TCPConn, target string, f Fault) {
	defer client.Close()
	conn, err := net.DialTimeout("tcp", target, 5*time.Second)
	if err != nil {
		reset(client)
		return
	}
	server := conn.(*net.TCPConn)
	defer server.Close()
	if !p.keep(client, server) {
		return
	}
	defer p.drop(client, server)
	l := &link{proxy: p, client: client, server: server, fault: f}
	p.mu.Lock()
	p.links[l] = true
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.links, l)
	}()
	var ways sync.WaitGroup
	ways.Go(l.requests)
	ways.Go(l.answers)
	ways.Wait()
}

func (p *Proxy) keep(conns ...*net.TCPConn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		p.open[c] = true
	}
	return !p.closed
}

func (p *Proxy) drop(conns ...*net.TCPConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range conns {
		delete(p.open, c)
	}
}

func (p *Proxy) hit(k Kind) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hits[k]++
}

// reset ends a connection by RST: the peer sees "connection reset", and what is on the way is lost.
func reset(c *net.TCPConn) {
	c.SetLinger(0)
	c.Close()
}

// link is one connection on its way through.
type link struct {
	proxy          *Proxy
	client, server *net.TCPConn
	fault          Fault
	broken         atomic.Int32 // a Kind, by Break
}

// piece is how much is passed on at a time.
const piece = 16 << 10

// requests copies from the client to the server.
func (l *link) requests() {
	if l.fault.Kind == CutRequest {
		if _, err := io.CopyN(l.server, l.client, l.fault.After); err == nil {
			l.proxy.hit(CutRequest)
		}
		l.cut()
		return
	}
	l.pass(l.server, l.client, CutRequest)
	l.server.CloseWrite()
}

// answers copies from the server to the client.
func (l *link) answers() {
	switch l.fault.Kind {
	case Slow:
		l.slow()
	case CutAnswer, HalfClose, EatAnswer:
		if _, err := io.CopyN(l.client, l.server, l.fault.After); err != nil {
			break
		}
		l.strike()
		return
	default:
		l.pass(l.client, l.server, EatAnswer)
	}
	l.client.CloseWrite()
}

// pass copies one way until its end, or until a piece comes that the connection was broken for.
func (l *link) pass(to, from *net.TCPConn, broken Kind) {
	buf := make([]byte, piece)
	for {
		n, err := from.Read(buf)
		if n > 0 && Kind(l.broken.Load()) == broken {
			l.proxy.hit(broken)
			l.cut()
			return
		}
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// strike does to the answers what the fault says, from here on.
func (l *link) strike() {
	switch l.fault.Kind {
	case CutAnswer:
		l.proxy.hit(CutAnswer)
		l.cut()
	case HalfClose:
		l.proxy.hit(HalfClose)
		l.client.CloseWrite()
		io.Copy(io.Discard, l.server)
	case EatAnswer:
		if n, err := l.server.Read(make([]byte, piece)); err == nil && n > 0 { // the server has answered
			l.proxy.hit(EatAnswer)
			wait(l.fault.Delay)
		}
		l.cut()
	}
}

// slow passes pieces on, each after a while.
func (l *link) slow() {
	buf := make([]byte, piece)
	for {
		n, err := l.server.Read(buf)
		if n > 0 {
			l.proxy.hit(Slow)
			wait(l.fault.Delay)
			if _, err := l.client.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (l *link) cut() {
	reset(l.client)
	reset(l.server)
}

func wait(d time.Duration) {
	timer := time.NewTimer(d)
	<-timer.C
}
