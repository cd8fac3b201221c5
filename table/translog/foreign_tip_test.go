package translog

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/objstore/mem"
	"microbatch/table/action"
)

// putByOthers puts a version as a program does that leaves no txnId, and some no commitInfo.
func putByOthers(t *testing.T, store objstore.Store, v int64, path string) {
	t.Helper()
	actions := []action.Action{{Add: &action.Add{Path: path, PartitionValues: map[string]*string{}, Size: 1, DataChange: true}}}
	if v%2 == 0 {
		actions = append(actions, action.Action{CommitInfo: &action.CommitInfo{Operation: "WRITE"}})
	}
	data, err := action.Encode(actions)
	must(t, err)
	must(t, store.PutIfAbsent(t.Context(), Delta.CommitKey(v), data))
}

func create(t *testing.T, log *Log, id string) {
	t.Helper()
	must(t, log.Begin(t.Context(), Change{Info: action.CommitInfo{Operation: "CREATE TABLE"}, Actions: []action.Action{
		{Protocol: &action.Protocol{MinReader: 1, MinWriter: 2}}, {Metadata: metadata(id, "{}")},
	}}))
}

// The newest version that a writer knows is another program's, without a txnId. Then the table is deleted, made anew and grows past that version: the writer must not take
// the versions behind for a continuation, and must not commit behind them.
func TestATableMadeAnewBehindAVersionWithoutTxnID(t *testing.T) {
	for _, newest := range []int64{1, 2} {
		store := mem.New()
		log := New(store, Delta, time.Now)
		create(t, log, "t1")
		for v := range newest {
			putByOthers(t, store, v+1, "old")
		}
		asleep, err := log.Load(t.Context(), Latest)
		must(t, err)
		for v := range newest + 1 {
			must(t, store.Delete(t.Context(), Delta.CommitKey(v)))
		}
		create(t, log, "t2")
		for v := range newest + 2 {
			putByOthers(t, store, v+1, fmt.Sprint("new", v))
		}
		if s, err := log.Refresh(t.Context(), asleep); !errcode.Has(err, errcode.TableReplaced) {
			t.Errorf("behind version %d: refreshed to %+v, %v", newest, s, err)
		}
		if s, err := log.Commit(t.Context(), asleep, Change{Info: action.CommitInfo{Operation: "WRITE"}}); !errcode.Has(err, errcode.TableReplaced) {
			t.Errorf("behind version %d: committed version %d, %v", newest, s.Version, err)
		}
	}
}

// The newest version that a writer knows is another program's, without a txnId, and was cleaned up meanwhile: it sees the newest version, not its own old one.
func TestAVersionWithoutTxnIDThatWasCleanedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := mem.New()
		log := New(store, Delta, time.Now)
		create(t, log, "t1")
		putByOthers(t, store, 1, "f1")
		asleep, err := log.Load(t.Context(), Latest)
		must(t, err)
		putByOthers(t, store, 2, "f2")
		putByOthers(t, store, 3, "f3")
		newest, err := log.Load(t.Context(), Latest)
		must(t, err)
		_, err = log.WriteCheckpoint(t.Context(), newest)
		must(t, err)
		for v := range newest.Version {
			must(t, store.Delete(t.Context(), Delta.CommitKey(v)))
		}
		s, err := log.Refresh(t.Context(), asleep)
		must(t, err)
		if s.Version != newest.Version {
			t.Errorf("version %d, the newest is %d", s.Version, newest.Version)
		}
	})
}
