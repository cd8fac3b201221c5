package checker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"microbatch/engine"
	"microbatch/sinks"
)

// lookTarget looks and fails on any violation.
func lookTarget(t *testing.T, w *TargetWatcher) {
	t.Helper()
	found, err := w.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range found {
		t.Error(v)
	}
}

func TestATargetIsFollowedFromBeforeItsFirstBatch(t *testing.T) {
	for _, keeps := range []bool{true, false} {
		w := newShelfWorld(t)
		w.shelf.Keeps = keeps
		watch := WatchTarget(w.input())
		w.shelf.before = func(sinks.Pending) error { lookTarget(t, watch); return nil }
		lookTarget(t, watch)
		for total := int64(10); total <= 100; total += 10 {
			w.run(total, 4)
			lookTarget(t, watch)
		}
		if err := watch.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		r := watch.Report()
		if r.Err() != nil || r.Rows != 80 || len(r.Notices) > 0 || len(r.Batches) != 30 || r.Position.Keeps != keeps {
			t.Errorf("%v, %d rows, notices %v, %d batches, %v", r.Err(), r.Rows, r.Notices, len(r.Batches), r.Position)
		}
		if last := r.Batches[29]; keeps && (last.Digest != "ok" || last.Epoch != 10 || last.Rejected != 0) {
			t.Errorf("the last batch is %+v", last)
		}
		for _, rule := range []Rule{IDs, Ranges, Loss, Duplicate, Phantom, Rejected} {
			if r.Counts[rule] == 0 {
				t.Errorf("rule %s compared nothing", rule)
			}
		}
	}
}

// targetCorruption is one fault of a query with batches 0 to 5 of ten numbers, and the rule that has to name it.
type targetCorruption struct {
	name  string
	rule  Rule
	where string
	do    func(t *testing.T, w *shelfWorld)
}

// onShelf changes what the target holds.
func onShelf(change func(s *shelf)) func(*testing.T, *shelfWorld) {
	return func(_ *testing.T, w *shelfWorld) { change(w.shelf) }
}

func targetCorruptions() []targetCorruption {
	return []targetCorruption{
		{"the epoch was not claimed", Epoch, "_engine/epoch/7", onShelf(func(s *shelf) { s.Epoch = 7 })},
		{"the claim of the epoch is gone", Epoch, "_engine/epoch/2", func(t *testing.T, w *shelfWorld) { remove(t, w.checkpoint, "_engine/epoch/2") }},
		{"a run has committed that has not claimed the epoch", Epoch, position, onShelf(func(s *shelf) { s.Entry += "0" })},
		{"the entry names no epoch", Epoch, position, onShelf(func(s *shelf) { s.Entry = "x" })},
		{"the entry is above the epoch", Epoch, position, onShelf(func(s *shelf) { s.Epoch = 1 })},
		{"an older epoch has committed a newer entry", Epoch, position, onShelf(func(s *shelf) { s.Epoch, s.Entry = 1, "" })},
		{"the digest is another", Digest, "offsets/5", onShelf(func(s *shelf) { s.Digest = strings.Repeat("0", 64) })},
		{"the digest is missing", Digest, "offsets/5", onShelf(func(s *shelf) { s.Digest = "" })},
		{"offsets of the batch are changed", Digest, "offsets/5", func(t *testing.T, w *shelfWorld) { w.match(w.checkpoint, "offsets/5", `60$`, `59`) }},
		{"a recorded batch is not in the target", IDs, "commits/5", func(t *testing.T, w *shelfWorld) { w.shelf.Batch = 4 }},
		{"the target is empty", IDs, "commits/0", func(t *testing.T, w *shelfWorld) { w.shelf.Position = newShelf().Position }},
		{"the checkpoint is an older one", IDs, "offsets/5", func(t *testing.T, w *shelfWorld) { w.checkpoint = w.restored(3) }},
		{"the target holds a batch that was never fixed", IDs, "offsets/6", onShelf(func(s *shelf) { s.Batch = 6 })},
		{"a batch in the middle is not recorded", IDs, "commits/3", func(t *testing.T, w *shelfWorld) { remove(t, w.checkpoint, "commits/3") }},
		{"an entry of offsets is torn", IDs, "offsets/5", func(t *testing.T, w *shelfWorld) {
			edit(t, w.checkpoint, "offsets/5", func(s string) string { return s[:20] })
		}},
		{"a batch ends before it begins", Ranges, "offsets/4", func(t *testing.T, w *shelfWorld) { w.match(w.checkpoint, "offsets/4", `50$`, `30`) }},
		{"a row is lost", Loss, "up to 5", onShelf(func(s *shelf) { s.rows = s.rows[1:] })},
		{"a row comes twice", Duplicate, "up to 5", onShelf(func(s *shelf) { s.rows = append(s.rows, s.rows[0]) })},
		{"a row comes that was filtered", Phantom, "up to 5", onShelf(func(s *shelf) { s.rows = append(s.rows, "57") })},
		{"a row comes before its batch", Phantom, "up to 5", onShelf(func(s *shelf) { s.rows = append(s.rows, "61") })},
		{"the rejected rows of a batch were never committed", Rejected, "batch 5", func(t *testing.T, w *shelfWorld) { remove(t, w.rejected, w.version(6)) }},
		{"a rejected row is another", Rejected, "batch 5", func(t *testing.T, w *shelfWorld) { w.swapRejected(5, 4) }},
		{"rejected rows have another digest", Digest, "rejected table: ", func(t *testing.T, w *shelfWorld) { w.turn(w.rejected, w.version(6), `#offsets","version":\d\d\d`) }},
	}
}

