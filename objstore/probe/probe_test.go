package probe_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync/atomic"
	"testing"

	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/objstore/localfs"
	"microbatch/objstore/mem"
	"microbatch/objstore/probe"
)

func TestGoodStoresPassAndKeepNothing(t *testing.T) {
	disk, err := localfs.New(t.TempDir(), localfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []objstore.Store{mem.New(), disk} {
		if err := probe.Check(t.Context(), s); err != nil {
			t.Errorf("%s: %v", s.URL(), err)
		}
		wantEmpty(t, s)
	}
}

func wantEmpty(t *testing.T, s objstore.Store) {
	t.Helper()
	for info := range s.List(t.Context(), "", "") {
		t.Errorf("left behind: %s", info.Key)
	}
}

// ignores grants every create, as a server does that does not know the condition.
type ignores struct{ *mem.Store }

func (s ignores) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	return s.Put(ctx, key, data)
}

// races grants creates that come at once, and refuses later ones.
type races struct {
	*mem.Store
	calls *atomic.Int32
}

func (s races) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	if s.calls.Add(1) <= 16 {
		return s.Put(ctx, key, data)
	}
	return fs.ErrExist
}

// lies refuses all but one, and keeps what it refused.
type lies struct {
	*mem.Store
	calls *atomic.Int32
}

func (s lies) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	if err := s.Put(ctx, key, data); err != nil {
		return err
	}
	if s.calls.Add(1) == 1 {
		return nil
	}
	return fs.ErrExist
}

// forbids refuses all writes.
type forbids struct{ *mem.Store }

func (s forbids) PutIfAbsent(context.Context, string, []byte) error {
	return errcode.StoreForbidden.New("s3://bucket", "put")
}

// never says that every key is taken.
type never struct{ *mem.Store }

func (s never) PutIfAbsent(context.Context, string, []byte) error { return fs.ErrExist }

func TestStoresThatBreakThePromiseAreRefused(t *testing.T) {
	for want, s := range map[string]objstore.Store{
		"16 succeeded":   ignores{mem.New()},
		"15 succeeded":   races{mem.New(), at(1)},
		"is not the one": lies{mem.New(), at(0)},
		"none succeeded": never{mem.New()},
		"second create":  second{mem.New(), at(0)},
		"If-None-Match":  second{mem.New(), at(0)},
	} {
		err := probe.Check(t.Context(), s)
		if !errcode.Has(err, errcode.StoreNotAtomic) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want code %s and %q", err, errcode.StoreNotAtomic.ID, want)
		}
		wantEmpty(t, s)
	}
}

func at(n int32) *atomic.Int32 {
	var a atomic.Int32
	a.Store(n)
	return &a
}

// second is right until the race is over.
type second struct {
	*mem.Store
	calls *atomic.Int32
}

func (s second) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	if s.calls.Add(1) > 16 {
		return s.Put(ctx, key, data)
	}
	return s.Store.PutIfAbsent(ctx, key, data)
}

func TestStoreThatCannotBeAskedGivesItsOwnError(t *testing.T) {
	err := probe.Check(t.Context(), forbids{mem.New()})
	if !errcode.Has(err, errcode.StoreForbidden) || errcode.Has(err, errcode.StoreNotAtomic) {
		t.Errorf("%v, want the store's own error", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := probe.Check(ctx, mem.New()); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
}
