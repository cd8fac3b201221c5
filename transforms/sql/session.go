package sql

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/internal/duck"
)

// timestampVariable holds the batch's timestamp in each connection.
const timestampVariable = "microbatch_timestamp"

// anchored are DuckDB's functions of the clock, with what they are instead. The keywords (current_date, localtime, ...) call them.
var anchored = map[string]string{
	"now":                    "",
	"get_current_timestamp":  "",
	"transaction_timestamp":  "",
	"current_localtimestamp": "::TIMESTAMP",
	"current_date":           "::DATE",
	"today":                  "::DATE",
	"get_current_time":       "::TIMESTAMP::TIME::TIMETZ",
	"current_localtime":      "::TIMESTAMP::TIME",
}

// readAhead bounds the rows that DuckDB has ready before they are asked for. By its own measure of 1 MB, rows of a few bytes would be a million.
const readAhead = "SET streaming_buffer_size = '128KiB'"

// session is the operator's DuckDB: the macros that anchor the clock, and workers, which are idle between batches.
type session struct {
	duck    *duck.Session
	names   map[string]bool // see unstable; nil until it is asked for
	mu      sync.Mutex
	idle    []*worker
	idleFor *plan
}

func openSession(ctx context.Context, cfg Config) (*session, error) {
	d, err := duck.Open(duck.Config{MemoryLimit: cfg.MemoryLimit, TempDir: cfg.TempDir, Threads: cfg.Threads})
	if err != nil {
		return nil, err
	}
	s := &session{duck: d}
	if err := s.prepare(ctx); err != nil {
		d.Close()
		return nil, err
	}
	return s, nil
}

// prepare shadows the functions of the clock.
func (s *session) prepare(ctx context.Context) error {
	conn, err := s.duck.Connect(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	for name, cast := range anchored {
		if err := conn.Exec(ctx, fmt.Sprintf("CREATE MACRO main.%s() AS getvariable('%s')%s", name, timestampVariable, cast)); err != nil {
			return err
		}
	}
	return nil
}

// unstable are the functions that DuckDB itself calls volatile, or stable within a query only, without those that are anchored. One goroutine asks.
func (s *session) unstable(ctx context.Context) (map[string]bool, error) {
	if s.names != nil {
		return s.names, nil
	}
	conn, err := s.duck.Connect(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	text, err := conn.Text(ctx, "SELECT string_agg(DISTINCT function_name, ' ') FROM duckdb_functions() WHERE stability <> 'CONSISTENT'")
	if err != nil {
		return nil, err
	}
	s.names = map[string]bool{}
	for _, name := range strings.Fields(text) {
		s.names[name] = !isAnchored(name)
	}
	return s.names, nil
}

func (s *session) close() {
	for _, w := range s.idle {
		w.close()
	}
	s.duck.Close()
}

// worker is a connection that has the input registered as a view.
type worker struct {
	conn *duck.Conn
	view *duck.View
	name string
}

func (s *session) newWorker(ctx context.Context, view string, in *arrow.Schema) (*worker, error) {
	conn, err := s.duck.Connect(ctx)
	if err != nil {
		return nil, err
	}
	if err := conn.Exec(ctx, readAhead); err != nil {
		conn.Close()
		return nil, err
	}
	v, err := conn.Register(ctx, view, in)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return &worker{conn: conn, view: v, name: view}, nil
}

// setTime anchors the clock of the worker's queries.
func (w *worker) setTime(ctx context.Context, t time.Time) error {
	return w.conn.Exec(ctx, fmt.Sprintf("SET VARIABLE %s = TIMESTAMPTZ '%s'", timestampVariable, t.UTC().Format("2006-01-02 15:04:05.000000+00")))
}

func (w *worker) close() {
	w.view.Drop(context.Background()) // fails only for a database that is broken, and then the connection's end takes the view along
	w.conn.Close()
}

// take gives an idle worker of the plan, or a new one.
func (s *session) take(ctx context.Context, p *plan) (*worker, error) {
	s.mu.Lock()
	if s.idleFor == p && len(s.idle) > 0 {
		w := s.idle[len(s.idle)-1]
		s.idle = s.idle[:len(s.idle)-1]
		s.mu.Unlock()
		return w, nil
	}
	s.mu.Unlock()
	return s.newWorker(ctx, p.viewName(), p.viewSchema())
}

// give takes a worker back for the next batch. Those of a former plan are closed.
func (s *session) give(p *plan, w *worker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.idleFor != p {
		for _, old := range s.idle {
			old.close()
		}
		s.idle, s.idleFor = nil, p
	}
	s.idle = append(s.idle, w)
}
