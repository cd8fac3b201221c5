package checker

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestARealQueryBreaksNoRule(t *testing.T) {
	for _, format := range []Format{Parquet, Delta} {
		t.Run(string(format), func(t *testing.T) {
			w := newWorld(t, format)
			w.run(20, 7)
			w.sum()
			w.run(40, 9)
			w.optimize()
			w.sum()
			w.run(50, 5)
			r := w.check(w.input())
			if err := r.Err(); err != nil {
				t.Error(err)
			}
			for _, rule := range Rules() {
				if r.Counts[rule] == 0 && rule != Orphan {
					t.Errorf("rule %s compared nothing", rule)
				}
			}
			t.Logf("%+v", r)
		})
	}
}

// TestACleanedLogIsJudgedByWhatIsLeft: old versions are gone behind a log checkpoint. A single check gives the true verdict on what is left, and says what it could not compare.
func TestACleanedLogIsJudgedByWhatIsLeft(t *testing.T) {
	for _, format := range []Format{Parquet, Delta} {
		for _, gone := range []int64{8, 9} { // versions that were cleaned up: all before the log checkpoint's, or its own too
			w := newWorld(t, format)
			w.run(40, 5)
			w.sum() // of version 8, with batches 0 to 7
			w.run(60, 5)
			for v := range gone {
				remove(t, w.table, w.version(v))
			}
			t.Run(fmt.Sprintf("%s without %d versions", format, gone), func(t *testing.T) {
				for _, c := range cleanedLogs {
					t.Run(c.name, func(t *testing.T) {
						w := w.clone(t)
						c.damage(w)
						r := w.check(Input{Table: w.table, Rejected: w.rejected, Checkpoint: w.checkpoint})
						if c.rule == "" && r.Err() != nil {
							t.Error(r.Err())
						}
						if c.rule != "" && !slices.ContainsFunc(r.Violations, func(v Violation) bool { return v.Rule == c.rule }) {
							t.Errorf("no violation of rule %s, but %v", c.rule, r.Violations)
						}
						notices := strings.Join(r.Notices, "\n")
						if c.name == "a log without its log checkpoint" { // nothing can be read at all
							return
						}
						first := gone // the first version that is left; version n holds batch n-1
						for _, want := range []string{fmt.Sprintf("goes back to version %d: ", first), "log checkpoint of version 8 ", fmt.Sprintf("of batches 0 to %d ", first-2)} {
							if !strings.Contains(notices, want) {
								t.Errorf("no notice says %q: %s", want, notices)
							}
						}
						if r.Oldest != first {
							t.Errorf("the oldest version is %d, want %d", r.Oldest, first)
						}
					})
				}
			})
		}
	}
}

var cleanedLogs = []struct {
	name   string
	damage func(*world)
	rule   Rule // "": none is broken
}{
	{"nothing is wrong", func(*world) {}, ""},
	{"a file of a version that is gone is missing", func(w *world) { remove(w.t, w.table, data(w.t, w.table)[0]) }, Files},
	{"a version after the log checkpoint is missing", func(w *world) { remove(w.t, w.table, w.version(10)) }, Log},
	{"the last version is missing", func(w *world) { remove(w.t, w.table, w.version(12)) }, IDs},
	{"an entry of a batch that the log still has was edited", func(w *world) {
		edit(w.t, w.checkpoint, "offsets/9", func(s string) string { return s[:len(s)-2] + "51" })
	}, Digest},
	{"an entry of a batch that the log no longer has ends elsewhere", func(w *world) {
		edit(w.t, w.checkpoint, "offsets/3", func(s string) string { return s[:len(s)-2] + "99" })
	}, Ranges},
	{"an entry of a batch that the log no longer has is missing", func(w *world) { remove(w.t, w.checkpoint, "offsets/3") }, IDs},
	{"the checkpoint has no metadata", func(w *world) { remove(w.t, w.checkpoint, "metadata") }, IDs},
	{"a log without its log checkpoint", func(w *world) {
		for _, key := range keys(w.t, w.table, w.format.dir()) {
			if strings.Contains(key, ".checkpoint.") {
				remove(w.t, w.table, key)
			}
		}
	}, Log},
}

// TestOneFaultIsOneViolation: what follows from a fault is not reported as if it were others, which would send the reader to the wrong place.
func TestOneFaultIsOneViolation(t *testing.T) {
	for _, c := range []struct {
		name   string
		damage func(*world)
		want   string
	}{
		{"a version in the middle is missing", func(w *world) { remove(w.t, w.table, w.version(3)) }, "log: _metadata/_00000000000000000003.json: the version is missing, but version 4 is there"},
		{"an entry is torn", func(w *world) { edit(w.t, w.checkpoint, "offsets/5", func(string) string { return "" }) }, `ids: offsets/5: it cannot be read: its first line is "", not v1 or v2`},
		{"the newest entry was edited", func(w *world) {
			edit(w.t, w.checkpoint, "offsets/5", func(s string) string { return s[:len(s)-2] + "31" })
		}, "digest: offsets/5: _metadata/_00000000000000000006.json holds batch 5 with another digest"},
		{"the query id is missing", func(w *world) { remove(w.t, w.checkpoint, "metadata") }, "ids: metadata: it is missing, but the checkpoint has batches"},
		{"there is no table", func(w *world) {
			for _, key := range keys(w.t, w.table, "") {
				remove(w.t, w.table, key)
			}
		}, "ids: commits/5: batch 5 is recorded, but there is no table"},
		{"the table is another query's", func(w *world) {
			other := newWorld(w.t, Parquet)
			other.run(10, 5)
			w.table, w.rejected = other.table, other.rejected
		}, "they do not belong together"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, Parquet)
			w.run(30, 5) // batches 0 to 5
			c.damage(w)
			r := w.check(Input{Table: w.table, Rejected: w.rejected, Checkpoint: w.checkpoint})
			if len(r.Violations) != 1 || !strings.Contains(r.Violations[0].String(), c.want) {
				t.Errorf("violations %v, want one: %s", r.Violations, c.want)
			}
		})
	}
}
