package translog

import (
	"testing"
	"testing/synctest"
	"time"

	"microbatch/internal/errcode"
	"microbatch/objstore/faultstore"
	"microbatch/objstore/mem"
	"microbatch/table/action"
)

// ownClock is a store whose clock runs on when the machine is suspended and its clocks with it.
type ownClock struct {
	*faultstore.Store
	ahead time.Duration
	none  bool
}

func (s *ownClock) Clock() time.Time {
	if s.none {
		return time.Time{}
	}
	return time.Now().Add(s.ahead)
}

// TestACommitLooksBackUnlessNothingCanHaveComeBetween counts the reads of a commit right behind another of ours.
func TestACommitLooksBackUnlessNothingCanHaveComeBetween(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(s *ownClock) // between the two
		keep string            // the table's delta.logRetentionDuration
		want int
	}{
		{"at once", func(*ownClock) {}, "", 0},
		{"a little later", func(*ownClock) { time.Sleep(time.Second) }, "", 0},
		{"later", func(*ownClock) { time.Sleep(lookBackAfter) }, "", 1},
		{"the machine slept", func(s *ownClock) { s.ahead = MinRetention }, "", 1},
		{"the store does not say the time", func(s *ownClock) { s.none = true }, "", 1},
		{"entries are kept for a day", func(*ownClock) {}, "interval 1 days", 1},
		{"the answer was lost", func(s *ownClock) { s.Inject(faultstore.MustParse("putifabsent lose exist")) }, "", 3}, // who stands there twice: before it is read and after
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &ownClock{Store: faultstore.New(mem.New())}
				log := New(store, Delta, time.Now)
				table := metadata("t", "{}")
				if c.keep != "" {
					table.Configuration["delta.logRetentionDuration"] = c.keep
				}
				err := log.Begin(t.Context(), Change{Actions: []action.Action{{Protocol: &action.Protocol{MinReader: 1, MinWriter: 2}}, {Metadata: table}}})
				if err != nil {
					t.Fatal(err)
				}
				state, err := log.Load(t.Context(), Latest)
				if err != nil {
					t.Fatal(err)
				}
				first := add(t, log, state, 1)
				c.do(store)
				before := store.Count("get", "")
				second := add(t, log, first, 2)
				if got := store.Count("get", "") - before; got != c.want || second.Version != 2 {
					t.Errorf("version %d after %d reads, want %d", second.Version, got, c.want)
				}
			})
		})
	}
}

// TestWhatACommitDidNotLookAtIsLookedAtLater: the table's log was removed before our second entry came, and our entry alone does not show it.
func TestWhatACommitDidNotLookAtIsLookedAtLater(t *testing.T) {
	log := New(mem.New(), Delta, time.Now)
	first := add(t, log, begin(t, log), 1)
	for v := range first.Version + 1 {
		if err := log.store.Delete(t.Context(), Delta.CommitKey(v)); err != nil {
			t.Fatal(err)
		}
	}
	second := add(t, log, first, 2)
	if err := log.Stands(t.Context(), second); !errcode.Has(err, errcode.TableReplaced) {
		t.Errorf("version %d: %v", second.Version, err)
	}
}