func corruptibleShelf(t *testing.T) *shelfWorld {
	w := newShelfWorld(t)
	w.run(40, 10)
	w.run(60, 10)
	return w
}

func TestEveryCorruptionOfATargetIsReported(t *testing.T) {
	sound := corruptibleShelf(t)
	if err := sound.check(sound.input()).Err(); err != nil {
		t.Fatalf("before anything is corrupted: %v", err)
	}
	for _, c := range targetCorruptions() {
		t.Run(c.name, func(t *testing.T) {
			w := sound.clone(t)
			c.do(t, w)
			if r := w.check(w.input()); !reported(r.Violations, corruption{rule: c.rule, where: c.where}) {
				t.Errorf("no violation of rule %s at %s, but %v", c.rule, c.where, r.Violations)
			}
		})
	}
}

func TestAWatcherReportsWhatChangesInATarget(t *testing.T) {
	sound := corruptibleShelf(t)
	all := append(targetCorruptions(), []targetCorruption{
		{"the batch falls", Txn, position, onShelf(func(s *shelf) { s.Batch = 4 })},
		{"the batch is forgotten", Txn, position, onShelf(func(s *shelf) { s.Batch = -1 })},
		{"the target keeps no batches any more", Txn, position, onShelf(func(s *shelf) { s.Keeps = false })},
		{"the epoch falls", Epoch, position, onShelf(func(s *shelf) { s.Epoch = 1 })},
		{"the digest of the batch changes", Digest, position, onShelf(func(s *shelf) { s.Digest = s.Digest[:10] })},
		{"an entry of offsets changes", IDs, "offsets/5", func(t *testing.T, w *shelfWorld) {
			w.replace(w.checkpoint, "offsets/5", `"conf":{`, `"conf":{"x":"y",`)
		}},
		{"rows are lost one after another", Loss, "up to 5", onShelf(func(s *shelf) { s.rows = s.rows[1:] })},
	}...)
	for _, c := range all {
		if c.name == "the claim of the epoch is gone" || strings.Contains(c.name, "rejected row") { // it was seen, and claims are purged; or a change of the table's log is reported
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			w := sound.clone(t)
			watch := WatchTarget(w.input())
			lookTarget(t, watch)
			sameStore := w.checkpoint
			c.do(t, w)
			if w.checkpoint != sameStore { // what was copied is put in the place of what is there
				for _, key := range keys(t, sameStore, "") {
					if _, err := w.checkpoint.Get(t.Context(), key); err != nil {
						remove(t, sameStore, key)
					}
				}
			}
			if _, err := watch.Look(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := watch.Finish(t.Context()); err != nil {
				t.Fatal(err)
			}
			if r := watch.Report(); !reported(r.Violations, corruption{rule: c.rule, where: c.where}) {
				t.Errorf("no violation of rule %s at %s, but %v", c.rule, c.where, r.Violations)
			}
			if again, err := watch.Look(t.Context()); err != nil || len(again) > 0 {
				t.Errorf("the next look reports it again: %v, %v", again, err)
			}
		})
	}
}

