package gate

import (
	"context"
	"io"
	"iter"
	"time"

	"microbatch/objstore"
)

// Store is a store as the process sees it: every operation passes the judge. The inner store is shared with other processes.
func (p *Process) Store(place string, inner objstore.Store) objstore.Store {
	return &store{inner, p, place}
}

type store struct {
	inner objstore.Store
	p     *Process
	place string
}

func (s *store) do(ctx context.Context, kind, key string, act func(context.Context) error) error {
	return s.p.Do(ctx, s.place, kind, key, func() error { return act(context.WithoutCancel(ctx)) })
}

func (s *store) URL() string { return s.inner.URL() }

func (s *store) Get(ctx context.Context, key string) (data []byte, err error) {
	err = s.do(ctx, "get", key, func(ctx context.Context) (err error) { data, err = s.inner.Get(ctx, key); return err })
	if err != nil {
		return nil, err
	}
	return data, nil
}

func (s *store) Open(ctx context.Context, key string) (o objstore.Object, err error) {
	err = s.do(ctx, "open", key, func(ctx context.Context) (err error) { o, err = s.inner.Open(ctx, key); return err })
	if err != nil && o != nil {
		o.Close()
		o = nil
	}
	return o, err
}

func (s *store) Stat(ctx context.Context, key string) (info objstore.Info, err error) {
	err = s.do(ctx, "stat", key, func(ctx context.Context) (err error) { info, err = s.inner.Stat(ctx, key); return err })
	return info, err
}

func (s *store) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	return s.put(ctx, "putifabsent", key, data, s.inner.PutIfAbsent)
}

func (s *store) Put(ctx context.Context, key string, data []byte) error {
	return s.put(ctx, "put", key, data, s.inner.Put)
}

func (s *store) put(ctx context.Context, kind, key string, data []byte, act func(context.Context, string, []byte) error) error {
	return s.p.pass(ctx, Call{
		Op: Op{s.p.Name, s.place, kind, key}, Data: data,
		Apply: func() error { return act(context.WithoutCancel(ctx), key, data) },
	})
}

func (s *store) Delete(ctx context.Context, key string) error {
	return s.do(ctx, "delete", key, func(ctx context.Context) error { return s.inner.Delete(ctx, key) })
}

func (s *store) Sync(ctx context.Context, key string) error {
	return s.do(ctx, "sync", key, func(ctx context.Context) error { return s.inner.Sync(ctx, key) })
}

// Clock is the inner store's; to read it is no operation.
func (s *store) Clock() time.Time { return objstore.Clock(s.inner) }

// List is one operation: the listing as it is when the judge lets it pass.
func (s *store) List(ctx context.Context, prefix, after string) iter.Seq2[objstore.Info, error] {
	return func(yield func(objstore.Info, error) bool) {
		var found []objstore.Info
		err := s.do(ctx, "list", prefix, func(ctx context.Context) error {
			for info, err := range s.inner.List(ctx, prefix, after) {
				if err != nil {
					return err
				}
				found = append(found, info)
			}
			return nil
		})
		if err != nil {
			yield(objstore.Info{}, err)
			return
		}
		for _, info := range found {
			if !yield(info, nil) {
				return
			}
		}
	}
}

// Lock is not judged: a process that is gone has given its locks back.
func (s *store) Lock(ctx context.Context, key string) (io.Closer, error) {
	s.p.mu.Lock()
	defer s.p.mu.Unlock()
	if s.p.isGone() {
		return nil, ErrGone
	}
	l, err := s.inner.Lock(ctx, key)
	if err != nil {
		return nil, err
	}
	s.p.locks = append(s.p.locks, l)
	return unlock{s.p, l}, nil
}

// unlock gives a lock back, unless that was done when the process went.
type unlock struct {
	p *Process
	l io.Closer
}

func (u unlock) Close() error {
	u.p.mu.Lock()
	defer u.p.mu.Unlock()
	if u.p.isGone() {
		return nil
	}
	return u.l.Close()
}

func (s *store) Create(ctx context.Context, key string) (w objstore.Writer, err error) {
	err = s.do(ctx, "create", key, func(ctx context.Context) (err error) { w, err = s.inner.Create(ctx, key); return err })
	if err != nil {
		return nil, err
	}
	return &writer{w, s, key}, nil
}

type writer struct {
	inner objstore.Writer
	s     *store
	key   string
}

func (w *writer) Write(data []byte) (int, error) {
	if w.s.p.isGone() {
		return 0, ErrGone
	}
	return w.inner.Write(data)
}

func (w *writer) Commit(ctx context.Context) error {
	return w.s.do(ctx, "commit", w.key, func(ctx context.Context) error { return w.inner.Commit(ctx) })
}

func (w *writer) Abort(ctx context.Context) error {
	return w.s.do(ctx, "abort", w.key, func(ctx context.Context) error { return w.inner.Abort(ctx) })
}
