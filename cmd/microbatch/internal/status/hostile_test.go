package status

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// raw sends bytes to the server and returns the status of its answer, 0 if it hangs up without one, and the answer's body.
func raw(t *testing.T, s *Server, request string) (int, string) {
	t.Helper()
	c, err := net.Dial("tcp", s.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.WriteString(c, request) }() // the server may hang up before it has read all
	answer, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, ""
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	return answer.StatusCode, string(body)
}

// TestRequestsOfStrangersAreRefused: a corpus of what is thrown at ports that listen.
func TestRequestsOfStrangersAreRefused(t *testing.T) {
	s := serve(t)
	host := s.Address()
	get := func(target string, headers ...string) string {
		return "GET " + target + " HTTP/1.1\r\nHost: " + host + "\r\n" + strings.Join(append(headers, ""), "\r\n") + "Connection: close\r\n\r\n"
	}
	for name, c := range map[string]struct {
		request string
		want    int
	}{
		"an honest request":                  {get("/healthz"), 200},
		"an honest page of our own":          {get("/healthz", "Origin: http://"+host), 200},
		"a page of another site":             {get("/status", "Origin: https://evil.example"), 403},
		"a page from a file or a sandbox":    {get("/status", "Origin: null"), 403},
		"a page of another port":             {get("/status", "Origin: http://127.0.0.1:1"), 403},
		"another name for this address":      {"GET /status HTTP/1.1\r\nHost: rebound.example\r\n\r\n", 421},
		"a name that begins like ours":       {"GET /status HTTP/1.1\r\nHost: 127.0.0.1.evil.example\r\n\r\n", 421},
		"no host":                            {"GET /status HTTP/1.0\r\n\r\n", 421},
		"two hosts":                          {"GET /status HTTP/1.1\r\nHost: " + host + "\r\nHost: evil.example\r\n\r\n", 400},
		"an absolute target":                 {"GET http://evil.example/status HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n", 421},
		"a user in the host":                 {"GET /status HTTP/1.1\r\nHost: 127.0.0.1@evil.example\r\n\r\n", 400},
		"folders above":                      {get("/../../../../etc/passwd"), 307},
		"folders above, escaped":             {get("/%2e%2e/%2e%2e/etc/passwd"), 404},
		"folders above, escaped twice":       {get("/%252e%252e/etc/passwd"), 404},
		"folders above with backslashes":     {get("/..%5c..%5cetc/passwd"), 404},
		"folders below a page":               {get("/status/../../etc/passwd"), 307},
		"profiles":                           {get("/debug/pprof/heap"), 404},
		"variables":                          {get("/debug/vars"), 404},
		"a page that stops the program":      {"POST /stop HTTP/1.1\r\nHost: " + host + "\r\nContent-Length: 0\r\n\r\n", 404},
		"a write":                            {"PUT /status HTTP/1.1\r\nHost: " + host + "\r\nContent-Length: 2\r\n\r\n{}", 405},
		"a proxy request":                    {"CONNECT 169.254.169.254:80 HTTP/1.1\r\nHost: " + host + "\r\n\r\n", 421},
		"a trace":                            {"TRACE /status HTTP/1.1\r\nHost: " + host + "\r\n\r\n", 405},
		"a header of 64 KiB":                 {get("/status", "X: "+strings.Repeat("x", 64<<10)), 431},
		"ten thousand headers":               {get("/status", strings.Repeat("X: y\r\n", 10_000)+"Z: z"), 431},
		"a target of 64 KiB":                 {get("/" + strings.Repeat("x", 64<<10)), 431},
		"a line end in a header":             {"GET /status HTTP/1.1\r\nHost: " + host + "\r\nX: a\rb\r\n\r\n", 400},
		"two lengths":                        {"GET /healthz HTTP/1.1\r\nHost: " + host + "\r\nContent-Length: 0\r\nContent-Length: 44\r\n\r\n", 400},
		"a negative length":                  {"GET /healthz HTTP/1.1\r\nHost: " + host + "\r\nContent-Length: -1\r\n\r\n", 400},
		"another protocol":                   {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400},
		"HTTP/2 without TLS":                 {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 421},
		"an upgrade":                         {get("/status", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"), 200},
		"a byte of zero in the target":       {get("/status%00.html"), 404},
		"a control character in the request": {"GET /\x1b[31m HTTP/1.1\r\nHost: " + host + "\r\n\r\n", 400},
	} {
		code, body := raw(t, s, c.request)
		if code != c.want && (c.want < 400 || code != 400 && code != 0) { // the library may hang up or say 400 where it refuses
			t.Errorf("%s: %d, want %d", name, code, c.want)
		}
		if code != 200 && (strings.Contains(body, "runId") || strings.Contains(body, "root:")) {
			t.Errorf("%s: the answer %d says too much: %.200s", name, code, body)
		}
	}
}

// TestSlowClientsAreGivenUp: every phase of a request has a limit, so that few slow clients cannot hold the server.
func TestSlowClientsAreGivenUp(t *testing.T) {
	s, err := Listen(t.Context(), "127.0.0.1:0", "p", false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.listener.Close()
	h := s.http
	for what, limit := range map[string]time.Duration{"header": h.ReadHeaderTimeout, "request": h.ReadTimeout, "answer": h.WriteTimeout, "idle connection": h.IdleTimeout} {
		if limit <= 0 || limit > time.Minute {
			t.Errorf("the %s may take %s", what, limit)
		}
	}
	if h.MaxHeaderBytes <= 0 || h.MaxHeaderBytes > 64<<10 {
		t.Errorf("a header may have %d bytes", h.MaxHeaderBytes)
	}
}

// FuzzRequests: whatever the target, the host and the origin, only requests that name this machine, from no other site, for the three pages, are answered with 200.
func FuzzRequests(f *testing.F) {
	for _, host := range []string{"127.0.0.1:80", "localhost", "[::1]:1", "evil.example", "127.0.0.1.evil", "127.1", "[::ffff:127.0.0.1]", "LOCALHOST", "localhost.", "0.0.0.0", "", "::1", "127.0.0.1%00", "[::1%25lo]"} {
		f.Add("GET", "/status", host, "")
		f.Add("GET", "/metrics", host, "http://"+host)
		f.Add("POST", "/healthz", host, "null")
	}
	s, err := Listen(f.Context(), "127.0.0.1:0", "p", false)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { s.listener.Close() })
	f.Fuzz(func(t *testing.T, method, target, host, origin string) {
		if strings.ContainsAny(method+target+host+origin, "\r\n\x00 \t") || method == "" || !strings.HasPrefix(target, "/") {
			return
		}
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: %s\r\nOrigin: %s\r\n\r\n", method, target, host, origin))))
		if err != nil {
			return
		}
		w := httptest.NewRecorder()
		s.http.Handler.ServeHTTP(w, r)
		if w.Code != 200 {
			return
		}
		page := r.URL.Path
		if page != "/status" && page != "/metrics" && page != "/healthz" || method != "GET" && method != "HEAD" {
			t.Fatalf("%s %q is answered", method, target)
		}
		name := hostOf(host)
		if ip := net.ParseIP(name); name != "localhost" && (ip == nil || !ip.IsLoopback()) {
			t.Fatalf("the host %q is answered", host)
		}
		if origin != "" && !strings.HasSuffix(origin, "//"+host) && !strings.Contains(origin, "//"+host+"/") && !strings.Contains(origin, host) {
			t.Fatalf("the origin %q is answered", origin)
		}
	})
}