// TestATargetIsReadWhileADriverWorks: the rows that are read may be of any batch between the two positions around them, and of no other.
func TestATargetIsReadWhileADriverWorks(t *testing.T) {
	sound := corruptibleShelf(t)
	moving := func(change func(*shelf)) *Report {
		w := sound.clone(t)
		now := w.shelf.clone()
		now.Batch, now.rows = 4, slices.DeleteFunc(now.rows, func(id string) bool { return id >= "50" && len(id) == 2 })
		text, err := w.checkpoint.Get(t.Context(), "offsets/4")
		if err != nil {
			t.Fatal(err)
		}
		now.Digest = digestOf(string(text))
		remove(t, w.checkpoint, "commits/5")
		in := w.input()
		in.Target = &changing{first: now, then: w.shelf}
		change(w.shelf)
		return w.check(in)
	}
	if r := moving(func(*shelf) {}); r.Err() != nil || r.Position.Batch != 5 {
		t.Error(r.Err(), r.Position)
	}
	if r := moving(func(s *shelf) { s.rows = slices.DeleteFunc(s.rows, func(id string) bool { return id == "58" }) }); r.Err() != nil {
		t.Errorf("a row of the batch that is under way is not there yet: %v", r.Err())
	}
	if r := moving(func(s *shelf) { s.rows = s.rows[1:] }); !slices.ContainsFunc(r.Violations, func(v Violation) bool { return v.Rule == Loss }) {
		t.Errorf("a row of a batch before is lost: %v", r.Violations)
	}
}

// changing is a target whose position is another at each second question, and whose rows are those of the later.
type changing struct {
	first, then *shelf
	asked       int
}

func (c *changing) Position(ctx context.Context, query string) (Position, error) {
	if c.asked++; c.asked%2 == 1 && c.asked < 2*settles {
		return c.first.Position, nil
	}
	return c.then.Position, nil
}

func (c *changing) Rows(ctx context.Context) ([]string, error) { return c.then.rows, nil }

