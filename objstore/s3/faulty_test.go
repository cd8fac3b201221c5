package s3_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"microbatch/objstore/s3"
)

// network stands between the store and its server and does to requests what a fault says.
type network struct {
	mu     sync.Mutex
	faults []*fault
	log    []string // "PUT key" of every request
}

// fault does something to matching requests, times of them.
type fault struct {
	match func(*http.Request) bool
	times int
	do    func(*http.Request) (*http.Response, error)
}

const always = 1 << 30

func (n *network) add(times int, match func(*http.Request) bool, do func(*http.Request) (*http.Response, error)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.faults = append(n.faults, &fault{match, times, do})
}

func (n *network) RoundTrip(req *http.Request) (*http.Response, error) {
	if do := n.next(req); do != nil {
		return do(req)
	}
	return forward(req)
}

func (n *network) next(req *http.Request) func(*http.Request) (*http.Response, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.log = append(n.log, req.Method+" "+req.URL.Path)
	for _, f := range n.faults {
		if f.times > 0 && f.match(req) {
			f.times--
			return f.do
		}
	}
	return nil
}

// count is how many requests were sent with a method.
func (n *network) count(method string) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := 0
	for _, line := range n.log {
		if strings.HasPrefix(line, method+" ") {
			c++
		}
	}
	return c
}

func forward(req *http.Request) (*http.Response, error) { return http.DefaultTransport.RoundTrip(req) }

var errReset = &net.OpError{Op: "read", Net: "tcp", Err: errors.New("connection reset by peer")}

// The faults. Each is "done or not" and "what the caller sees".
func notSent(*http.Request) (*http.Response, error) {
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
}

func reset(*http.Request) (*http.Response, error) { return nil, errReset }

func doneThenReset(req *http.Request) (*http.Response, error) {
	resp, err := forward(req)
	if err != nil {
		return nil, err
	}
	io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return nil, errReset
}

func says(status int, code string) func(*http.Request) (*http.Response, error) {
	return func(req *http.Request) (*http.Response, error) {
		body := ""
		if code != "" {
			body = "<?xml version=\"1.0\"?><Error><Code>" + code + "</Code><Message>injected</Message></Error>"
		}
		return &http.Response{
			StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: req,
			Header: http.Header{"Content-Type": {"application/xml"}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
		}, nil
	}
}

func doneThenSays(status int, code string) func(*http.Request) (*http.Response, error) {
	return func(req *http.Request) (*http.Response, error) {
		if _, err := doneThenReset(req); err != errReset {
			return nil, err
		}
		return says(status, code)(req)
	}
}

// cutOff gives half of the body.
func cutOff(req *http.Request) (*http.Response, error) {
	resp, err := forward(req)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(resp.Body)
	resp.Body.Close()
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body[:len(body)/2]), failing{}))
	return resp, nil
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// heldBack tells the caller that the connection broke, and sends the request when release is called.
type heldBack struct {
	request *http.Request
	body    []byte
}

func (h *heldBack) do(req *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	h.request, h.body = req.Clone(req.Context()), body
	return nil, errReset
}

func (h *heldBack) release(t *testing.T) int {
	t.Helper()
	req := h.request.Clone(t.Context())
	req.Body = io.NopCloser(bytes.NewReader(h.body))
	resp, err := forward(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// Matches.
func puts(req *http.Request) bool  { return req.Method == http.MethodPut }
func heads(req *http.Request) bool { return req.Method == http.MethodHead }
func gets(req *http.Request) bool  { return req.Method == http.MethodGet }
func any_(*http.Request) bool      { return true }
func completes(req *http.Request) bool {
	return req.Method == http.MethodPost && req.URL.Query().Has("uploadId")
}

// How long a store tries: patient where success is wanted, hasty where it cannot come.
const (
	patient = time.Minute
	hasty   = 400 * time.Millisecond
)

// behind is a store behind a network, and one beside it, on the same empty bucket.
func behind(t *testing.T, retryFor time.Duration) (*network, *s3.Store, *s3.Store) {
	t.Helper()
	c := fake(t)
	other := open(t, c)
	n := &network{}
	c.Transport, c.RetryFor = n, retryFor
	return n, open(t, c), other
}
