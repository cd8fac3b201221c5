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

// TestACheckpointTakesFromTheOneBeforeWhatHasNotChanged: in a table of many files some come and go, and the bytes of all others are those of the checkpoint before.
// What comes out is held against the same log without checkpoints.
func TestACheckpointTakesFromTheOneBeforeWhatHasNotChanged(t *testing.T) {
	for _, format := range []Format{Parquet, Delta} {
		store := mem.New()
		log, plain := New(store, format, time.Now), New(mem.New(), format, time.Now)
		s, p := begin(t, log), begin(t, plain)
		commit := func(actions ...action.Action) {
			t.Helper()
			var err error
			if s, err = log.Commit(t.Context(), s, Change{Actions: actions}); err != nil {
				t.Fatal(err)
			}
			if p, err = plain.Commit(t.Context(), p, Change{Actions: actions}); err != nil {
				t.Fatal(err)
			}
		}
		var before []byte
		for round := range 4 {
			for c := range 3 {
				var actions []action.Action
				for i := range checkpointGroup {
					actions = append(actions, action.Action{Add: manyFiles(round, c*checkpointGroup+i)})
				}
				commit(actions...)
			}
			if round > 0 { // one file goes, one comes again and one gets a deletion vector
				again, deleted := manyFiles(0, checkpointGroup/2), manyFiles(0, checkpointGroup/2+1)
				again.Size = int64(round)
				gone := manyFiles(0, round).Tombstone(time.Now().UnixMilli(), true)
				old := deleted.Tombstone(time.Now().UnixMilli(), true)
				deleted.DeletionVector = &action.DeletionVector{Storage: "u", Path: fmt.Sprint("v", round), Size: 4, Cardinality: 1}
				commit(action.Action{Remove: gone}, action.Action{Add: again}, action.Action{Remove: old}, action.Action{Add: deleted})
			}
			var err error
			if s, err = log.WriteCheckpoint(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			data, err := store.Get(t.Context(), format.checkpointKey(s.Version))
			if err != nil {
				t.Fatal(err)
			}
			if taken := sharedBytes(before, data); round > 0 && taken < len(before)/4 {
				t.Errorf("%s, round %d: %d bytes of %d were taken from the checkpoint before", format, round, taken, len(before))
			}
			before = data
			for v := range s.Version + 1 {
				if err := store.Delete(t.Context(), format.CommitKey(v)); err != nil {
					t.Fatal(err)
				}
			}
			got, err := log.Files(t.Context(), Latest)
			if err != nil {
				t.Fatal(err)
			}
			want, err := plain.Files(t.Context(), Latest)
			if err != nil {
				t.Fatal(err)
			}
			same := cmp.Options{cmpopts.IgnoreFields(action.Add{}, "DataChange"), cmpopts.IgnoreFields(action.Remove{}, "DataChange"), cmpopts.EquateEmpty()}
			if diff := cmp.Diff(want.Live, got.Live, same); diff != "" {
				t.Fatalf("%s, round %d: live files (-without checkpoints +with them):\n%s", format, round, diff)
			}
			if diff := cmp.Diff(want.Removed, got.Removed, same); diff != "" {
				t.Fatalf("%s, round %d: removed files (-without checkpoints +with them):\n%s", format, round, diff)
			}
		}
	}
}

func manyFiles(round, i int) *action.Add {
	day := fmt.Sprintf("2026-01-%02d", i%28+1)
	return &action.Add{
		Path: fmt.Sprintf("day=%s/part-%d-%d.parquet", day, round, i), PartitionValues: map[string]*string{"day": &day}, Size: int64(i), Modified: int64(round),
		Stats: fmt.Sprintf(`{"numRecords":%d}`, i+1),
	}
}

// sharedBytes is how many bytes two files share in blocks of 4 KiB of the first.
func sharedBytes(a, b []byte) (shared int) {
	const block = 4 << 10
	for len(a) >= block {
		if bytes.Contains(b, a[:block]) {
			shared += block
		}
		a = a[block:]
	}
	return shared
}

// TestALineThatHasRottedIsFound: what a JSON checkpoint says is still JSON, but another number.
func TestALineThatHasRottedIsFound(t *testing.T) {
	log := New(mem.New(), Parquet, time.Now)
	s, err := log.WriteCheckpoint(t.Context(), add(t, log, begin(t, log), 1))
	if err != nil {
		t.Fatal(err)
	}
	key := Parquet.checkpointKey(s.Version)
	data, err := log.store.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	rotten := bytes.Replace(data, []byte(`"size":`), []byte(`"size":1`), 1)
	if err := log.store.Put(t.Context(), key, rotten); err != nil {
		t.Fatal(err)
	}
	problems, _, err := log.Verify(t.Context())
	if err != nil || problems[key] == "" {
		t.Errorf("%v, %v", problems, err)
	}
	if files, err := log.Files(t.Context(), Latest); err != nil || len(files.Live) != 1 { // from the commits
		t.Error(err)
	}
}

// TestACheckpointWithoutAChecksumIsDecoded: versions of this program that had none have written it.
func TestACheckpointWithoutAChecksumIsDecoded(t *testing.T) {
	log := New(mem.New(), Parquet, time.Now)
	s, err := log.WriteCheckpoint(t.Context(), add(t, log, add(t, log, begin(t, log), 1), 2))
	if err != nil {
		t.Fatal(err)
	}
	key := Parquet.checkpointKey(s.Version)
	data, err := log.store.Get(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := bytes.Cut(data, []byte("\n"))
	old := fmt.Appendf(nil, `{"checkpointMetadata":{"version":%d,"tags":{"microbatch.lines":"%d"}}}`+"\n", s.Version, 1+bytes.Count(rest, []byte("\n")))
	if err := log.store.Put(t.Context(), key, append(old, rest...)); err != nil {
		t.Fatal(err)
	}
	if s, err = log.WriteCheckpoint(t.Context(), add(t, log, s, 3)); err != nil {
		t.Fatal(err)
	}
	data, err = log.store.Get(t.Context(), Parquet.checkpointKey(s.Version))
	if err != nil || !bytes.Contains(data, []byte(sumTag)) || bytes.Count(data, []byte(`{"add"`)) != 3 {
		t.Errorf("%v\n%s", err, data)
	}
}

// TestAWriterReadsTheRowGroupsThatHoldWhatItNeeds: a checkpoint of other programs may have it anywhere.
func TestAWriterReadsTheRowGroupsThatHoldWhatItNeeds(t *testing.T) {
	part, err := newParquetPart()
	if err != nil {
		t.Fatal(err)
	}
	defer part.rows.Release()
	put := func(a action.Action) {
		if err := part.add(&a); err != nil {
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
	if _, err := part.close(); err != nil {
		t.Fatal(err)
	}
	var seen []string
	err = readParquetCheckpoint(t.Context(), part.object(), true, func(a *action.Action) error {
		name, _ := rowOf(a)
		seen = append(seen, name)
		return nil
	})
	if err != nil || strings.Join(seen, " ") != "protocol txn metaData" {
		t.Errorf("%q, %v", seen, err)
	}
}
