package storetest

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"testing"

	"microbatch/objstore"
)

// Run holds stores to the contract. open gives an empty store for each test.
func Run(t *testing.T, open func(t *testing.T) objstore.Store) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, s objstore.Store)
	}{
		{"a missing object is ErrNotExist", missing},
		{"PutIfAbsent creates once and keeps the first content", putOnce},
		{"PutContentIfAbsent does the same with what is read piece by piece", putContent},
		{"of concurrent PutIfAbsent exactly one wins", oneWinner},
		{"Put creates and replaces", put},
		{"Delete opens the key again", deleteReopens},
		{"keys with any characters", anyKey},
		{"keys that leave the store are refused", invalidKeys},
		{"objects are read by ranges", ranges},
		{"an ended context ends every call", endedContext},
		{"Sync of what is there", syncs},
		{"a lock is held by one or is none", locks},
		{"a writer's object appears whole at Commit", writerCommit},
		{"Abort leaves nothing", writerAbort},
		{"objects of many parts", writerLarge},
		{"many writers at once", writerMany},
		{"List is in byte order of keys", listOrder},
		{"List by prefix and after", listRange},
		{"List goes on past a page", listPages},
		{"List can be left", listLeft},
		{"Prefix is a store of its own", prefixed},
		{"histories are linearizable", linearizable},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
}

func mustPut(t *testing.T, s objstore.Store, key, data string) {
	t.Helper()
	if err := s.PutIfAbsent(t.Context(), key, []byte(data)); err != nil {
		t.Fatalf("PutIfAbsent(%q): %v", key, err)
	}
}

func wantContent(t *testing.T, s objstore.Store, key string, want []byte) {
	t.Helper()
	got, err := s.Get(t.Context(), key)
	if err != nil {
		t.Fatalf("Get(%q): %v", key, err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("Get(%q) = %d bytes %.40q, want %d bytes %.40q", key, len(got), got, len(want), want)
	}
	info, err := s.Stat(t.Context(), key)
	if err != nil {
		t.Fatalf("Stat(%q): %v", key, err)
	}
	if info.Key != key || info.Size != int64(len(want)) || info.Modified.IsZero() {
		t.Errorf("Stat(%q) = %+v, want size %d and a time", key, info, len(want))
	}
}

func wantMissing(t *testing.T, s objstore.Store, key string) {
	t.Helper()
	ctx := t.Context()
	_, get := s.Get(ctx, key)
	_, stat := s.Stat(ctx, key)
	_, open := s.Open(ctx, key)
	for call, err := range map[string]error{"Get": get, "Stat": stat, "Open": open, "Sync": s.Sync(ctx, key)} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s(%q): %v, want fs.ErrNotExist", call, key, err)
		}
	}
	if keys := list(t, s, key, ""); len(keys) > 0 && keys[0] == key {
		t.Errorf("List has %q", key)
	}
}

func list(t *testing.T, s objstore.Store, prefix, after string) []string {
	t.Helper()
	var keys []string
	for info, err := range s.List(t.Context(), prefix, after) {
		if err != nil {
			t.Fatalf("List(%q, %q): %v", prefix, after, err)
		}
		keys = append(keys, info.Key)
	}
	return keys
}

func missing(t *testing.T, s objstore.Store) {
	wantMissing(t, s, "no")
	wantMissing(t, s, "no/such/object")
	if err := s.Delete(t.Context(), "no/such/object"); err != nil {
		t.Errorf("Delete of a missing object: %v, want nil", err)
	}
	mustPut(t, s, "a/b/c", "x")
	wantMissing(t, s, "a/b") // a folder on the way is no object
	wantMissing(t, s, "a")
	wantMissing(t, s, "a/b/c/d") // nor is something below an object
	if err := s.Delete(t.Context(), "a/b"); err != nil {
		t.Errorf("Delete of a folder: %v, want nil", err)
	}
	wantContent(t, s, "a/b/c", []byte("x"))
}

func invalidKeys(t *testing.T, s objstore.Store) {
	ctx := t.Context()
	for _, key := range []string{"", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/./b", "a\x00b"} {
		calls := map[string]error{
			"PutIfAbsent": s.PutIfAbsent(ctx, key, nil),
			"Put":         s.Put(ctx, key, nil),
			"Delete":      s.Delete(ctx, key),
			"Sync":        s.Sync(ctx, key),
		}
		_, calls["Get"] = s.Get(ctx, key)
		_, calls["Open"] = s.Open(ctx, key)
		_, calls["Stat"] = s.Stat(ctx, key)
		_, calls["Create"] = s.Create(ctx, key)
		_, calls["Lock"] = s.Lock(ctx, key)
		for call, err := range calls {
			if err == nil || errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s(%q): %v, want a refusal", call, key, err)
			}
		}
	}
	if keys := list(t, s, "", ""); len(keys) > 0 {
		t.Errorf("objects after refused calls: %q", keys)
	}
}

func endedContext(t *testing.T, s objstore.Store) {
	mustPut(t, s, "there", "x")
	w, err := s.Create(t.Context(), "writer")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	calls := map[string]error{
		"PutIfAbsent": s.PutIfAbsent(ctx, "new", nil),
		"Put":         s.Put(ctx, "new", nil),
		"Delete":      s.Delete(ctx, "there"),
		"Sync":        s.Sync(ctx, "there"),
		"Commit":      w.Commit(ctx),
	}
	_, calls["Get"] = s.Get(ctx, "there")
	_, calls["Open"] = s.Open(ctx, "there")
	_, calls["Stat"] = s.Stat(ctx, "there")
	for _, err := range s.List(ctx, "", "") {
		calls["List"] = err
	}
	for call, err := range calls {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want context.Canceled", call, err)
		}
	}
	if got := list(t, s, "", ""); len(got) != 1 || got[0] != "there" {
		t.Errorf("objects %q, want only the one that was there", got)
	}
}

func syncs(t *testing.T, s objstore.Store) {
	mustPut(t, s, "a/b", "x")
	if err := s.Sync(t.Context(), "a/b"); err != nil {
		t.Errorf("Sync: %v", err)
	}
	wantContent(t, s, "a/b", []byte("x"))
}

func locks(t *testing.T, s objstore.Store) {
	ctx := t.Context()
	first, err := s.Lock(ctx, "_engine/lock")
	if err != nil {
		t.Fatal(err)
	}
	if second, err := s.Lock(ctx, "_engine/lock"); err == nil {
		defer second.Close() // a store without locks
	} else if !errors.Is(err, objstore.ErrLocked) {
		t.Errorf("second Lock: %v, want ErrLocked", err)
	}
	if keys := list(t, s, "", ""); len(keys) > 0 {
		t.Errorf("a lock is listed: %q", keys)
	}
	if err := first.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	again, err := s.Lock(ctx, "_engine/lock")
	if err != nil {
		t.Fatalf("Lock after Close: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func prefixed(t *testing.T, s objstore.Store) {
	p := objstore.Prefix(s, "/x/y/")
	mustPut(t, s, "x/y-", "beside")
	mustPut(t, s, "x/z/a", "beside")
	mustPut(t, p, "a/1", "one")
	mustPut(t, p, "a/2", "two")
	wantContent(t, p, "a/1", []byte("one"))
	if keys := list(t, p, "", "a/1"); len(keys) != 1 || keys[0] != "a/2" {
		t.Errorf("List after a/1 = %q, want a/2", keys)
	}
	if err := p.Delete(t.Context(), "a/1"); err != nil {
		t.Fatal(err)
	}
	wantMissing(t, s, "x/y/a/1")
	wantContent(t, s, "x/y/a/2", []byte("two"))
}
