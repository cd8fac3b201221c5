package query

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/internal/duck"
	"microbatch/internal/errcode"
)

// Options are a session's settings. The zero value is right for most.
type Options struct {
	MemoryLimit int64  // bytes that DuckDB may hold; 0 is duck.DefaultMemoryLimit
	TempDir     string // where it may spill to; "" is nowhere
	Threads     int    // 0 is one for each CPU
	Extensions  string // a folder with files of DuckDB's extensions
	// Resolve finds a table that a query names and that was not added: a name, or a path in quotes. ok false: there is none of that name.
	Resolve func(ctx context.Context, name string) (t Table, ok bool, err error)
	Alloc   memory.Allocator // for records of our own reader; nil is the default one
}

// Session is a DuckDB with tables as views. It runs one query at a time.
type Session struct {
	opts     Options
	duck     *duck.Session
	conn     *duck.Conn
	own      []*ownView
	readings []Reading
	httpfs   *loaded
	lists    []*duck.List
}

// Open starts a session. The caller closes it.
func Open(ctx context.Context, o Options) (*Session, error) {
	if err := duck.Available(); err != nil {
		return nil, err
	}
	if o.Threads <= 0 {
		o.Threads = runtime.GOMAXPROCS(0)
	}
	if o.Alloc == nil {
		o.Alloc = memory.DefaultAllocator
	}
	d, err := duck.Open(duck.Config{MemoryLimit: o.MemoryLimit, TempDir: o.TempDir, Threads: o.Threads, Files: true})
	if err != nil {
		return nil, err
	}
	conn, err := d.Connect(ctx)
	if err != nil {
		d.Close()
		return nil, err
	}
	return &Session{opts: o, duck: d, conn: conn}, nil
}

// Close ends the session. Results are closed before.
func (s *Session) Close() error {
	var errs []error
	for _, v := range s.own {
		errs = append(errs, v.view.Drop(context.Background()))
	}
	for _, l := range s.lists {
		l.Drop()
	}
	s.conn.Close()
	s.duck.Close()
	return errors.Join(errs...)
}

// Readings say how the tables are read, in the order in which they were added.
func (s *Session) Readings() []Reading { return slices.Clone(s.readings) }

// Query starts a statement. Tables that it names and that are not there yet are asked of Options.Resolve. The statement ends with ctx.
func (s *Session) Query(ctx context.Context, sql string) (*Result, error) {
	asked := map[string]bool{}
	for {
		for _, v := range s.own {
			v.serve(ctx, s.opts)
		}
		rows, err := s.conn.Query(ctx, sql)
		if err == nil {
			return &Result{session: s, rows: rows, sql: sql}, nil
		}
		d, ok := errors.AsType[*duck.Error](err)
		if !ok || d.Table == "" || asked[d.Table] || s.opts.Resolve == nil {
			return nil, s.failed(sql, err)
		}
		asked[d.Table] = true
		t, found, failed := s.opts.Resolve(ctx, d.Table)
		if failed != nil {
			return nil, failed
		}
		if !found {
			return nil, s.failed(sql, err)
		}
		if err := s.Add(ctx, d.Table, t); err != nil {
			return nil, err
		}
	}
}

// failed makes an error of DuckDB one of ours, with its place in the SQL. If our own reader failed, that is the error.
func (s *Session) failed(sql string, err error) error {
	for _, v := range s.own {
		if own := v.view.Err(); own != nil {
			return own
		}
	}
	d, ok := errors.AsType[*duck.Error](err)
	if !ok {
		return err
	}
	message := d.Message
	if d.Table != "" { // DuckDB speaks of names that it knows, and goes on with those of its own tables
		message = fmt.Sprintf("no table is called %q, and there is none at that path", d.Table)
	}
	return errcode.QuerySQL.New(place(sql, d.Position), "%s: %s", strings.ToLower(d.Kind), message)
}

// place is a byte offset in the SQL as "query line:column", both from 1.
func place(sql string, at int) string {
	if at < 0 || at > len(sql) {
		return "query"
	}
	before := sql[:at]
	return fmt.Sprintf("query %d:%d", 1+strings.Count(before, "\n"), 1+len([]rune(before[strings.LastIndexByte(before, '\n')+1:])))
}
