package status

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"

	"microbatch/engine"
	"microbatch/internal/errcode"
)

// Server serves the state of one query.
type Server struct {
	board    board
	metrics  *metrics
	listener net.Listener
	http     *http.Server
	open     bool // any Host is answered
}

// Listen opens the port; nothing is answered before Serve. insecure permits addresses that others can reach.
func Listen(ctx context.Context, address, pipeline string, insecure bool) (*Server, error) {
	if err := checkAddress(address, insecure); err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, errcode.ListenAddress.Wrap(err, address, "the port cannot be opened")
	}
	s := &Server{metrics: newMetrics(pipeline), listener: l, open: insecure}
	s.board.state = State{Name: pipeline, Status: Status{Message: "starting", Batch: -1, Behind: -1}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /status", s.status)
	mux.HandleFunc("GET /healthz", s.health)
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.metrics.registry, promhttp.HandlerOpts{}))
	s.http = &http.Server{
		Handler:           s.guard(mux),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       60 * time.Second,
		MaxHeaderBytes:    16 << 10,
	}
	return s, nil
}

func checkAddress(address string, insecure bool) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return errcode.ListenAddress.New(address, "want host:port, such as 127.0.0.1:8080")
	}
	if insecure || isLoopback(host) {
		return nil
	}
	return errcode.ListenAddress.New(address, "anybody who reaches this address could read the state of the query; it has no login")
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Address is where the server listens, with the port it got.
func (s *Server) Address() string { return s.listener.Addr().String() }

// Listener keeps the state current.
func (s *Server) Listener() engine.Listener { return s.board.listener().Tee(s.metrics.listener()) }

// Serve answers requests until Close.
func (s *Server) Serve() error {
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Close ends the server; answers under way get two seconds.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		return s.http.Close()
	}
	return nil
}

// guard answers only those who name this machine: a page of another site that has rebound its name to 127.0.0.1 does not. Nor does it answer scripts of
// other sites, wherever it listens.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !s.open && !isLoopback(hostOf(r.Host)) {
			http.Error(w, "this server answers only to its own address", http.StatusMisdirectedRequest)
			return
		}
		if !sameSite(r) {
			http.Error(w, "this server does not answer the scripts of other sites", http.StatusForbidden)
			return
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// hostOf is the host of host:port, or of a host alone.
func hostOf(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.TrimSuffix(strings.TrimPrefix(hostport, "["), "]")
}

// sameSite reports whether a request comes from no page, or from a page of this very server.
func sameSite(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host == r.Host
}

func (s *Server) status(w http.ResponseWriter, _ *http.Request) {
	state, _ := s.board.read()
	w.Header().Set("Content-Type", "application/json")
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	_ = e.Encode(state) // a reader that went away
}

func (s *Server) health(w http.ResponseWriter, _ *http.Request) {
	if _, ended := s.board.read(); ended {
		http.Error(w, "ended", http.StatusServiceUnavailable)
		return
	}
	_, _ = io.WriteString(w, "ok\n")
}
