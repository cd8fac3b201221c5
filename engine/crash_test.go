package engine

import (
	"context"
	"errors"
	"io"
	"iter"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/objstore"
)

type recordBatch = arrow.RecordBatch

// errCrashed ends a driver whose process is gone: nothing that it does afterwards has an effect.
var errCrashed = errors.New("the process is gone")

// crashing counts operations over several stores and lets them all fail from the k-th on.
type crashing struct {
	mu      sync.Mutex
	left    int
	applied bool // the k-th operation takes effect, though nobody hears of it
}

func (c *crashing) store(s objstore.Store) objstore.Store { return &crashStore{s, c} }

// do runs op unless the process is gone.
func (c *crashing) do(op func() error) error {
	c.mu.Lock()
	c.left--
	left := c.left
	c.mu.Unlock()
	if left > 0 {
		return op()
	}
	if left == 0 && c.applied {
		op()
	}
	return errCrashed
}

type crashStore struct {
	objstore.Store
	c *crashing
}

func (s *crashStore) Get(ctx context.Context, key string) (data []byte, err error) {
	err = s.c.do(func() (err error) { data, err = s.Store.Get(ctx, key); return err })
	return data, err
}
func (s *crashStore) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	return s.c.do(func() error { return s.Store.PutIfAbsent(ctx, key, data) })
}
func (s *crashStore) Put(ctx context.Context, key string, data []byte) error {
	return s.c.do(func() error { return s.Store.Put(ctx, key, data) })
}
func (s *crashStore) Delete(ctx context.Context, key string) error {
	return s.c.do(func() error { return s.Store.Delete(ctx, key) })
}
func (s *crashStore) Sync(ctx context.Context, key string) error {
	return s.c.do(func() error { return s.Store.Sync(ctx, key) })
}
func (s *crashStore) List(ctx context.Context, prefix, after string) iter.Seq2[objstore.Info, error] {
	return func(yield func(objstore.Info, error) bool) {
		if err := s.c.do(func() error { return nil }); err != nil {
			yield(objstore.Info{}, err)
			return
		}
		s.Store.List(ctx, prefix, after)(yield)
	}
}

// unlocked is a store without locks, such as S3.
type unlocked struct{ objstore.Store }

func (unlocked) Lock(context.Context, string) (io.Closer, error) { return io.NopCloser(nil), nil }
