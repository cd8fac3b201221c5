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

// twins are a log with checkpoints and one without, to which the same is committed: what the one says is held against the other.
type twins struct {
	t                     *testing.T
	log, plain            *Log
	newest, newestOfPlain *State
}

func newTwins(t *testing.T, format Format) *twins {
	w := &twins{t: t, log: New(mem.New(), format, time.Now), plain: New(mem.New(), format, time.Now)}
	w.newest, w.newestOfPlain = begin(t, w.log), begin(t, w.plain)
	return w
}

func (w *twins) commit(actions ...action.Action) {
	w.t.Helper()
	var err error
	w.newest, err = w.log.Commit(w.t.Context(), w.newest, Change{Actions: actions})
	must(w.t, err)
	w.newestOfPlain, err = w.plain.Commit(w.t.Context(), w.newestOfPlain, Change{Actions: actions})
	must(w.t, err)
}

func (w *twins) checkpoint() {
	w.t.Helper()
	var err error
	w.newest, err = w.log.WriteCheckpoint(w.t.Context(), w.newest)
	must(w.t, err)
}

// compare holds what the logs say of files and applications against each other.
func (w *twins) compare(when string) {
	w.t.Helper()
	got, err := w.log.Files(w.t.Context(), Latest)
	must(w.t, err)
	want, err := w.plain.Files(w.t.Context(), Latest)
	must(w.t, err)
	same := cmp.Options{cmpopts.IgnoreFields(action.Add{}, "DataChange"), cmpopts.IgnoreFields(action.Remove{}, "DataChange"), cmpopts.EquateEmpty()}
	for what, diff := range map[string]string{
		"live files": cmp.Diff(want.Live, got.Live, same), "removed files": cmp.Diff(want.Removed, got.Removed, same), "txns": cmp.Diff(want.State.Txns, got.State.Txns),
	} {
		if diff != "" {
			w.t.Fatalf("%s, %s: %s (-without checkpoints +with them):\n%s", w.log.format, when, what, diff)
		}
	}
}

// deleteCommits leaves nothing of a log but its checkpoints.
func deleteCommits(t *testing.T, log *Log, newest *State) {
	t.Helper()
	for v := range newest.Version + 1 {
		must(t, log.store.Delete(t.Context(), log.format.CommitKey(v)))
	}
}

// checkpointOf is the content of the checkpoint of a version.
func checkpointOf(t *testing.T, log *Log, s *State) (key string, data []byte) {
	t.Helper()
	key = log.format.checkpointKey(s.Version)
	data, err := log.store.Get(t.Context(), key)
	must(t, err)
	return key, data
}

// TestACheckpointBehindAnotherSaysWhatTheCommitsDo: checkpoints are each made from the one before, while files come, go, come again and get deletion vectors.
func TestACheckpointBehindAnotherSaysWhatTheCommitsDo(t *testing.T) {
	for _, format := range []Format{Parquet, Delta} {
		for seed := range uint64(20) {
			rng, w := rand.New(rand.NewPCG(seed, 1)), newTwins(t, format)
			for i := range 60 {
				w.commit(someFiles(rng, i)...)
				if rng.IntN(5) > 0 {
					continue
				}
				w.checkpoint()
				if seed%2 == 0 {
					deleteCommits(t, w.log, w.newest)
				}
			}
			w.compare(fmt.Sprint("seed ", seed))
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
		must(t, err)
		key, data := checkpointOf(t, log, older)
		broken := bytes.Clone(data)
		broken[bytes.Index(data, []byte("f1"))-1] ^= 0xff // a quote, or a byte of a length
		must(t, log.store.Put(t.Context(), key, broken))
		state, err = log.WriteCheckpoint(t.Context(), add(t, log, older, 3))
		if err != nil {
			t.Errorf("%s: %v", format, err)
			continue
		}
		deleteCommits(t, log, state)
		files, err := log.Files(t.Context(), Latest)
		if err != nil || len(files.Live) != 4 {
			t.Errorf("%s: %v", format, err)
		}
	}
}

// TestACheckpointTakesFromTheOneBeforeWhatHasNotChanged: in a table of many files some come and go, and the bytes of all others are those of the checkpoint before.
func TestACheckpointTakesFromTheOneBeforeWhatHasNotChanged(t *testing.T) {
	for _, format := range []Format{Parquet, Delta} {
		w := newTwins(t, format)
		var before []byte
		for round := range 4 {
			for c := range 3 {
				var actions []action.Action
				for i := range checkpointGroup {
					actions = append(actions, action.Action{Add: manyFiles(round, c*checkpointGroup+i)})
				}
				w.commit(actions...)
			}
			if round > 0 { // one file goes, one comes again and one gets a deletion vector
				again, deleted := manyFiles(0, checkpointGroup/2), manyFiles(0, checkpointGroup/2+1)
				again.Size = int64(round)
				gone := manyFiles(0, round).Tombstone(time.Now().UnixMilli(), true)
				old := deleted.Tombstone(time.Now().UnixMilli(), true)
				deleted.DeletionVector = &action.DeletionVector{Storage: "u", Path: fmt.Sprint("v", round), Size: 4, Cardinality: 1}
				w.commit(action.Action{Remove: gone}, action.Action{Add: again}, action.Action{Remove: old}, action.Action{Add: deleted})
			}
			w.checkpoint()
			_, data := checkpointOf(t, w.log, w.newest)
			if taken := sharedBytes(before, data); round > 0 && taken < len(before)/4 {
				t.Errorf("%s, round %d: %d bytes of %d were taken from the checkpoint before", format, round, taken, len(before))
			}
			before = data
			deleteCommits(t, w.log, w.newest)
			w.compare(fmt.Sprint("round ", round))
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
	must(t, err)
	key, data := checkpointOf(t, log, s)
	must(t, log.store.Put(t.Context(), key, bytes.Replace(data, []byte(`"size":`), []byte(`"size":1`), 1)))
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
	must(t, err)
	key, data := checkpointOf(t, log, s)
	_, rest, _ := bytes.Cut(data, []byte("\n"))
	old := fmt.Appendf(nil, `{"checkpointMetadata":{"version":%d,"tags":{"microbatch.lines":"%d"}}}`+"\n", s.Version, 1+bytes.Count(rest, []byte("\n")))
	must(t, log.store.Put(t.Context(), key, append(old, rest...)))
	s, err = log.WriteCheckpoint(t.Context(), add(t, log, s, 3))
	must(t, err)
	if _, data = checkpointOf(t, log, s); !bytes.Contains(data, []byte(sumTag)) || bytes.Count(data, []byte(`{"add"`)) != 3 {
		t.Errorf("%s", data)
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
