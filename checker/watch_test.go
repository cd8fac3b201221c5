package checker

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"microbatch/objstore/mem"
)

// look looks and fails on any violation.
func look(t *testing.T, w *Watcher) {
	t.Helper()
	found, err := w.Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range found {
		t.Error(v)
	}
}

func finish(t *testing.T, w *Watcher) {
	t.Helper()
	look(t, w)
	if err := w.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := w.Report().Err(); err != nil {
		t.Error(err)
	}
}

func TestAWatcherFollowsAQueryFromBeforeItsFirstBatch(t *testing.T) {
	w := newWorld(t, Parquet)
	watch := Watch(w.input())
	look(t, watch)
	for total := int64(10); total <= 100; total += 10 {
		w.run(total, 4)
		look(t, watch)
		if total%30 == 0 {
			w.sum()
			look(t, watch)
			w.optimize()
			look(t, watch)
		}
	}
	finish(t, watch)
	if r := watch.Report(); r.Rows != 80 || len(r.Notices) > 0 {
		t.Errorf("%d rows, notices %v", r.Rows, r.Notices)
	}
}

func TestAWatcherLooksWhileTheDriverWorks(t *testing.T) {
	w := newWorld(t, Delta)
	watch := Watch(w.input())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for total := int64(20); total <= 200; total += 20 {
			w.run(total, 3)
		}
	}()
	looks := 0
	for working := true; working; looks++ {
		select {
		case <-done:
			working = false
		default:
		}
		look(t, watch)
	}
	finish(t, watch)
	t.Logf("%d looks, %d versions", looks, watch.Report().Version)
}

// twoLooks are faults that only show if something is there or different that was seen before.
func twoLooks() []corruption {
	return []corruption{
		{"a version's bytes change", Log, "3.json", func(t *testing.T, w *world) { w.replace(w.table, w.version(3), "{", " {") }},
		{"a version's bytes change, its time and length do not", Log, "3.json", func(t *testing.T, w *world) { w.match(w.table, w.version(3), `"txnId":".`, `"txnId":"_`) }},
		{"the newest version vanishes", Log, "7.json", func(t *testing.T, w *world) { remove(t, w.table, w.version(7)) }},
		{"a version in the middle vanishes", Log, "5.json", func(t *testing.T, w *world) { remove(t, w.table, w.version(5)) }},
		{"an entry of offsets changes", IDs, "offsets/5", func(t *testing.T, w *world) { w.replace(w.checkpoint, "offsets/5", `"conf":{`, `"conf":{"x":"y",`) }},
		{"an entry of commits changes", IDs, "commits/2", func(t *testing.T, w *world) { w.replace(w.checkpoint, "commits/2", `:0`, `:1`) }},
		{"an entry of offsets vanishes above the low watermark", IDs, "offsets/0", func(t *testing.T, w *world) { remove(t, w.checkpoint, "offsets/0") }},
		{"the query id changes", IDs, "metadata", func(t *testing.T, w *world) { w.match(w.checkpoint, "metadata", `"id":"........`, `"id":"00000000`) }},
		{"the query id vanishes", IDs, "metadata", func(t *testing.T, w *world) { remove(t, w.checkpoint, "metadata") }},
		{"rejected rows come after their batch", Rejected, "7.json", func(t *testing.T, w *world) {
			text, err := w.rejected.Get(t.Context(), w.version(6))
			if err != nil {
				t.Fatal(err)
			}
			again := regexp.MustCompile(`\{"add".*\n`).ReplaceAllString(string(text), "")
			if err := w.rejected.Put(t.Context(), w.version(7), []byte(again)); err != nil {
				t.Fatal(err)
			}
		}},
	}
}

