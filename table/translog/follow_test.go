package translog

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"microbatch/objstore/faultstore"
	"microbatch/objstore/mem"
	"microbatch/table/action"
)

// mapKeeper keeps all of each live file, and counts how often it began.
type mapKeeper struct {
	live   map[action.FileKey]*action.Add
	begins int
}

func (k *mapKeeper) Begin() { k.live, k.begins = map[action.FileKey]*action.Add{}, k.begins+1 }

func (k *mapKeeper) Take(a *action.Action) {
	if a.Add != nil {
		k.live[a.Add.Key()] = a.Add
	} else {
		delete(k.live, a.Remove.Key())
	}
}

// TestWhatIsFollowedIsWhatIsRead: after any history of several writers, among them one that leaves no txnId, with checkpoints and clean-up, what was followed from some
// earlier version is the list that a fresh reading of the log gives.
func TestWhatIsFollowedIsWhatIsRead(t *testing.T) {
	for _, format := range []Format{Parquet, Delta} {
		for seed := range uint64(30) {
			synctest.Test(t, func(t *testing.T) { followed(t, format, rand.New(rand.NewPCG(seed, 5))) })
		}
	}
}

func followed(t *testing.T, format Format, random *rand.Rand) {
	store := mem.New()
	log := New(store, format, time.Now)
	begin(t, log)
	k, mine := &mapKeeper{}, (*State)(nil)
	at, err := log.Load(t.Context(), Latest)
	must(t, err)
	for step := range 80 {
		other, err := log.Load(t.Context(), Latest)
		must(t, err)
		switch n := random.IntN(20); {
		case n < 12:
			_, err = log.Commit(t.Context(), other, Change{Actions: randomFiles(random, k.live)})
			must(t, err)
		case n < 14: // another program
			data, err := action.Encode(append(randomFiles(random, k.live), action.Action{Txn: &action.Txn{AppID: "other", Version: int64(step)}}))
			must(t, err)
			must(t, store.PutIfAbsent(t.Context(), format.CommitKey(other.Version+1), data))
		case n < 16:
			_, err = log.WriteCheckpoint(t.Context(), other)
			must(t, err)
		case n < 17 && at.tip != "": // else who sleeps there is told by its commit alone
			_, err = log.WriteCheckpoint(t.Context(), other)
			must(t, err)
			<-time.After(90 * 24 * time.Hour)
			_, err = log.Cleanup(t.Context(), other)
			must(t, err)
		case n < 18: // a new process
			k, mine = &mapKeeper{}, nil
			at = other
		}
		if random.IntN(3) == 0 {
			continue
		}
		at, err = log.Refresh(t.Context(), at)
		must(t, err)
		must(t, log.Follow(t.Context(), mine, at, k))
		mine = at
		fresh, err := log.Files(t.Context(), at.Version)
		must(t, err)
		for _, a := range slices.Concat(slices.Collect(maps.Values(fresh.Live)), slices.Collect(maps.Values(k.live))) {
			a.DataChange = false // checkpoints say so of all
		}
		if !reflect.DeepEqual(k.live, fresh.Live) {
			t.Fatalf("step %d, version %d: %d files were followed, there are %d", step, at.Version, len(k.live), len(fresh.Live))
		}
	}
}

// randomFiles adds and removes some files, also such as are there already or are gone.
func randomFiles(random *rand.Rand, live map[action.FileKey]*action.Add) (out []action.Action) {
	named := map[string]bool{}
	for range 1 + random.IntN(4) {
		path := fmt.Sprint("f", random.IntN(20))
		if named[path] {
			continue
		}
		named[path] = true
		add := &action.Add{Path: path, PartitionValues: map[string]*string{}, Size: random.Int64N(100), Modified: 1}
		if random.IntN(4) == 0 {
			add.DeletionVector = &action.DeletionVector{Storage: "i", Path: fmt.Sprint(random.IntN(3)), Cardinality: 1}
		}
		if random.IntN(2) == 0 {
			out = append(out, action.Action{Add: add})
		} else {
			out = append(out, action.Action{Remove: add.Tombstone(time.Now().UnixMilli(), true)})
		}
	}
	return out
}

// TestFollowingReadsWhatIsNew: of a log of 200 versions one more is read, and nothing is listed.
func TestFollowingReadsWhatIsNew(t *testing.T) {
	store := faultstore.New(mem.New())
	log := New(store, Delta, time.Now)
	at := begin(t, log)
	for i := range 200 {
		at = add(t, log, at, i)
	}
	k := &mapKeeper{}
	must(t, log.Follow(t.Context(), nil, at, k))
	next := add(t, log, at, 200)
	gets, lists := store.Count("get", ""), store.Count("list", "")
	must(t, log.Follow(t.Context(), at, next, k))
	if gets, lists = store.Count("get", "")-gets, store.Count("list", "")-lists; gets != 1 || lists != 0 || k.begins != 1 || len(k.live) != 201 {
		t.Errorf("%d gets, %d lists, began %d times, %d files", gets, lists, k.begins, len(k.live))
	}
}

// TestAStrayInACleanedLogIsNotFollowed: while a process slept, the version that it knows was cleaned up, and another that had slept longer put its own into the hole.
func TestAStrayInACleanedLogIsNotFollowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := mem.New()
		log := New(store, Delta, time.Now)
		at := add(t, log, begin(t, log), 0)
		k := &mapKeeper{}
		must(t, log.Follow(t.Context(), nil, at, k))
		newest := add(t, log, at, 1)
		stray, err := store.Get(t.Context(), Delta.CommitKey(newest.Version))
		must(t, err)
		newest, err = log.WriteCheckpoint(t.Context(), add(t, log, newest, 2))
		must(t, err)
		<-time.After(90 * 24 * time.Hour)
		if n, err := log.Cleanup(t.Context(), newest); err != nil || n == 0 {
			t.Fatal(n, err)
		}
		must(t, store.PutIfAbsent(t.Context(), Delta.CommitKey(at.Version+1), []byte(string(stray)+`{"add":{"path":"stray","partitionValues":{},"size":1,"modificationTime":1,"dataChange":true}}`)))
		now, err := log.Refresh(t.Context(), at)
		must(t, err)
		must(t, log.Follow(t.Context(), at, now, k))
		if len(k.live) != 3 || k.live[action.FileKey{Path: "stray"}] != nil || k.begins != 2 {
			t.Errorf("%d files, began %d times", len(k.live), k.begins)
		}
	})
}
