package translog

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"microbatch/objstore/mem"
	"microbatch/table/action"
)

// TestACheckpointBehindAnotherSaysWhatTheCommitsDo holds a log whose checkpoints are each made from the one before against one that has none: files come, go, come
// again and get deletion vectors.
func TestACheckpointBehindAnotherSaysWhatTheCommitsDo(t *testing.T) {
	for _, format := range []Format{Parquet, Delta} {
		for seed := range uint64(20) {
			rng := rand.New(rand.NewPCG(seed, 1))
			summed, plain := New(mem.New(), format, time.Now), New(mem.New(), format, time.Now)
			s, p := begin(t, summed), begin(t, plain)
			for i := range 60 {
				actions := someFiles(rng, i)
				var err error
				if s, err = summed.Commit(t.Context(), s, Change{Actions: actions}); err != nil {
					t.Fatal(err)
				}
				if p, err = plain.Commit(t.Context(), p, Change{Actions: actions}); err != nil {
					t.Fatal(err)
				}
				if rng.IntN(5) > 0 {
					continue
				}
				if s, err = summed.WriteCheckpoint(t.Context(), s); err != nil {
					t.Fatal(err)
				}
				if seed%2 == 0 { // all that is left is the checkpoint
					for v := range s.Version + 1 {
						if err := summed.store.Delete(t.Context(), format.CommitKey(v)); err != nil {
							t.Fatal(err)
						}
					}
				}
			}
			got, err := summed.Files(t.Context(), Latest)
			if err != nil {
				t.Fatal(err)
			}
			want, err := plain.Files(t.Context(), Latest)
			if err != nil {
				t.Fatal(err)
			}
			same := cmp.Options{cmpopts.IgnoreFields(action.Add{}, "DataChange"), cmpopts.IgnoreFields(action.Remove{}, "DataChange"), cmpopts.EquateEmpty()}
			if diff := cmp.Diff(want.Live, got.Live, same); diff != "" {
				t.Errorf("%s, seed %d: live files (-without checkpoints +with them):\n%s", format, seed, diff)
			}
			if diff := cmp.Diff(want.Removed, got.Removed, same); diff != "" {
				t.Errorf("%s, seed %d: removed files (-without checkpoints +with them):\n%s", format, seed, diff)
			}
			if diff := cmp.Diff(want.State.Txns, got.State.Txns); diff != "" {
				t.Errorf("%s, seed %d: txns (-without checkpoints +with them):\n%s", format, seed, diff)
			}
		}
	}
}

// someFiles is a random change of a table of thirty files.
func someFiles(rng *rand.Rand, i int) []action.Action {
	actions := []action.Action{{Txn: &action.Txn{AppID: fmt.Sprint("q", rng.IntN(3)), Version: int64(i)}}}
	for _, n := range rng.Perm(30)[:rng.IntN(8)] {
		day := fmt.Sprint(n % 3)
		f := action.Add{Path: fmt.Sprint("f", n), PartitionValues: map[string]*string{"day": &day, "hour": nil}, Size: rng.Int64N(1000), Modified: int64(i), Stats: `{"numRecords":1}`}
		if rng.IntN(3) == 0 {
			f.DeletionVector = &action.DeletionVector{Storage: "u", Path: fmt.Sprint("v", rng.IntN(2)), Offset: new(int32(1)), Size: 4, Cardinality: 1}
		}
		if rng.IntN(3) == 0 {
			actions = append(actions, action.Action{Remove: f.Tombstone(time.Now().UnixMilli(), true)})
		} else {
			actions = append(actions, action.Action{Add: &f})
		}
	}
	return actions
}

// TestACheckpointIsNotMadeFromADamagedList: what a writer needs of the last checkpoint can be read, the files in it cannot. The entries before it are still there.
func TestACheckpointIsNotMadeFromADamagedList(t *testing.T) {
	for _, format := range []Format{Parquet, Delta} {
		log := New(mem.New(), format, time.Now)
		state := begin(t, log)
		for i := range 3 {
			state = add(t, log, state, i)
		}
		older, err := log.WriteCheckpoint(t.Context(), state)
		if err != nil {
			t.Fatal(err)
		}
		key := format.checkpointKey(older.Version)
		data, err := log.store.Get(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		broken := bytes.Clone(data)
		broken[bytes.Index(data, []byte("f1"))-1] ^= 0xff // a quote, or a byte of a length
		if err := log.store.Put(t.Context(), key, broken); err != nil {
			t.Fatal(err)
		}
		state, err = log.WriteCheckpoint(t.Context(), add(t, log, older, 3))
		if err != nil {
			t.Errorf("%s: %v", format, err)
			continue
		}
		for v := range state.Version + 1 {
			if err := log.store.Delete(t.Context(), format.CommitKey(v)); err != nil {
				t.Fatal(err)
			}
		}
		files, err := log.Files(t.Context(), Latest)
		if err != nil || len(files.Live) != 4 {
			t.Errorf("%s: %v", format, err)
		}
	}
}

// TestAWriterReadsTheRowGroupsThatHoldWhatItNeeds: a checkpoint of other programs may have it anywhere.
func TestAWriterReadsTheRowGroupsThatHoldWhatItNeeds(t *testing.T) {
	e, err := newParquetEncoder(emptyState())
	if err != nil {
		t.Fatal(err)
	}
	put := func(a action.Action) {
		if err := e.add(&a); err != nil {
			t.Fatal(err)
		}
	}
	put(action.Action{Protocol: &action.Protocol{MinReader: 1, MinWriter: 2}})
	for i := range 5 * checkpointGroup {
		put(action.Action{Add: &action.Add{Path: fmt.Sprint(i), PartitionValues: map[string]*string{}}})
		if i == 3*checkpointGroup {
			put(action.Action{Txn: &action.Txn{AppID: "q", Version: 7}})
		}
	}
	put(action.Action{Metadata: metadata("t", "{}")})
	data, err := e.close()
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	err = readParquetCheckpoint(t.Context(), inMemory{bytes.NewReader(data)}, true, func(a *action.Action) error {
		name, _ := rowOf(a)
		seen = append(seen, name)
		return nil
	})
	if err != nil || strings.Join(seen, " ") != "protocol txn metaData" {
		t.Errorf("%q, %v", seen, err)
	}
}