func TestAWatcherReportsWhatChangesBetweenLooks(t *testing.T) {
	sound := corruptible(t, Parquet)
	for _, c := range twoLooks() {
		t.Run(c.name, func(t *testing.T) {
			w := sound.clone(t)
			watch := Watch(w.input())
			look(t, watch)
			c.do(t, w)
			if _, err := watch.Look(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := watch.Finish(t.Context()); err != nil {
				t.Fatal(err)
			}
			if r := watch.Report(); !reported(r.Violations, c) {
				t.Errorf("no violation of rule %s at %s, but %v", c.rule, c.where, r.Violations)
			}
			before := len(watch.Report().Violations)
			if again, err := watch.Look(t.Context()); err != nil || len(again) > 0 || len(watch.Report().Violations) != before {
				t.Errorf("the next look reports it again: %v, %v", again, err)
			}
		})
	}
}

func TestAPowerLossTakesTheEndOfTheLogs(t *testing.T) {
	w := corruptible(t, Parquet)
	watch := Watch(w.input())
	look(t, watch)
	files := data(t, w.table)
	remove(t, w.checkpoint, "commits/5") // the end of the logs was not durable
	remove(t, w.table, w.version(7))
	remove(t, w.rejected, w.version(6))
	for _, key := range files {
		if strings.Contains(key, "-5-") {
			remove(t, w.table, key)
		}
	}
	watch.PowerLoss()
	look(t, watch)
	w.run(80, 10)
	w.optimize()
	finish(t, watch)
	// What is left has to be what it was.
	watch.PowerLoss()
	w.replace(w.table, w.version(2), "{", " {")
	w.replace(w.checkpoint, "commits/2", `:0`, `:1`)
	if _, err := watch.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []corruption{{rule: Log, where: "2.json"}, {rule: IDs, where: "commits/2"}} {
		if !reported(watch.Report().Violations, c) {
			t.Errorf("no violation of rule %s at %s, but %v", c.rule, c.where, watch.Report().Violations)
		}
	}
}

func TestAPowerLossThatTakesAFileOfACommitIsReported(t *testing.T) {
	w := corruptible(t, Parquet)
	watch := Watch(w.input())
	look(t, watch)
	files := data(t, w.table)
	remove(t, w.table, files[len(files)-1])
	watch.PowerLoss()
	if _, err := watch.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := watch.Finish(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c := (corruption{rule: Files, where: files[len(files)-1]}); !reported(watch.Report().Violations, c) {
		t.Errorf("not reported: %v", watch.Report().Violations)
	}
}

// clean deletes the versions below one, as log clean-up does.
func (w *world) clean(below int64) {
	w.t.Helper()
	for v := range below {
		remove(w.t, w.table, w.version(v))
	}
}

func TestALogThatWasCleanedUp(t *testing.T) {
	for _, format := range []Format{Parquet, Delta} {
		t.Run(string(format), func(t *testing.T) {
			w := corruptible(t, format)
			before := Watch(w.input())
			look(t, before)
			w.clean(4)
			finish(t, before) // it has read them
			w.run(80, 10)
			finish(t, before)
			after := Watch(w.input()) // it has not
			finish(t, after)
			r := after.Report()
			if r.Oldest != 4 || r.Batches[0].Version != -1 || r.Batches[3].Digest != "ok" || r.Counts[Loss] == 0 {
				t.Errorf("%+v", r)
			}
			// Rows of the batches whose versions are gone are still followed.
			for _, key := range data(t, w.table) {
				if strings.Contains(key, "opt-") {
					put(t, w.table, key, rowsOf(1, 2, 2))
				}
			}
			r = w.check(w.input())
			for _, rule := range []Rule{Loss, Duplicate} {
				if !reported(r.Violations, corruption{rule: rule}) {
					t.Errorf("no violation of rule %s, but %v", rule, r.Violations)
				}
			}
		})
	}
}

func TestALateEntryInACleanedSlotIsNoViolation(t *testing.T) {
	w := corruptible(t, Parquet)
	watch := Watch(w.input())
	look(t, watch)
	w.clean(4)
	w.commit(2, w.lines(7, "commitInfo")+w.lines(7, "txn")) // a zombie's
	finish(t, watch)
	fresh := Watch(w.input())
	finish(t, fresh)
	for _, r := range []*Report{watch.Report(), fresh.Report()} {
		if len(r.Notices) == 0 || !strings.Contains(fmt.Sprint(r.Notices), "2.json") {
			t.Errorf("nothing is said about the entry: %v", r.Notices)
		}
	}
}

func TestACheckpointThatWasPurged(t *testing.T) {
	w := corruptible(t, Parquet)
	watch := Watch(w.input())
	look(t, watch)
	if err := w.checkpoint.PutIfAbsent(t.Context(), "_engine/low-watermark/3", []byte("v1\n{\"id\":3}\n00000000")); err != nil {
		t.Fatal(err)
	}
	for id := range 4 {
		remove(t, w.checkpoint, fmt.Sprintf("commits/%d", id))
		remove(t, w.checkpoint, fmt.Sprintf("offsets/%d", id))
	}
	finish(t, watch)
	r := w.check(w.input())
	if err := r.Err(); err != nil || r.Batches[0].Digest != "purged" || !r.Batches[0].Recorded || r.Batches[4].Digest != "ok" {
		t.Errorf("%v: %+v", err, r.Batches)
	}
	// What a zombie puts into a purged slot does not count.
	if err := w.checkpoint.PutIfAbsent(t.Context(), "offsets/2", []byte("v1\n{}\n999")); err != nil {
		t.Fatal(err)
	}
	finish(t, watch)
	finish(t, Watch(w.input()))
}

func TestATableAlone(t *testing.T) {
	w := corruptible(t, Delta)
	r := w.check(Input{Table: w.table})
	if err := r.Err(); err != nil {
		t.Error(err)
	}
	if len(r.Batches) != 6 || r.Batches[5].Rows != 8 || r.Query == "" || r.Rows != 48 {
		t.Errorf("%+v", r)
	}
	w.refill(7, func(ns []int64) []int64 { return ns[1:] })
	w.match(w.table, w.version(7), `numRecords\\":\d+`, `numRecords\":8`)
	if r := w.check(Input{Table: w.table}); !reported(r.Violations, corruption{rule: Count, where: ".parquet"}) {
		t.Errorf("a file with too few rows: %v", r.Violations)
	}
}

func TestAnEmptyPlace(t *testing.T) {
	r, err := Check(t.Context(), Input{Table: mem.New(), Rejected: mem.New(), Checkpoint: mem.New(), IDs: []string{"n"}, Model: model})
	if err != nil || r.Err() != nil || r.Version != -1 {
		t.Errorf("%v, %+v", err, r)
	}
}
