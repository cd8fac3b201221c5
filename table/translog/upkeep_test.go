package translog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/objstore/faultstore"
	"microbatch/objstore/mem"
	"microbatch/table/action"
)

// TestALogIsWholeAtEachPrefixOfItsCleanup cuts a clean-up off before its n-th delete, for every n (C20, T5): the table loads with its files, a writer that
// has slept on any old version is never told that it has committed what nobody will see (T4, L07), and the next clean-up finishes the work.
func TestALogIsWholeAtEachPrefixOfItsCleanup(t *testing.T) {
	for _, format := range []Format{Parquet, Delta} {
		t.Run(string(format), func(t *testing.T) {
			for cut, left := 1, true; left; cut++ {
				synctest.Test(t, func(t *testing.T) { left = cleanUpCut(t, format, cut) })
			}
		})
	}
}

// cleanUpCut is one history with one cut; left reports whether there was something to cut off.
func cleanUpCut(t *testing.T, format Format, cut int) (left bool) {
	inner := mem.New()
	store := faultstore.New(inner)
	log := New(store, format, time.Now)
	states := []*State{begin(t, log)}
	for i := range 12 {
		state := add(t, log, states[i], i)
		if i%4 == 3 {
			var err error
			if state, err = log.WriteCheckpoint(t.Context(), state); err != nil {
				t.Fatal(err)
			}
		}
		states = append(states, state)
	}
	<-time.After(90 * 24 * time.Hour)
	store.Inject(faultstore.MustParse(fmt.Sprintf("delete#%d fail", cut)))
	if _, err := log.Cleanup(t.Context(), states[12]); err == nil {
		if cut < 10 {
			t.Errorf("only %d files were deleted", cut-1)
		}
		return false
	}
	store.Heal()
	checkWhole(t, log, cut)
	for _, old := range states {
		checkSleeper(t, New(inner.Clone(), format, time.Now), old, cut)
	}
	if _, err := log.Cleanup(t.Context(), states[12]); err != nil {
		t.Fatal(err)
	}
	checkWhole(t, log, cut)
	return true
}

// TestAClockThatIsYearsAheadCleansNothing: entries are dated by the store.
func TestAClockThatIsYearsAheadCleansNothing(t *testing.T) {
	log := New(mem.New(), Delta, func() time.Time { return time.Now().AddDate(10, 0, 0) })
	state := begin(t, log)
	for i := range 3 {
		state = add(t, log, state, i)
	}
	state, err := log.WriteCheckpoint(t.Context(), state)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := log.Cleanup(t.Context(), state); n != 0 || err != nil {
		t.Errorf("%d entries deleted, %v", n, err)
	}
}

func checkWhole(t *testing.T, log *Log, cut int) {
	t.Helper()
	files, err := log.Files(t.Context(), Latest)
	if err != nil {
		t.Fatalf("cut off before delete %d: %v", cut, err)
	}
	if files.State.Version != 12 || len(files.Live) != 12 {
		t.Fatalf("cut off before delete %d: version %d with %d files", cut, files.State.Version, len(files.Live))
	}
	if problems, _, err := log.Verify(t.Context()); err != nil || len(problems) > 0 {
		t.Fatalf("cut off before delete %d: %v, %v", cut, problems, err)
	}
}

// checkSleeper lets a writer go on from an old state: what it commits is in the table, or it is told that it is not.
func checkSleeper(t *testing.T, log *Log, old *State, cut int) {
	t.Helper()
	_, err := log.Commit(t.Context(), old, Change{Actions: []action.Action{{Txn: &action.Txn{AppID: "sleeper", Version: 1}}}})
	now, loadErr := log.Load(t.Context(), Latest)
	if loadErr != nil {
		t.Fatal(loadErr)
	}
	if _, visible := now.Txn("sleeper"); visible != (err == nil) {
		t.Fatalf("cut off before delete %d: a writer that slept since version %d is told %v, and its commit is visible: %v", cut, old.Version, err, visible)
	}
}

