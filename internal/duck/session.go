//go:build cgo && duckdb_arrow

package duck

import (
	"cmp"
	"context"
	"fmt"
	"sync"

	"github.com/duckdb/duckdb-go/v2/mapping"
)

// Available is nil if DuckDB is part of this build, or an error that says what is missing.
func Available() error { return nil }

// Session is one database. It may be used by any number of goroutines.
type Session struct {
	db mapping.Database
}

// Open starts a session. The caller closes its connections first, then the session.
func Open(cfg Config) (*Session, error) {
	var config mapping.Config
	if mapping.CreateConfig(&config) == mapping.StateError {
		return nil, fmt.Errorf("duckdb: no configuration")
	}
	defer mapping.DestroyConfig(&config)
	for name, value := range cfg.settings() {
		if mapping.SetConfig(config, name, value) == mapping.StateError {
			return nil, fmt.Errorf("duckdb: setting %s = %q is refused", name, value)
		}
	}
	s := &Session{}
	var message string
	if mapping.OpenExt(cmp.Or(cfg.Path, ":memory:"), &s.db, config, &message) == mapping.StateError {
		mapping.Close(&s.db)
		return nil, fmt.Errorf("duckdb: open: %w", parseError(message))
	}
	if err := s.prepare(cfg); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Session) prepare(cfg Config) error {
	c, err := s.Connect(context.Background())
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.registerScan(); err != nil {
		return err
	}
	if cfg.Files {
		return c.registerList()
	}
	// Not with the other settings: while it is off, DuckDB refuses a temp directory.
	return c.Exec(context.Background(), "SET enable_external_access = false")
}

// Connect opens a connection in the time zone UTC.
func (s *Session) Connect(ctx context.Context) (*Conn, error) {
	c := &Conn{}
	if mapping.Connect(s.db, &c.conn) == mapping.StateError {
		return nil, fmt.Errorf("duckdb: no connection")
	}
	if err := c.Exec(ctx, "SET TimeZone = 'UTC'"); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Close ends the session and frees its memory and spill files.
func (s *Session) Close() { mapping.Close(&s.db) }

// Conn is a connection: it runs one statement at a time, and is used by one goroutine at a time.
type Conn struct {
	conn      mapping.Connection
	lists     []*List
	preparing bool // a plan is made that is not run
}

// Close ends the connection. Its views and rows are closed before.
func (c *Conn) Close() { mapping.Disconnect(&c.conn) }

// Exec runs one statement and drops its rows.
func (c *Conn) Exec(ctx context.Context, sql string) error {
	rows, err := c.Query(ctx, sql)
	if err != nil {
		return err
	}
	defer rows.Close()
	for {
		rec, err := rows.Next()
		if rec == nil || err != nil {
			return err
		}
		rec.Release()
	}
}

// interruptOn makes the connection's running statement fail when ctx ends. After stop no interrupt comes any more, so that the next statement is safe.
func (c *Conn) interruptOn(ctx context.Context) (stop func()) {
	var mu sync.Mutex
	ended := false
	release := context.AfterFunc(ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		if !ended {
			mapping.Interrupt(c.conn)
		}
	})
	return func() {
		release()
		mu.Lock()
		defer mu.Unlock()
		ended = true
	}
}

// prepare parses and plans one statement.
func (c *Conn) prepare(sql string) (mapping.PreparedStatement, error) {
	var stmt mapping.PreparedStatement
	if mapping.Prepare(c.conn, sql, &stmt) == mapping.StateError {
		defer mapping.DestroyPrepare(&stmt)
		return mapping.PreparedStatement{}, parseError(mapping.PrepareError(stmt))
	}
	return stmt, nil
}
