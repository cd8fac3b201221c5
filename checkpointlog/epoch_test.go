package checkpointlog

import (
	"errors"
	"math"
	"testing"

	"microbatch/ident"
	"microbatch/objstore/faultstore"
	"microbatch/objstore/mem"
)

// TestOfDriversThatClaimAtOnceEachHasAnEpochOfItsOwn: between the look for the newest epoch and the put another driver claims it, twice.
func TestOfDriversThatClaimAtOnceEachHasAnEpochOfItsOwn(t *testing.T) {
	inner := mem.New()
	store := faultstore.New(inner)
	claim := func(c *Checkpoint) ident.EntryID {
		id, err := c.Claim(t.Context(), 0, ident.NewRunID(), Epoch{})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	var rivals []ident.EntryID
	store.Inject(
		rival("putifabsent:_engine/epoch/#1 slow", func() { rivals = append(rivals, claim(NewCheckpoint(inner))) }),
		rival("putifabsent:_engine/epoch/#2 slow", func() { rivals = append(rivals, claim(NewCheckpoint(inner))) }),
	)
	ours := claim(NewCheckpoint(store))
	if len(rivals) != 2 || rivals[0].Epoch != 1 || rivals[1].Epoch != 2 || ours.Epoch != 3 {
		t.Errorf("the rivals have %v, we have %v", rivals, ours)
	}
	for _, id := range append(rivals, ours) {
		if e, err := NewCheckpoint(inner).ReadEpoch(t.Context(), id.Epoch); err != nil || e.Entry != id.String() {
			t.Errorf("epoch %d belongs to %s, %v; want %s", id.Epoch, e.Entry, err, id)
		}
	}
}

// rival is a fault that lets somebody else go first.
func rival(rule string, first func()) faultstore.Rule {
	released := make(chan struct{})
	close(released)
	r := faultstore.MustParse(rule)
	r.Release, r.Hook = released, func(faultstore.Call) { first() }
	return r
}

// TestAnEpochIsAboveThatOfTheSink: a checkpoint that was restored from a copy lists fewer epochs than were claimed.
func TestAnEpochIsAboveThatOfTheSink(t *testing.T) {
	c := NewCheckpoint(mem.New())
	for i, floor := range []ident.Epoch{0, 7, 3} {
		id, err := c.Claim(t.Context(), floor, ident.NewRunID(), Epoch{})
		if want := []ident.Epoch{1, 8, 9}[i]; err != nil || id.Epoch != want {
			t.Errorf("the sink has epoch %d: claimed %d, %v; want %d", floor, id.Epoch, err, want)
		}
	}
}

// TestNoEpochFollowsTheLast: a number that nothing can follow, in the checkpoint or in a table that somebody else may write, is damage. The next number would be
// below zero: entries with it could not be read again.
func TestNoEpochFollowsTheLast(t *testing.T) {
	c := NewCheckpoint(mem.New())
	var damaged Damaged
	if id, err := c.Claim(t.Context(), math.MaxInt64, "r", Epoch{}); !errors.As(err, &damaged) {
		t.Errorf("above the last epoch of the sink: %v, %v", id, err)
	}
	if _, err := c.Claim(t.Context(), math.MaxInt64-1, "r", Epoch{}); err != nil {
		t.Fatal(err)
	}
	if id, err := c.Claim(t.Context(), 0, "r", Epoch{}); !errors.As(err, &damaged) {
		t.Errorf("above the last epoch of the checkpoint: %v, %v", id, err)
	}
}

// TestEpochsOfStartsWithoutBatchesDoNotGrowForEver: a query that is started every minute and finds nothing new has no batch to purge after. Each fence of a batch
// lists the epochs.
func TestEpochsOfStartsWithoutBatchesDoNotGrowForEver(t *testing.T) {
	c := NewCheckpoint(mem.New())
	for range 3 * epochsKept {
		if _, err := c.Claim(t.Context(), 0, ident.NewRunID(), Epoch{}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := c.Epochs(t.Context())
	if err != nil || len(all) != epochsKept || all[epochsKept-1] != 3*epochsKept {
		t.Errorf("%d epochs, %v", len(all), err)
	}
}