func add(t *testing.T, log *Log, s *State, i int) *State {
	t.Helper()
	s, err := log.Commit(t.Context(), s, Change{Actions: []action.Action{
		{Add: &action.Add{Path: fmt.Sprint("f", i), PartitionValues: map[string]*string{}, Size: 1, DataChange: true}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestACheckpointKeepsRemovesUntilTheRetentionEnds: they say since when a file is not part of the table, which vacuum goes by.
func TestACheckpointKeepsRemovesUntilTheRetentionEnds(t *testing.T) {
	for _, format := range []Format{Parquet, Delta} {
		for days, want := range map[int]int{1: 1, 6: 1, 8: 0} {
			later := time.Duration(0)
			store := mem.New()
			log := New(store, format, func() time.Time { return time.Now().Add(later) })
			state := add(t, log, begin(t, log), 0)
			files, err := log.Files(t.Context(), Latest)
			if err != nil {
				t.Fatal(err)
			}
			remove := files.Sorted()[0].Tombstone(time.Now().UnixMilli(), true)
			if state, err = log.Commit(t.Context(), state, Change{Actions: []action.Action{{Remove: remove}}}); err != nil {
				t.Fatal(err)
			}
			later = time.Duration(days) * 24 * time.Hour
			if state, err = log.WriteCheckpoint(t.Context(), state); err != nil {
				t.Fatal(err)
			}
			for v := range state.Version + 1 { // all that is left is the checkpoint
				if err := store.Delete(t.Context(), format.CommitKey(v)); err != nil {
					t.Fatal(err)
				}
			}
			if files, err = log.Files(t.Context(), Latest); err != nil {
				t.Fatal(err)
			}
			if len(files.Removed) != want || len(files.Live) != 0 {
				t.Errorf("%s, after %d days: %d removed files, want %d; %d live ones", format, days, len(files.Removed), want, len(files.Live))
			}
		}
	}
}

// sleeper is a store whose reader sleeps once between a listing and the first reading after it.
type sleeper struct {
	objstore.Store
	sleep func()
}

func (s *sleeper) Get(ctx context.Context, key string) ([]byte, error) {
	s.wake()
	return s.Store.Get(ctx, key)
}

func (s *sleeper) Open(ctx context.Context, key string) (objstore.Object, error) {
	s.wake()
	return s.Store.Open(ctx, key)
}

func (s *sleeper) wake() {
	if sleep := s.sleep; sleep != nil {
		s.sleep = nil
		sleep()
	}
}

// TestAReaderThatSleepsThroughACleanupDoesNotTakeTheLogForDamaged: it has listed the log, then sleeps, then what it listed is cleaned up.
func TestAReaderThatSleepsThroughACleanupDoesNotTakeTheLogForDamaged(t *testing.T) {
	for _, format := range []Format{Parquet, Delta} {
		store := &sleeper{Store: mem.New()}
		log := New(store, format, time.Now)
		state := begin(t, log)
		for i := range 12 {
			state = add(t, log, state, i)
			if i%4 == 3 {
				var err error
				if state, err = log.WriteCheckpoint(t.Context(), state); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := store.Delete(t.Context(), lastCheckpoint); err != nil { // so that the listing is what is read first
			t.Fatal(err)
		}
		slept := 0
		cleanUp := func() {
			slept++
			for v := range state.Version {
				for _, key := range []string{format.CommitKey(v), format.checkpointKey(v)} {
					if err := store.Delete(t.Context(), key); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		for _, at := range []int64{9, Latest} {
			if format == Delta { // the hint is looked for before the listing
				next := cleanUp
				store.sleep = func() { store.sleep = next }
			} else {
				store.sleep = cleanUp
			}
			files, err := log.Files(t.Context(), at)
			if at == Latest && (err != nil || len(files.Live) != 12) {
				t.Errorf("%s: the newest version: %v", format, err)
			}
			if at != Latest && (!errors.Is(err, fs.ErrNotExist) || errcode.Has(err, errcode.TableLog)) {
				t.Errorf("%s: a version that is cleaned up: %v", format, err)
			}
		}
		if slept == 0 {
			t.Error("nothing was cleaned up")
		}
	}
}

// TestTheHistoryOfALongLogIsNotHeldInMemory: the look for a batch of long ago goes through the log of all writers.
func TestTheHistoryOfALongLogIsNotHeldInMemory(t *testing.T) {
	log := New(mem.New(), Parquet, time.Now)
	state := begin(t, log)
	const commits, size = 40, 200 << 10
	for range commits {
		var err error
		info := action.CommitInfo{Operation: strings.Repeat("x", size)}
		if state, err = log.Commit(t.Context(), state, Change{Info: info}); err != nil {
			t.Fatal(err)
		}
	}
	held := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := held()
	err := log.History(t.Context(), func(c *Commit) bool {
		if c.Version == 0 {
			if now := held(); now > before+commits*size/4 {
				t.Errorf("it holds %d MiB", (now-before)>>20)
			}
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
}
