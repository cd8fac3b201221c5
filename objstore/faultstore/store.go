package faultstore

import (
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"sync"
	"time"

	"microbatch/objstore"
)

// Call is one call as it was made.
type Call struct {
	Op, Key string
	Fault   Kind // "" if nothing was injected
}

// String is "op key" or "op key (fault)".
func (c Call) String() string {
	if c.Fault == "" {
		return c.Op + " " + c.Key
	}
	return fmt.Sprintf("%s %s (%s)", c.Op, c.Key, c.Fault)
}

// Store is a store with faults, and a trace of its calls.
type Store struct {
	inner objstore.Store

	mu    sync.Mutex
	rules []*counted
	trace []Call
}

type counted struct {
	Rule
	seen int
}

var (
	_ objstore.Store   = (*Store)(nil)
	_ objstore.Tidier  = (*Store)(nil)
	_ objstore.Clocked = (*Store)(nil)
)

// New wraps a store, without faults yet.
func New(inner objstore.Store) *Store { return &Store{inner: inner} }

// Inject adds rules; they count from now.
func (s *Store) Inject(rules ...Rule) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range rules {
		s.rules = append(s.rules, &counted{Rule: r})
	}
}

// Heal removes all rules.
func (s *Store) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rules = nil
}

// Trace is every call so far, in the order they began. Calls of a writer and of an open object are among them.
func (s *Store) Trace() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.trace)
}

// Count is how often an operation was called on keys with a prefix; "*" is any operation.
func (s *Store) Count(op, prefix string) int {
	n := 0
	for _, c := range s.Trace() {
		if (Rule{Op: op, Prefix: prefix}).matches(c.Op, c.Key) {
			n++
		}
	}
	return n
}

// decide notes a call and finds its rule, if it has one.
func (s *Store) decide(op, key string) (Rule, Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	call := Call{Op: op, Key: key}
	var chosen Rule
	for _, r := range s.rules {
		if !r.matches(op, key) {
			continue
		}
		r.seen++
		if chosen.Kind == "" && (r.Nth == 0 || r.Nth == r.seen) {
			chosen = r.Rule
		}
	}
	call.Fault = chosen.Kind
	s.trace = append(s.trace, call)
	return chosen, call
}

// do runs a call under its fault.
func (s *Store) do(ctx context.Context, op, key string, run func() error) error {
	r, call := s.decide(op, key)
	if r.Hook != nil {
		r.Hook(call)
	}
	switch r.Kind {
	case Fail:
		return r.error(op, key)
	case Lose:
		if err := run(); err != nil {
			return err
		}
		return r.error(op, key)
	case Slow:
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.Release:
		}
		if err := r.error(op, key); err != nil {
			return err
		}
	}
	return run()
}

// URL is the inner store's.
func (s *Store) URL() string { return s.inner.URL() }

// Get reads a whole object.
func (s *Store) Get(ctx context.Context, key string) (data []byte, err error) {
	err = s.do(ctx, "get", key, func() (err error) {
		data, err = s.inner.Get(ctx, key)
		return err
	})
	if err != nil {
		return nil, err
	}
	return data, nil
}

// Open opens an object whose reads can fail as "read".
func (s *Store) Open(ctx context.Context, key string) (o objstore.Object, err error) {
	err = s.do(ctx, "open", key, func() (err error) {
		o, err = s.inner.Open(ctx, key)
		return err
	})
	if err != nil {
		if o != nil {
			o.Close()
		}
		return nil, err
	}
	return &object{Object: o, store: s, key: key}, nil
}

type object struct {
	objstore.Object
	store *Store
	key   string
}

func (o *object) ReadAt(p []byte, off int64) (n int, err error) {
	err = o.store.do(context.Background(), "read", o.key, func() (err error) {
		n, err = o.Object.ReadAt(p, off)
		return err
	})
	return n, err
}

// Stat describes an object.
func (s *Store) Stat(ctx context.Context, key string) (info objstore.Info, err error) {
	err = s.do(ctx, "stat", key, func() (err error) {
		info, err = s.inner.Stat(ctx, key)
		return err
	})
	return info, err
}

// PutIfAbsent creates an object.
func (s *Store) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	return s.do(ctx, "putifabsent", key, func() error { return s.inner.PutIfAbsent(ctx, key, data) })
}

// Put creates or replaces an object.
func (s *Store) Put(ctx context.Context, key string, data []byte) error {
	return s.do(ctx, "put", key, func() error { return s.inner.Put(ctx, key, data) })
}

// Create begins an object whose writes, commit and abort can fail as "write", "commit" and "abort".
func (s *Store) Create(ctx context.Context, key string) (w objstore.Writer, err error) {
	err = s.do(ctx, "create", key, func() (err error) {
		w, err = s.inner.Create(ctx, key)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &writer{Writer: w, store: s, key: key}, nil
}

type writer struct {
	objstore.Writer
	store *Store
	key   string
}

func (w *writer) Write(p []byte) (n int, err error) {
	err = w.store.do(context.Background(), "write", w.key, func() (err error) {
		n, err = w.Writer.Write(p)
		return err
	})
	return n, err
}

func (w *writer) Commit(ctx context.Context) error {
	return w.store.do(ctx, "commit", w.key, func() error { return w.Writer.Commit(ctx) })
}

func (w *writer) Abort(ctx context.Context) error {
	return w.store.do(ctx, "abort", w.key, func() error { return w.Writer.Abort(ctx) })
}

// List lists; a fault comes in place of the first object.
func (s *Store) List(ctx context.Context, prefix, after string) iter.Seq2[objstore.Info, error] {
	return func(yield func(objstore.Info, error) bool) {
		if err := s.do(ctx, "list", prefix, func() error { return nil }); err != nil {
			yield(objstore.Info{}, err)
			return
		}
		s.inner.List(ctx, prefix, after)(yield)
	}
}

// Delete removes an object.
func (s *Store) Delete(ctx context.Context, key string) error {
	return s.do(ctx, "delete", key, func() error { return s.inner.Delete(ctx, key) })
}

// Sync makes an object durable.
func (s *Store) Sync(ctx context.Context, key string) error {
	return s.do(ctx, "sync", key, func() error { return s.inner.Sync(ctx, key) })
}

// Lock takes a lock.
func (s *Store) Lock(ctx context.Context, key string) (c io.Closer, err error) {
	err = s.do(ctx, "lock", key, func() (err error) {
		c, err = s.inner.Lock(ctx, key)
		return err
	})
	if err != nil && c != nil {
		c.Close()
		c = nil
	}
	return c, err
}

// Tidy tidies the inner store.
func (s *Store) Tidy(ctx context.Context, prefix string, before time.Time) (int, error) {
	return objstore.Tidy(ctx, s.inner, prefix, before)
}

// Clock is the inner store's.
func (s *Store) Clock() time.Time { return objstore.Clock(s.inner) }