// TestATargetThatKeepsNoBatches has to hold the recorded batches whole, may hold rows of the fixed one, each once or as often as at least once allows.
func TestATargetThatKeepsNoBatches(t *testing.T) {
	for _, c := range []struct {
		name  string
		twice bool
		do    func(t *testing.T, w *shelfWorld)
		rule  Rule // "": none
	}{
		{name: "sound", do: func(*testing.T, *shelfWorld) {}},
		{name: "a batch is fixed, and half there", do: func(t *testing.T, w *shelfWorld) {
			remove(t, w.checkpoint, "commits/5")
			w.shelf.rows = w.shelf.rows[:len(w.shelf.rows)-3]
		}},
		{name: "a recorded row is missing", rule: Loss, do: func(t *testing.T, w *shelfWorld) { w.shelf.rows = w.shelf.rows[:len(w.shelf.rows)-3] }},
		{name: "a row comes before its batch is fixed", rule: Phantom, do: func(t *testing.T, w *shelfWorld) { w.shelf.rows = append(w.shelf.rows, "60") }},
		{name: "a row comes twice", rule: Duplicate, do: func(t *testing.T, w *shelfWorld) { w.shelf.rows = append(w.shelf.rows, "58") }},
		{name: "a row comes twice, and may", twice: true, do: func(t *testing.T, w *shelfWorld) { w.shelf.rows = append(w.shelf.rows, "58") }},
		{name: "rejected rows are lost", rule: Rejected, do: func(t *testing.T, w *shelfWorld) { remove(t, w.rejected, w.version(6)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := corruptibleShelf(t).clone(t)
			w.shelf.forgetting()
			c.do(t, w)
			in := w.input()
			in.Twice = c.twice
			r := w.check(in)
			if c.rule == "" && r.Err() != nil || c.rule != "" && !slices.ContainsFunc(r.Violations, func(v Violation) bool { return v.Rule == c.rule }) {
				t.Errorf("want %q, have %v", c.rule, r.Err())
			}
		})
	}
}

// TestATargetOfAtMostOnceMayLackWholeBatches: batches 2, 5 and 6 are recorded and were never committed.
func TestATargetOfAtMostOnceMayLackWholeBatches(t *testing.T) {
	for _, keeps := range []bool{true, false} {
		for _, goesOn := range []bool{true, false} {
			t.Run(fmt.Sprintf("keeps %v, goes on %v", keeps, goesOn), func(t *testing.T) {
				w := newShelfWorld(t)
				w.shelf.Keeps = keeps
				watch := WatchTarget(w.input())
				for _, commits := range []int{2, 2, 0} {
					w.shelf.before = func(sinks.Pending) error {
						lookTarget(t, watch)
						if commits--; commits < 0 {
							return errDies
						}
						return nil
					}
					q := w.query(45, 5)
					q.Delivery = engine.AtMostOnce
					if err := q.Run(t.Context()); !errors.Is(err, errDies) {
						t.Fatal(err)
					}
				}
				w.shelf.before = nil
				if goesOn {
					q := w.query(45, 5)
					q.Delivery = engine.AtMostOnce
					if err := q.Run(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				lookTarget(t, watch)
				r := w.check(w.input())
				if err := r.Err(); err != nil || !slices.Equal(lostOf(r), []int64{2, 5, 6}) {
					t.Errorf("lost %v, %v", lostOf(r), err)
				}
				part := w.clone(t)
				part.shelf.rows = part.shelf.rows[1:]
				if r := part.check(part.input()); keeps != (r.Err() != nil) { // a target without batches may have got a part of one
					t.Errorf("a batch is there in part: %v", r.Err())
				}
				twice := w.clone(t)
				twice.shelf.rows = append(twice.shelf.rows, twice.shelf.rows[0])
				if r := twice.check(twice.input()); !slices.ContainsFunc(r.Violations, func(v Violation) bool { return v.Rule == Duplicate }) {
					t.Errorf("a row is there twice: %v", r.Err())
				}
			})
		}
	}
}

// TestRowsThatReplaceEachOther are held against the model of the whole input.
func TestRowsThatReplaceEachOther(t *testing.T) {
	w := corruptibleShelf(t)
	w.shelf.rows = w.shelf.rows[len(w.shelf.rows)-8:] // of each digit the last
	in := w.input()
	in.Keyed, in.Rejected = true, nil
	in.Model = func(from, to []string) (Expect, error) {
		e, err := model(from, to)
		e.Out = e.Out[len(e.Out)-8:]
		return e, err
	}
	if r := w.check(in); r.Err() != nil {
		t.Error(r.Err())
	}
	w.shelf.rows[3] = "44"
	r := w.check(in)
	if !slices.ContainsFunc(r.Violations, func(v Violation) bool { return v.Rule == Loss }) || !slices.ContainsFunc(r.Violations, func(v Violation) bool { return v.Rule == Phantom }) {
		t.Errorf("an older row of a key is there: %v", r.Err())
	}
}

func TestAPowerLossTakesTheEndOfATargetOnDisk(t *testing.T) {
	sound := corruptibleShelf(t)
	for _, disk := range []bool{true, false} {
		w := sound.clone(t)
		in := w.input()
		in.OnDisk, in.Rejected = disk, nil
		watch := WatchTarget(in)
		lookTarget(t, watch)
		text, err := w.checkpoint.Get(t.Context(), "offsets/4")
		if err != nil {
			t.Fatal(err)
		}
		remove(t, w.checkpoint, "commits/5")
		w.shelf.Batch, w.shelf.Digest, w.shelf.rows = 4, digestOf(string(text)), w.shelf.rows[:len(w.shelf.rows)-8]
		watch.PowerLoss()
		found, err := watch.Look(t.Context())
		if err != nil || disk != (len(found) == 0) {
			t.Errorf("on disk %v: %v, %v", disk, found, err)
		}
	}
}

func TestATargetOfNobodyHasNoRows(t *testing.T) {
	w := newShelfWorld(t)
	if r := w.check(w.input()); r.Err() != nil {
		t.Error(r.Err())
	}
	w.shelf.rows = []string{"1"}
	if r := w.check(w.input()); !slices.ContainsFunc(r.Violations, func(v Violation) bool { return v.Rule == Phantom }) {
		t.Error("rows of nobody are no violation")
	}
	w = corruptibleShelf(t)
	w.shelf.rows = nil
	if r := w.check(w.input()); r.Err() != nil || r.Rows != -1 || len(r.Notices) != 1 {
		t.Errorf("rows that the reader cannot tell: %v, %d, %v", r.Err(), r.Rows, r.Notices)
	}
}

// keeper is a target that tells of older batches.
type keeper struct {
	shelfReader
	kept []Kept
}

func (k keeper) Batches(context.Context, string, func(string, int64, int64)) ([]Kept, error) {
	return k.kept, nil
}

// TestTheBatchesThatATargetTellsOf are whole, without holes, and those of the checkpoint.
func TestTheBatchesThatATargetTellsOf(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(all []Kept) []Kept
		rule Rule // "": none
	}{
		{"sound", func(all []Kept) []Kept { return all }, ""},
		{"some are gone that no list has", func(all []Kept) []Kept { all[0].Listed = false; return append(all[:1], all[2:]...) }, ""},
		{"one is missing", func(all []Kept) []Kept { return append(all[:1], all[2:]...) }, Txn},
		{"one has another digest", func(all []Kept) []Kept { all[2].Digest = all[1].Digest; return all }, Digest},
		{"one is not whole", func(all []Kept) []Kept { all[2].Faults = []string{"a file is missing"}; return all }, Files},
		{"an older epoch comes later", func(all []Kept) []Kept { all[5].Epoch = 1; return all }, Epoch},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := corruptibleShelf(t)
			var all []Kept
			for id := range int64(6) {
				text, err := w.checkpoint.Get(t.Context(), fmt.Sprintf("offsets/%d", id))
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, Kept{Position: Position{Keeps: true, Batch: id, Digest: digestOf(string(text)), Epoch: 1 + id/4}, Place: fmt.Sprint("batch ", id), Rows: 8, Listed: true})
			}
			in := w.input()
			in.Target = keeper{shelfReader{w.shelf}, c.do(all)}
			r := w.check(in)
			if c.rule == "" && r.Err() != nil || c.rule != "" && !slices.ContainsFunc(r.Violations, func(v Violation) bool { return v.Rule == c.rule }) {
				t.Errorf("want %q, have %v", c.rule, r.Err())
			}
			if last := r.Batches[5]; last.Rows != 8 || last.Input != -1 {
				t.Errorf("the last batch is %+v", last)
			}
		})
	}
}
