package mem

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"microbatch/objstore"
)

// Store keeps objects in a map.
type Store struct {
	mu      sync.Mutex
	objects map[string]object
	locks   map[string]bool
}

// object is never changed once it is in the map.
type object struct {
	data     []byte
	modified time.Time
}

var (
	_ objstore.Store   = (*Store)(nil)
	_ objstore.Clocked = (*Store)(nil)
)

// New is an empty store.
func New() *Store { return &Store{objects: map[string]object{}, locks: map[string]bool{}} }

// Clone is a second store with the same objects, and without locks.
func (s *Store) Clone() *Store {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Store{objects: maps.Clone(s.objects), locks: map[string]bool{}}
}

// URL is a name for messages.
func (s *Store) URL() string { return "mem:" }

// Clock is the time, which dates the objects.
func (s *Store) Clock() time.Time { return time.Now() }

func (s *Store) find(ctx context.Context, op, key string) (object, error) {
	if err := check(ctx, key); err != nil {
		return object{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.objects[key]
	if !ok {
		return object{}, fmt.Errorf("mem: %s %s: %w", op, key, fs.ErrNotExist)
	}
	return o, nil
}

func check(ctx context.Context, key string) error {
	return errors.Join(ctx.Err(), objstore.ValidKey(key))
}

// Get returns a copy of an object.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	o, err := s.find(ctx, "get", key)
	if err != nil {
		return nil, err
	}
	return append([]byte{}, o.data...), nil
}

// Open opens an object as it is now.
func (s *Store) Open(ctx context.Context, key string) (objstore.Object, error) {
	o, err := s.find(ctx, "open", key)
	if err != nil {
		return nil, err
	}
	return reader{bytes.NewReader(o.data)}, nil
}

type reader struct{ *bytes.Reader }

func (reader) Close() error { return nil }

// Stat describes an object.
func (s *Store) Stat(ctx context.Context, key string) (objstore.Info, error) {
	o, err := s.find(ctx, "stat", key)
	if err != nil {
		return objstore.Info{}, err
	}
	return o.info(key), nil
}

func (o object) info(key string) objstore.Info {
	return objstore.Info{Key: key, Size: int64(len(o.data)), Modified: o.modified}
}

// PutIfAbsent creates an object.
func (s *Store) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	if err := check(ctx, key); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, taken := s.objects[key]; taken {
		return fmt.Errorf("mem: put %s: %w", key, fs.ErrExist)
	}
	s.objects[key] = object{bytes.Clone(data), time.Now()}
	return nil
}

// Put creates or replaces an object.
func (s *Store) Put(ctx context.Context, key string, data []byte) error {
	if err := check(ctx, key); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[key] = object{bytes.Clone(data), time.Now()}
	return nil
}

// Create begins an object.
func (s *Store) Create(ctx context.Context, key string) (objstore.Writer, error) {
	if err := check(ctx, key); err != nil {
		return nil, err
	}
	return &writer{store: s, key: key}, nil
}

type writer struct {
	bytes.Buffer
	store *Store
	key   string
	ended bool
}

func (w *writer) Commit(ctx context.Context) error {
	if w.ended {
		return fmt.Errorf("mem: commit %s: the writer has ended", w.key)
	}
	w.ended = true
	return w.store.Put(ctx, w.key, w.Bytes())
}

func (w *writer) Abort(context.Context) error {
	w.ended = true
	return nil
}

// List yields the objects that were there when the iteration began.
func (s *Store) List(ctx context.Context, prefix, after string) iter.Seq2[objstore.Info, error] {
	return func(yield func(objstore.Info, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(objstore.Info{}, err)
			return
		}
		for _, info := range s.snapshot(prefix, after) {
			if !yield(info, nil) {
				return
			}
		}
	}
}

func (s *Store) snapshot(prefix, after string) []objstore.Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []objstore.Info
	for key, o := range s.objects {
		if strings.HasPrefix(key, prefix) && key > after {
			out = append(out, o.info(key))
		}
	}
	slices.SortFunc(out, func(a, b objstore.Info) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// Delete removes an object.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := check(ctx, key); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, key)
	return nil
}

// Sync looks whether the object is there.
func (s *Store) Sync(ctx context.Context, key string) error {
	_, err := s.find(ctx, "sync", key)
	return err
}

// Lock takes a lock among the users of this store.
func (s *Store) Lock(ctx context.Context, key string) (io.Closer, error) {
	if err := check(ctx, key); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.locks[key] {
		return nil, fmt.Errorf("mem: lock %s: %w", key, objstore.ErrLocked)
	}
	s.locks[key] = true
	return &lock{store: s, key: key}, nil
}

type lock struct {
	store *Store
	key   string
	once  sync.Once
}

func (l *lock) Close() error {
	l.once.Do(func() {
		l.store.mu.Lock()
		defer l.store.mu.Unlock()
		delete(l.store.locks, l.key)
	})
	return nil
}
