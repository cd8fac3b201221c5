package engine

import (
	"context"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"microbatch/batch"
	"microbatch/checkpointlog"
	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/objstore/localfs"
	"microbatch/objstore/localfs/crashfs"
	"microbatch/objstore/mem"
	"microbatch/sinks"
	"microbatch/sources"
)

// copyStore makes a store with the same objects.
func copyStore(t *testing.T, from objstore.Store) objstore.Store {
	t.Helper()
	to := mem.New()
	for info, err := range from.List(t.Context(), "", "") {
		if err != nil {
			t.Fatal(err)
		}
		data, err := from.Get(t.Context(), info.Key)
		if err != nil {
			t.Fatal(err)
		}
		if err := to.Put(t.Context(), info.Key, data); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// TestDamagedCheckpoints breaks a checkpoint of five batches (0..4, all recorded) in each way that happens, and says what a start and a repair do.
func TestDamagedCheckpoints(t *testing.T) {
	remove := func(keys ...string) func(*testing.T, *world) {
		return func(t *testing.T, w *world) {
			for _, k := range keys {
				if err := w.checkpoint.Delete(t.Context(), k); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	tear := func(key string) func(*testing.T, *world) {
		return func(t *testing.T, w *world) {
			data, err := w.checkpoint.Get(t.Context(), key)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.checkpoint.Put(t.Context(), key, data[:len(data)/2]); err != nil {
				t.Fatal(err)
			}
		}
	}
	both := func(fs ...func(*testing.T, *world)) func(*testing.T, *world) {
		return func(t *testing.T, w *world) {
			for _, f := range fs {
				f(t, w)
			}
		}
	}
	for _, c := range []struct {
		name   string
		damage func(*testing.T, *world)
		start  errcode.Code // the zero code: it goes on
		repair errcode.Code
		rewind bool
	}{
		{name: "commits/last deleted", damage: remove("commits/4")},
		{name: "offsets/last torn", damage: tear("offsets/4"), start: errcode.CheckpointDamaged},
		{name: "offsets/last torn, batch not in the sink", damage: both(tear("offsets/4"), remove("commits/4"), loseLast), start: errcode.CheckpointDamaged},
		{name: "offsets/last empty", damage: func(t *testing.T, w *world) { w.checkpoint.Put(t.Context(), "offsets/4", nil) }, start: errcode.CheckpointDamaged},
		{name: "offsets entry missing in the middle", damage: remove("offsets/2"), start: errcode.CheckpointGap},
		{name: "offsets/last-1 missing", damage: remove("offsets/3"), start: errcode.CheckpointGap},
		{name: "commits entry missing in the middle", damage: remove("commits/2"), start: errcode.CheckpointGap},
		{name: "commits/last torn", damage: tear("commits/4"), start: errcode.CheckpointDamaged},
		{name: "offsets/last deleted, its commit left", damage: remove("offsets/4"), start: errcode.CheckpointGap},
		{name: "all offsets deleted", damage: remove("offsets/0", "offsets/1", "offsets/2", "offsets/3", "offsets/4"), start: errcode.CheckpointGap},
		{name: "metadata deleted", damage: remove("metadata"), start: errcode.CheckpointDamaged},
		{name: "metadata torn", damage: tear("metadata"), start: errcode.CheckpointDamaged, repair: errcode.RepairImpossible},
		{name: "older checkpoint restored", damage: remove("offsets/3", "commits/3", "offsets/4", "commits/4"), start: errcode.CheckpointBehind},
		{name: "checkpoint deleted", damage: func(t *testing.T, w *world) { w.checkpoint = mem.New() }, start: errcode.FreshOnUsed},
		{name: "older sink restored", damage: loseLast, start: errcode.SinkBehind, repair: errcode.SinkBehind},
		{name: "older sink restored, repaired with rewind", damage: loseLast, start: errcode.SinkBehind, rewind: true},
		{name: "checkpoint copied, the copy ran on", damage: copyRanOn, start: errcode.ForeignDigest, repair: errcode.ForeignDigest},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(50)
			q, _, _ := w.query()
			if err := q.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			c.damage(t, w)
			w.total = max(w.total, 60)
			q, _, _ = w.query()
			err := q.Run(t.Context())
			if c.start.ID == "" {
				if err != nil {
					t.Fatalf("start: %v", err)
				}
				w.checkRows(t, w.total)
				return
			}
			if !errcode.Has(err, c.start) {
				t.Fatalf("start: %v, want %s", err, c.start.ID)
			}
			for _, dry := range []bool{true, false} {
				q, _, _ = w.query()
				var steps []string
				err = q.Repair(t.Context(), Repair{Rewind: c.rewind, DryRun: dry, Step: func(s string) { steps = append(steps, s) }})
				if c.repair.ID != "" {
					if !dry && !errcode.Has(err, c.repair) {
						t.Fatalf("repair: %v, want %s", err, c.repair.ID)
					}
					continue
				}
				if err != nil || len(steps) == 0 {
					t.Fatalf("repair (dry run %v): %v; steps %s", dry, err, strings.Join(steps, "; "))
				}
			}
			if c.repair.ID != "" {
				return
			}
			q, _, _ = w.query()
			if err := q.Run(t.Context()); err != nil {
				t.Fatalf("start after the repair: %v", err)
			}
			w.checkRows(t, w.total)
		})
	}
}

// TestRejectedRowsOfABatchWhoseEntryIsDamaged: a crash came between the commit of the rejected rows of batch 4 and that of its rows, then offsets/4 was torn, or
// deleted. Repair has to bring back this very entry, since another range under the same id would not fit what is rejected already.
func TestRejectedRowsOfABatchWhoseEntryIsDamaged(t *testing.T) {
	for name, text := range map[string]string{"torn": "v1\n{", "deleted": ""} {
		t.Run(name, func(t *testing.T) {
			w, rejected := newWorld(50), mem.New()
			w.bad = func(n int64) bool { return n%10 == 3 }
			query := func() Query {
				q, _, _ := w.query()
				q.OnError, q.Rejected = RejectRows, &ledger{store: rejected, schema: batch.RejectedSchema(), suffix: "/rejected"}
				return q
			}
			if err := query().Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			before, err := w.checkpoint.Get(t.Context(), "offsets/4")
			if err != nil {
				t.Fatal(err)
			}
			loseLast(t, w)
			for _, key := range []string{"commits/4", "offsets/4"} {
				if err := w.checkpoint.Delete(t.Context(), key); err != nil {
					t.Fatal(err)
				}
			}
			if text != "" {
				if err := w.checkpoint.Put(t.Context(), "offsets/4", []byte(text)); err != nil {
					t.Fatal(err)
				}
			}
			w.total = 60
			if err := query().Repair(t.Context(), Repair{Step: func(string) {}}); err != nil {
				t.Fatal(err)
			}
			if after, err := w.checkpoint.Get(t.Context(), "offsets/4"); err != nil || string(after) != string(before) {
				t.Errorf("offsets/4 is %q, %v; it was %q", after, err, before)
			}
			if err := query().Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			if rows := w.rows(t); len(rows) != 54 {
				t.Errorf("%d rows: %v", len(rows), rows)
			}
		})
	}
}

// loseLast takes the sink back by one batch, as a restored older table.
func loseLast(t *testing.T, w *world) {
	t.Helper()
	if err := w.sink.Delete(t.Context(), "ledger/000004"); err != nil {
		t.Fatal(err)
	}
}

// copyRanOn runs a copy of the checkpoint one batch further, and lets this one plan another batch under the same id.
func copyRanOn(t *testing.T, w *world) {
	t.Helper()
	mine := copyStore(t, w.checkpoint)
	w.total = 55
	q, _, _ := w.query()
	if err := q.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.checkpoint = mine
	c := checkpointlog.NewCheckpoint(mine)
	before, err := c.ReadEntry(t.Context(), 4)
	if err != nil {
		t.Fatal(err)
	}
	next := before.Offsets.Next(ident.EntryID{Epoch: 1, Run: "x"}, before.Offsets.Fingerprint(), before.Offsets.Timestamp, []ident.Offset{"58"}, nil)
	data, err := next.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Offsets.Put(t.Context(), 5, data); err != nil {
		t.Fatal(err)
	}
}

func TestInspectShowsACheckpointAndItsProblems(t *testing.T) {
	w := newWorld(50)
	q, _, _ := w.query()
	if err := q.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	in, err := Inspect(t.Context(), w.checkpoint)
	if err != nil || in.Offsets != (IDRange{0, 4, 5}) || in.Pending != nil || len(in.Problems) > 0 || string(in.Ends[0]) != "50" || in.Epoch != 1 || in.Pipeline != "test" {
		t.Fatalf("%+v, %v", in, err)
	}
	w.checkpoint.Delete(t.Context(), "commits/4")
	if in, err = Inspect(t.Context(), w.checkpoint); err != nil || in.Pending == nil || *in.Pending != 4 {
		t.Fatalf("%+v, %v", in, err)
	}
	w.checkpoint.Delete(t.Context(), "offsets/3")
	if in, err = Inspect(t.Context(), w.checkpoint); err != nil || len(in.Problems) != 1 {
		t.Fatalf("%+v, %v", in, err)
	}
	w.checkpoint.Put(t.Context(), "offsets/4", nil) // the others are shown all the same
	if in, err = Inspect(t.Context(), w.checkpoint); err != nil || len(in.Problems) != 1 || in.Offsets != (IDRange{0, 4, 4}) || in.Commits != (IDRange{0, 3, 4}) {
		t.Fatalf("%+v, %v", in, err)
	}
}

// logKeeper is a source whose log of what was read cannot be rebuilt from offsets.
type logKeeper struct{ *numbers }

func (logKeeper) KeepsLog() bool { return true }

func TestALostLogOfTheSourceIsNotRebuiltAndNothingIsWritten(t *testing.T) {
	w := newWorld(20)
	q, src, _ := w.query()
	q.Sources = []sources.Source{logKeeper{src}}
	if err := q.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.checkpoint = mem.New()
	q, src, _ = w.query()
	q.Sources = []sources.Source{logKeeper{src}}
	if err := q.Repair(t.Context(), Repair{Step: func(string) {}}); !errcode.Has(err, errcode.RepairImpossible) {
		t.Fatalf("error %v", err)
	}
	w.checkTrace(t, 0)
}

// deletions notes what is deleted.
type deletions struct {
	objstore.Store
	keys []string
}

func (d *deletions) Delete(ctx context.Context, key string) error {
	d.keys = append(d.keys, key)
	return d.Store.Delete(ctx, key)
}

// TestRepairNeverFreesTheSlotOfAProvenBatch: a repair was killed, another one made the checkpoint whole, then a request of the first was carried out at last. Had it
// been to delete an entry, so as to put it again, the checkpoint would have had a hole.
func TestRepairNeverFreesTheSlotOfAProvenBatch(t *testing.T) {
	w := newWorld(50)
	q, _, _ := w.query()
	if err := q.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"offsets/2", "offsets/4", "commits/1", "commits/4"} {
		if err := w.checkpoint.Put(t.Context(), key, []byte("v1\n{torn")); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.checkpoint.Delete(t.Context(), "offsets/3"); err != nil {
		t.Fatal(err)
	}
	q, _, _ = w.query()
	d := &deletions{Store: w.checkpoint}
	q.Checkpoint = d
	if err := q.Repair(t.Context(), Repair{Step: func(string) {}}); err != nil {
		t.Fatal(err)
	}
	if len(d.keys) > 0 {
		t.Errorf("the repair has deleted %v", d.keys)
	}
	q, _, _ = w.query()
	if err := q.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.checkRows(t, w.total)
}

// lockless is a store without locks, as S3 is.
type lockless struct{ objstore.Store }

func (lockless) Lock(context.Context, string) (io.Closer, error) { return io.NopCloser(nil), nil }

// TestARepairThatSleptDropsNothing: on a store without locks a repair had decided to drop an entry, then it slept, then another repair dropped it and a driver went on, then
// the first woke up: the entry in that place is the driver's.
func TestARepairThatSleptDropsNothing(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(t *testing.T, w *world)
		rewind bool
		last   string // what the repair says before it drops something
	}{
		{"a torn entry", func(t *testing.T, w *world) {
			loseLast(t, w)
			if err := w.checkpoint.Delete(t.Context(), "commits/4"); err != nil {
				t.Fatal(err)
			}
			if err := w.checkpoint.Put(t.Context(), "offsets/4", []byte("v1\n{torn")); err != nil {
				t.Fatal(err)
			}
		}, false, "offsets/4 is dropped"},
		{"the entries after a restored sink", loseLast, true, "files of the lost batches"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(50)
			w.checkpoint = lockless{w.checkpoint}
			q, _, _ := w.query()
			if err := q.Run(t.Context()); err != nil {
				t.Fatal(err)
			}
			c.damage(t, w)
			w.total = 60
			again := func() {
				q, _, _ := w.query()
				if err := q.Repair(t.Context(), Repair{Rewind: c.rewind, Step: func(string) {}}); err != nil {
					t.Fatal(err)
				}
				q, _, _ = w.query()
				if err := q.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			q, _, _ = w.query()
			err := q.Repair(t.Context(), Repair{Rewind: c.rewind, Step: func(said string) {
				if strings.HasPrefix(said, c.last) {
					again()
				}
			}})
			if !errcode.Has(err, errcode.DriverFenced) {
				t.Errorf("the repair that slept: %v", err)
			}
			w.total = 70
			q, _, _ = w.query()
			if err := q.Run(t.Context()); err != nil {
				t.Errorf("the next start: %v", err)
			}
			w.checkRows(t, w.total)
		})
	}
}

// TestWhatARepairHasDroppedStaysAwayAfterAPowerLoss: the sink was restored to an older state, a repair dropped the entries after it and said that a start goes on, then power
// was lost.
func TestWhatARepairHasDroppedStaysAwayAfterAPowerLoss(t *testing.T) {
	for seed := range uint64(20) {
		w, disk := newWorld(50), crashfs.New()
		on := func(disk *crashfs.FS) Query {
			w.checkpoint = localfs.NewOn(disk, localfs.Options{})
			q, _, _ := w.query()
			return q
		}
		if err := on(disk).Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		loseLast(t, w)
		if err := w.sink.Delete(t.Context(), "ledger/000003"); err != nil {
			t.Fatal(err)
		}
		if err := on(disk).Repair(t.Context(), Repair{Rewind: true, Step: func(string) {}}); err != nil {
			t.Fatal(err)
		}
		disk = disk.Crash(rand.New(rand.NewPCG(seed, 1)), 50)
		if err := on(disk).Run(t.Context()); err != nil {
			t.Fatalf("seed %d: the start after the loss of power: %v", seed, err)
		}
		w.checkRows(t, 50)
	}
}

// forgetful is a sink that has forgotten its batches, and holds their rows.
type forgetful struct{ *ledger }

func (forgetful) Visible(context.Context, sinks.QueryInfo) (sinks.Visible, error) {
	return sinks.Visible{Keeps: true, Batch: ident.NoBatch, Behind: "start anew behind it, with --new-query"}, nil
}

// TestARewindOfASinkThatHasForgotten: repair asked a Kafka topic whose marker had expired, and would have run batches again whose records were there. It says how to go on.
func TestARewindOfASinkThatHasForgotten(t *testing.T) {
	w := newWorld(50)
	q, _, _ := w.query()
	if err := q.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, rewind := range []bool{false, true} {
		q, _, sink := w.query()
		q.Sink = forgetful{sink}
		err := q.Repair(t.Context(), Repair{Rewind: rewind, Step: func(said string) { t.Error(said) }})
		if !errcode.Has(err, errcode.SinkBehind) || !strings.Contains(errcode.Detail(err), "--new-query") {
			t.Errorf("rewind %v: %s", rewind, errcode.Detail(err))
		}
	}
	w.checkRows(t, 50)
}

// movedOn is a sink that others write to after it was asked for the first time.
type movedOn struct {
	*ledger
	then func()
}

func (m *movedOn) Visible(ctx context.Context, q sinks.QueryInfo) (sinks.Visible, error) {
	v, err := m.ledger.Visible(ctx, q)
	if then := m.then; then != nil {
		m.then = nil
		then()
	}
	return v, err
}

// TestADryRunBesideADriver: a dry run had asked the sink, then a driver committed and recorded a batch, then the dry run listed the checkpoint: it is not newer than the sink.
func TestADryRunBesideADriver(t *testing.T) {
	w := newWorld(50)
	q, _, _ := w.query()
	if err := q.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	w.total = 60
	q, _, sink := w.query()
	q.Sink = &movedOn{sink, func() {
		q, _, _ := w.query()
		if err := q.Run(t.Context()); err != nil {
			t.Error(err)
		}
	}}
	var steps []string
	err := q.Repair(t.Context(), Repair{DryRun: true, Step: func(said string) { steps = append(steps, said) }})
	if err != nil || len(steps) != 1 || !strings.Contains(steps[0], "agree") {
		t.Errorf("%v; %q", err, steps)
	}
}
