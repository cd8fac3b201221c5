package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"strings"
	"testing"

	"microbatch/checkpointlog"
	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/sources"
)

// faultyStore fails to open, to list or to look at objects.
type faultyStore struct {
	objstore.Store
	open, list, stat error
}

func (f *faultyStore) Open(ctx context.Context, key string) (objstore.Object, error) {
	if f.open != nil {
		return nil, fmt.Errorf("open %s: %w", key, f.open)
	}
	return f.Store.Open(ctx, key)
}

func (f *faultyStore) Stat(ctx context.Context, key string) (objstore.Info, error) {
	if f.stat != nil {
		return objstore.Info{}, fmt.Errorf("stat %s: %w", key, f.stat)
	}
	return f.Store.Stat(ctx, key)
}

func (f *faultyStore) List(ctx context.Context, prefix, after string) iter.Seq2[objstore.Info, error] {
	if f.list != nil {
		return func(yield func(objstore.Info, error) bool) { yield(objstore.Info{}, f.list) }
	}
	return f.Store.List(ctx, prefix, after)
}

func TestFaultsOfTheInputHaveCodesAndGoAway(t *testing.T) {
	network := errors.New("connection reset")
	r := newRig(t)
	store := &faultyStore{Store: r.config.Store}
	r.config.Store = store
	r.write("a", 1)
	r.write("b", 1)
	s := r.start()

	for fault, code := range map[error]errcode.Code{network: errcode.ListingFailed, fs.ErrPermission: errcode.FileUnreadable} {
		store.list = fault
		if _, err := s.Plan(t.Context(), "", sources.Limit{}); !errcode.Has(err, code) || !strings.Contains(err.Error(), r.dir) {
			t.Errorf("%v: %v", fault, err)
		}
	}
	store.list = nil
	to := r.plan(s, "", sources.Limit{Files: 1})

	store.open = fs.ErrPermission
	if _, err := r.tryRead(s, "", to, 1); !errcode.Has(err, errcode.FileUnreadable) || !strings.Contains(err.Error(), r.dir+"/a") {
		t.Error(err)
	}
	store.open = network
	if _, err := r.tryRead(s, "", to, 1); !errors.Is(err, network) || !strings.Contains(err.Error(), r.dir+"/a") {
		t.Error(err)
	}
	store.open, store.stat = nil, network
	if _, err := r.tryRead(s, "", to, 1); !errors.Is(err, network) {
		t.Error(err)
	}
	if _, err := s.Plan(t.Context(), to, sources.Limit{}); !errcode.Has(err, errcode.ListingFailed) {
		t.Error("a file of the backlog that cannot be looked at:", err)
	}
	store.stat = nil
	if rows, _, _ := r.all(s, "", sources.Limit{}); len(rows) != 2 {
		t.Error(rows)
	}
}

// TestAPlaceThatCannotBeListedIsFoundAtOpen: before anything is claimed, with a declared schema too.
func TestAPlaceThatCannotBeListedIsFoundAtOpen(t *testing.T) {
	r := newRig(t)
	store := &faultyStore{Store: r.config.Store, list: errcode.StoreNoBucket.New("s3://nowhere", "list")}
	r.config.Store = store
	s, err := New(r.config)
	must0(t, err)
	if err := s.Open(t.Context(), r.own); !errcode.Has(err, errcode.StoreNoBucket) {
		t.Error(err)
	}
	store.list = nil
	if err := s.Open(t.Context(), r.own); err != nil {
		t.Error("after the fault:", err)
	}
}

func TestAnotherDriversPinnedSchemaIsNotOverrun(t *testing.T) {
	r := newRig(t)
	r.config.Schema = nil
	r.write("a", 1)
	s := r.open()
	theirs, err := checkpointlog.Seal(pin{"id BIGINT"})
	must0(t, err)
	must0(t, r.own.PutIfAbsent(t.Context(), pinKey, theirs))
	if err := s.Pin(t.Context()); !errcode.Has(err, errcode.SchemaRaced) {
		t.Error(err)
	}
}
