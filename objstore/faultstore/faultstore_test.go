package faultstore_test

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"microbatch/objstore"
	"microbatch/objstore/faultstore"
	"microbatch/objstore/mem"
	"microbatch/objstore/storetest"
)

func TestWithoutFaultsItConforms(t *testing.T) {
	storetest.Run(t, func(*testing.T) objstore.Store { return faultstore.New(mem.New()) })
}

func TestFailedWriteIsNotDoneAndLostOneIs(t *testing.T) {
	inner := mem.New()
	s := faultstore.New(inner)
	s.Inject(faultstore.MustParse("putifabsent:offsets/#2 lose uncertain"), faultstore.MustParse("putifabsent:commits/ fail"))
	ctx := t.Context()
	if err := s.PutIfAbsent(ctx, "offsets/0", nil); err != nil {
		t.Error(err)
	}
	if err := s.PutIfAbsent(ctx, "offsets/1", nil); !errors.Is(err, objstore.ErrUncertain) {
		t.Errorf("%v, want ErrUncertain", err)
	}
	if err := s.PutIfAbsent(ctx, "commits/0", nil); !errors.Is(err, faultstore.ErrInjected) {
		t.Errorf("%v, want ErrInjected", err)
	}
	var keys []string
	for info := range inner.List(ctx, "", "") {
		keys = append(keys, info.Key)
	}
	if diff := cmp.Diff([]string{"offsets/0", "offsets/1"}, keys); diff != "" {
		t.Errorf("stored (-want +got):\n%s", diff)
	}
	var trace []string
	for _, c := range s.Trace() {
		trace = append(trace, c.String())
	}
	if diff := cmp.Diff([]string{"putifabsent offsets/0", "putifabsent offsets/1 (lose)", "putifabsent commits/0 (fail)"}, trace); diff != "" {
		t.Errorf("trace (-want +got):\n%s", diff)
	}
	if n := s.Count("putifabsent", "offsets/"); n != 2 {
		t.Errorf("counted %d puts of offsets, want 2", n)
	}
	s.Heal()
	if err := s.PutIfAbsent(ctx, "commits/0", nil); err != nil {
		t.Errorf("healed: %v", err)
	}
}

func TestSlowCallWaitsForItsReleaseOrItsContext(t *testing.T) {
	s := faultstore.New(mem.New())
	release := make(chan struct{})
	rule := faultstore.MustParse("put slow")
	rule.Release = release
	reached := make(chan struct{})
	rule.Hook = func(faultstore.Call) { close(reached) }
	s.Inject(rule)
	result := make(chan error)
	go func() { result <- s.Put(t.Context(), "key", nil) }()
	<-reached
	if _, err := s.Get(t.Context(), "key"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("done before its release: %v", err)
	}
	close(release)
	if err := <-result; err != nil {
		t.Error(err)
	}
	s.Heal()
	s.Inject(faultstore.MustParse("get slow"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Get(ctx, "key"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want context.Canceled", err)
	}
}

func TestEveryCallCanFail(t *testing.T) {
	ctx := t.Context()
	s := faultstore.New(mem.New())
	if err := s.Put(ctx, "key", []byte("x")); err != nil {
		t.Fatal(err)
	}
	w, err := s.Create(ctx, "key")
	if err != nil {
		t.Fatal(err)
	}
	o, err := s.Open(ctx, "key")
	if err != nil {
		t.Fatal(err)
	}
	defer o.Close()
	s.Inject(faultstore.MustParse("*:key lose"))
	calls := map[string]error{
		"put": s.Put(ctx, "key", nil), "putifabsent": s.PutIfAbsent(ctx, "key2", nil), "delete": s.Delete(ctx, "key3"), "sync": s.Sync(ctx, "key"),
		"commit": w.Commit(ctx), "abort": w.Abort(ctx),
	}
	_, calls["get"] = s.Get(ctx, "key")
	_, calls["open"] = s.Open(ctx, "key")
	_, calls["stat"] = s.Stat(ctx, "key")
	_, calls["create"] = s.Create(ctx, "key")
	_, calls["lock"] = s.Lock(ctx, "key")
	_, calls["write"] = w.Write([]byte("x"))
	_, calls["read"] = o.ReadAt(make([]byte, 1), 0)
	for _, err := range s.List(ctx, "key", "") {
		calls["list"] = err
	}
	for op, err := range calls {
		if !errors.Is(err, faultstore.ErrInjected) {
			t.Errorf("%s: %v, want ErrInjected", op, err)
		}
	}
	if l, err := faultstore.New(s).Lock(ctx, "other"); err != nil || l.Close() != nil {
		t.Errorf("a rule for another key: %v", err)
	}
}

func TestRulesThatSayNothingAreRefused(t *testing.T) {
	for _, text := range []string{"", "put", "fetch fail", "put#0 fail", "put#x fail", "put explode", "put fail sadly", "put fail exist now"} {
		if r, err := faultstore.Parse(text); err == nil {
			t.Errorf("%q: %+v, want an error", text, r)
		}
	}
}

// Histories of a store whose answers are lost, done or not, are linearizable if what is uncertain may have happened at any later time.
func TestHistoriesWithLostAnswersAreLinearizable(t *testing.T) {
	for seed := range uint64(10) {
		random := rand.New(rand.NewPCG(seed, 3))
		inner := mem.New()
		var stores []objstore.Store
		for range 3 {
			s := faultstore.New(inner)
			for _, op := range []string{"putifabsent", "put", "delete"} {
				for range 4 {
					kind := faultstore.Lose
					if random.IntN(2) == 0 {
						kind = faultstore.Fail
					}
					s.Inject(faultstore.Rule{Op: op, Nth: 1 + random.IntN(25), Kind: kind, Err: objstore.ErrUncertain})
				}
			}
			stores = append(stores, s)
		}
		storetest.Linearizable(t, stores, storetest.Mixed()...)
	}
}
