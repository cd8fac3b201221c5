package translog

import (
	"testing"
	"testing/synctest"
	"time"

	"microbatch/internal/errcode"
	"microbatch/objstore/mem"
	"microbatch/table/action"
)

// Three writers slept while the log went on and was cleaned up. The entry of the first has landed in a slot that was cleaned: the second must not commit behind it, and
// the third must not take it for the newest version.
func TestAnEntryInACleanedSlotIsNoPartOfTheLog(t *testing.T) {
	synctest.Test(t, entryInACleanedSlot)
}

func entryInACleanedSlot(t *testing.T) {
	ctx := t.Context()
	l := New(mem.New(), Parquet, time.Now)
	begin := []action.Action{{Protocol: &action.Protocol{MinReader: 1, MinWriter: 2}}, {Metadata: metadata("t1", "{}")}}
	if err := l.Begin(ctx, Change{Info: action.CommitInfo{Operation: "CREATE TABLE"}, Actions: begin}); err != nil {
		t.Fatal(err)
	}
	add := func(s *State, path string) (*State, error) {
		return l.Commit(ctx, s, Change{Actions: []action.Action{{Add: &action.Add{Path: path, PartitionValues: map[string]*string{}, Size: 1, DataChange: true}}}})
	}
	newest, err := l.Load(ctx, Latest)
	asleep := newest
	for _, path := range []string{"f1", "f2", "f3"} {
		if err == nil {
			newest, err = add(newest, path)
		}
		if path == "f1" {
			asleep = newest
		}
	}
	if err == nil {
		_, err = l.WriteCheckpoint(ctx, newest)
	}
	time.Sleep(MinRetention)
	for v := range newest.Version {
		if err == nil {
			err = l.store.Delete(ctx, l.format.CommitKey(v))
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, sleeper := range []string{"first", "second"} {
		if s, err := add(asleep, sleeper); !errcode.Has(err, errcode.TableHole) {
			t.Errorf("the %s writer: version %d, %v", sleeper, s.Version, err)
		}
	}
	if s, err := l.Refresh(ctx, asleep); err != nil || s.Version != newest.Version {
		t.Errorf("the third writer sees version %d, %v; the newest is %d", s.Version, err, newest.Version)
	}
}
