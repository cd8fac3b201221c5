package translog

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"microbatch/objstore"
	"microbatch/objstore/faultstore"
	"microbatch/objstore/localfs"
	"microbatch/objstore/mem"
	"microbatch/table/action"
)

// TestWritersAtOnceLoseNothing lets several writers append as fast as they can (L01): every commit is at one version, no version is missing.
func TestWritersAtOnceLoseNothing(t *testing.T) {
	const writers, commits = 6, 25
	disk, err := localfs.New(t.TempDir(), localfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, store := range map[string]objstore.Store{"memory": mem.New(), "disk": disk} {
		t.Run(name, func(t *testing.T) {
			log := New(store, Delta, time.Now)
			begin(t, log)
			var group errgroup.Group
			for w := range writers {
				group.Go(func() error {
					state, err := log.Load(t.Context(), Latest)
					for i := 0; err == nil && i < commits; i++ {
						state, err = log.Commit(t.Context(), state, Change{Actions: []action.Action{
							{Txn: &action.Txn{AppID: fmt.Sprint(w), Version: int64(i)}},
							{Add: &action.Add{Path: fmt.Sprintf("%d-%d", w, i), PartitionValues: map[string]*string{}}},
						}})
					}
					return err
				})
			}
			if err := group.Wait(); err != nil {
				t.Fatal(err)
			}
			files, err := log.Files(t.Context(), Latest)
			if err != nil {
				t.Fatal(err)
			}
			if files.State.Version != writers*commits || len(files.Live) != writers*commits {
				t.Errorf("version %d with %d files, want %d", files.State.Version, len(files.Live), writers*commits)
			}
		})
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func begin(t *testing.T, log *Log) *State {
	t.Helper()
	err := log.Begin(t.Context(), Change{Actions: []action.Action{{Protocol: &action.Protocol{MinReader: 1, MinWriter: 2}}, {Metadata: metadata("t", "{}")}}})
	if err != nil {
		t.Fatal(err)
	}
	state, err := log.Load(t.Context(), Latest)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// TestAppendingReadsNoListOfFiles counts what opening and appending cost on a log with checkpoints (T6).
func TestAppendingReadsNoListOfFiles(t *testing.T) {
	store := faultstore.New(mem.New())
	log := New(store, Delta, time.Now)
	state := begin(t, log)
	var err error
	for i := range 250 {
		state, err = log.Commit(t.Context(), state, Change{Actions: []action.Action{{Add: &action.Add{Path: fmt.Sprint(i), PartitionValues: map[string]*string{}}}}})
		if err != nil {
			t.Fatal(err)
		}
		if state.CheckpointDue() {
			if state, err = log.WriteCheckpoint(t.Context(), state); err != nil {
				t.Fatal(err)
			}
		}
	}
	checkpoints := store.Count("putifabsent", "_delta_log/") - 251
	if checkpoints < 3 || checkpoints > 25 {
		t.Errorf("%d checkpoints in 250 commits: they should be rare and not rarer than every 100", checkpoints)
	}
	gets, lists := store.Count("get", ""), store.Count("list", "")
	if _, err := log.Load(t.Context(), Latest); err != nil {
		t.Fatal(err)
	}
	if n := store.Count("get", "") - gets; n > 102 {
		t.Errorf("opening read %d objects whole", n)
	}
	if n := store.Count("list", "") - lists; n != 1 {
		t.Errorf("opening listed %d times", n)
	}
}

func TestIntervalsOfProperties(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"interval 30 days": 720 * time.Hour, "interval 1 week": 168 * time.Hour, "2 hours": 2 * time.Hour, "interval 1 day 12 hours": 36 * time.Hour,
		"INTERVAL 90 MINUTES": 90 * time.Minute,
	} {
		if got, ok := parseInterval(text); !ok || got != want {
			t.Errorf("%q: %s, %v; want %s", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "interval", "3", "x days", "3 fortnights", "interval -1 days", "99999999999999 weeks"} {
		if got, ok := parseInterval(text); ok {
			t.Errorf("%q is taken for %s", text, got)
		}
	}
}

func TestFeatures(t *testing.T) {
	log := New(mem.New(), Delta, time.Now)
	state := func(reader, writer int, features []string, configuration map[string]string, schema string) *State {
		m := metadata("t", schema)
		m.Configuration = configuration
		p := action.Protocol{MinReader: reader, MinWriter: writer}
		if writer == 7 {
			p.WriterFeatures = features
		}
		if reader == 3 {
			p.ReaderFeatures = features
		}
		return &State{Protocol: p, Metadata: *m}
	}
	tests := []struct {
		name        string
		state       *State
		read, write bool
	}{
		{"lowest", state(1, 2, nil, nil, ""), true, true},
		{"legacy versions without use of what they allow", state(2, 6, nil, nil, ""), true, true},
		{"check constraint", state(1, 3, nil, map[string]string{"delta.constraints.c": "x > 0"}, ""), true, false},
		{"generated column", state(1, 4, nil, nil, `{"metadata":{"delta.generationExpression":"x"}}`), true, false},
		{"column invariant", state(1, 2, nil, nil, `{"metadata":{"delta.invariants":"x"}}`), true, false},
		{"column mapping", state(2, 5, nil, map[string]string{"delta.columnMapping.mode": "name"}, ""), false, false},
		{"column mapping off", state(2, 5, nil, map[string]string{"delta.columnMapping.mode": "none"}, ""), true, true},
		{"features we know", state(3, 7, []string{"timestampNtz", "deletionVectors", "v2Checkpoint", "vacuumProtocolCheck"}, nil, ""), true, true},
		{"writer features we know", state(1, 7, []string{"appendOnly", "invariants", "changeDataFeed", "domainMetadata"}, nil, ""), true, true},
		{"a listed constraint that is not used", state(1, 7, []string{"checkConstraints"}, nil, ""), true, true},
		{"row tracking", state(1, 7, []string{"rowTracking"}, nil, ""), true, false},
		{"in-commit timestamps", state(1, 7, []string{"inCommitTimestamp"}, nil, ""), true, false},
		{"catalog-managed", state(3, 7, []string{"catalogManaged"}, nil, ""), false, false},
		{"variant", state(3, 7, []string{"variantType"}, nil, ""), false, false},
		{"later reader", state(4, 7, nil, nil, ""), false, false},
		{"later writer", state(1, 8, nil, nil, ""), true, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := log.CheckRead(test.state); (err == nil) != test.read {
				t.Errorf("reading: %v", err)
			}
			if err := log.CheckWrite(test.state); (err == nil) != test.write {
				t.Errorf("writing: %v", err)
			}
		})
	}
}
