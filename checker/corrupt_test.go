package checker

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"

	"microbatch/objstore"
)

// row is a row of the table as its files hold it.
type row struct {
	N     *int64 `parquet:"n,optional"`
	Digit *int64 `parquet:"digit,optional"`
}

func rowsOf(ns ...int64) (rows []row) {
	for _, n := range ns {
		rows = append(rows, row{&n, new(n % 10)})
	}
	return rows
}

// put writes a data file.
func put(t *testing.T, s objstore.Store, key string, rows []row) (size int) {
	t.Helper()
	var b bytes.Buffer
	w := parquet.NewGenericWriter[row](&b)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), key, b.Bytes()); err != nil {
		t.Fatal(err)
	}
	return b.Len()
}

// version is the key of a version.
func (w *world) version(v int64) string { return w.format.commitKey(v) }

// refill puts other rows into the one data file that a version adds, and mends the log so that size and counts agree.
func (w *world) refill(v int64, change func(ns []int64) []int64) {
	w.t.Helper()
	text, err := w.table.Get(w.t.Context(), w.version(v))
	if err != nil {
		w.t.Fatal(err)
	}
	parsed, _, err := parseCommit(v, text)
	if err != nil || len(parsed.Adds) != 1 {
		w.t.Fatal(err, len(parsed.Adds))
	}
	ids, err := readIDs(w.t.Context(), w.table, &parsed.Adds[0], []string{"n"})
	if err != nil {
		w.t.Fatal(err)
	}
	var ns []int64
	for _, id := range ids {
		var n int64
		fmt.Sscan(id, &n)
		ns = append(ns, n)
	}
	ns = change(ns)
	size := put(w.t, w.table, parsed.Adds[0].Key, rowsOf(ns...))
	edit(w.t, w.table, w.version(v), func(text string) string {
		text = regexp.MustCompile(`"size":\d+,"modificationTime"`).ReplaceAllString(text, fmt.Sprintf(`"size":%d,"modificationTime"`, size))
		text = regexp.MustCompile(`numRecords\\":\d+`).ReplaceAllString(text, fmt.Sprintf(`numRecords\":%d`, len(ns)))
		return regexp.MustCompile(`"numOutputRows":"\d+"`).ReplaceAllString(text, fmt.Sprintf(`"numOutputRows":"%d"`, len(ns)))
	})
}

// replace replaces a text in an object.
func (w *world) replace(s objstore.Store, key, old, by string) {
	w.t.Helper()
	edit(w.t, s, key, func(text string) string { return strings.Replace(text, old, by, 1) })
}

// match changes all that a pattern matches in an object.
func (w *world) match(s objstore.Store, key, pattern, by string) {
	w.t.Helper()
	edit(w.t, s, key, func(text string) string { return regexp.MustCompile(pattern).ReplaceAllString(text, by) })
}

// turn changes the last digit of what a pattern matches in an object: to a fixed one would be no change at times, because digests differ from run to run.
func (w *world) turn(s objstore.Store, key, pattern string) {
	w.t.Helper()
	edit(w.t, s, key, func(text string) string {
		return regexp.MustCompile(pattern).ReplaceAllStringFunc(text, func(found string) string {
			last := len(found) - 1
			if found[last] == '0' {
				return found[:last] + "1"
			}
			return found[:last] + "0"
		})
	})
}

// lines are the lines of a version that begin with an action.
func (w *world) lines(v int64, action string) string {
	w.t.Helper()
	text, err := w.table.Get(w.t.Context(), w.version(v))
	if err != nil {
		w.t.Fatal(err)
	}
	out := ""
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, `{"`+action) {
			out += line
		}
	}
	return out
}

// commit puts a version by hand.
func (w *world) commit(v int64, lines string) {
	w.t.Helper()
	if err := w.table.PutIfAbsent(w.t.Context(), w.version(v), []byte(lines)); err != nil {
		w.t.Fatal(err)
	}
}

// The corrupted query has batches 0 to 3 in versions 1 to 4, optimize in 5, batches 4 and 5 in 6 and 7. Versions 1 to 4 are summed up by a log checkpoint at 4.
const (
	optimized = 5
	newest    = 7
)

func corruptible(t *testing.T, format Format) *world {
	w := newWorld(t, format)
	w.run(40, 10)
	w.sum()
	w.optimize()
	w.run(60, 10)
	return w
}

// corruption is one fault, and the rule that has to name it.
type corruption struct {
	name  string
	rule  Rule
	where string // part of the violation's place
	do    func(t *testing.T, w *world)
}

func corruptions() []corruption {
	return slices.Concat(logCorruptions(), fileCorruptions(), numberCorruptions(), checkpointCorruptions(), rowCorruptions())
}

func logCorruptions() []corruption {
	return []corruption{
		{"a version is missing", Log, "6.json", func(t *testing.T, w *world) { remove(t, w.table, w.version(6)) }},
		{"a version is cut off", Log, "6.json", func(t *testing.T, w *world) {
			edit(t, w.table, w.version(6), func(text string) string { return text[:len(text)/2] })
		}},
		{"a version is empty", Log, "6.json", func(t *testing.T, w *world) { edit(t, w.table, w.version(6), func(string) string { return "" }) }},
		{"an entry adds a path twice", Log, "7.json", func(t *testing.T, w *world) {
			add := w.lines(7, "add")
			edit(t, w.table, w.version(7), func(text string) string { return text + add })
		}},
		{"an entry holds two txns of a query", Log, "7.json", func(t *testing.T, w *world) {
			txns := w.lines(7, "txn")
			edit(t, w.table, w.version(7), func(text string) string { return text + txns })
		}},
		{"another table stands in the log", Log, "8.json", func(t *testing.T, w *world) {
			w.commit(8, strings.Replace(w.lines(0, "metaData"), `"id":"`, `"id":"0`, 1))
		}},
		{"a log checkpoint lacks a file", Summary, ".checkpoint.", func(t *testing.T, w *world) {
			w.summary(4, func(s string) string {
				at := strings.LastIndex(strings.TrimSuffix(s, "\n"), "\n")
				return regexp.MustCompile(`"microbatch.lines":"(\d+)"`).ReplaceAllStringFunc(s[:at+1], func(m string) string {
					return fmt.Sprintf(`"microbatch.lines":"%d"`, strings.Count(s, "\n")-1)
				})
			})
		}},
		{"a log checkpoint has another txn", Summary, ".checkpoint.", func(t *testing.T, w *world) {
			w.summary(4, func(s string) string {
				return regexp.MustCompile(`("appId":"[0-9a-f-]+","version":)3`).ReplaceAllString(s, "${1}2")
			})
		}},
		{"a log checkpoint names another file", Summary, ".checkpoint.", func(t *testing.T, w *world) {
			w.summary(4, func(s string) string { return strings.Replace(s, "part-00000-", "part-00001-", 1) })
		}},
		{"a log checkpoint is cut off", Summary, ".checkpoint.", func(t *testing.T, w *world) {
			w.summary(4, func(s string) string { return s[:strings.LastIndex(strings.TrimSuffix(s, "\n"), "\n")+1] })
		}},
	}
}

// summary changes the log checkpoint of a version.
func (w *world) summary(v int64, change func(string) string) {
	w.t.Helper()
	edit(w.t, w.table, strings.TrimSuffix(w.version(v), ".json")+".checkpoint.json", change)
}

func fileCorruptions() []corruption {
	live := func(t *testing.T, w *world, v int64) string {
		t.Helper()
		text, err := w.table.Get(t.Context(), w.version(v))
		if err != nil {
			t.Fatal(err)
		}
		parsed, _, err := parseCommit(v, text)
		if err != nil {
			t.Fatal(err)
		}
		return parsed.Adds[0].Key
	}
	return []corruption{
		{"a live file is deleted", Files, ".parquet", func(t *testing.T, w *world) { remove(t, w.table, live(t, w, newest)) }},
		{"a live file of optimize is deleted", Files, "opt-", func(t *testing.T, w *world) { remove(t, w.table, live(t, w, optimized)) }},
		{"a live file is longer than the log says", Files, ".parquet", func(t *testing.T, w *world) {
			edit(t, w.table, live(t, w, newest), func(s string) string { return s[:4] + "\x00" + s[4:] })
		}},
		{"a live file is not Parquet", Files, ".parquet", func(t *testing.T, w *world) {
			edit(t, w.table, live(t, w, newest), func(s string) string { return strings.Repeat("x", len(s)) })
		}},
		{"a page of a live file is overwritten", Files, ".parquet", func(t *testing.T, w *world) {
			edit(t, w.table, live(t, w, newest), func(s string) string { return s[:4] + strings.Repeat("\xff", 40) + s[44:] })
		}},
		{"a live path is added again", Files, "8.json", func(t *testing.T, w *world) { w.commit(8, w.lines(7, "add")) }},
		{"a file is removed that is not live", Files, "8.json", func(t *testing.T, w *world) { w.commit(8, w.lines(optimized, "remove")) }},
		{"a path leaves the table", Files, "8.json", func(t *testing.T, w *world) {
			w.commit(8, regexp.MustCompile(`"path":"`).ReplaceAllString(w.lines(7, "add"), `"path":"../`))
		}},
		{"a file is left by an unknown attempt", Orphan, "part-00000-0123456789abcdef-3-aa.", func(t *testing.T, w *world) {
			put(t, w.table, "part-00000-0123456789abcdef-3-aa.snappy.parquet", rowsOf(1))
		}},
		{"a footer says that it begins before the file", Files, ".parquet", func(t *testing.T, w *world) {
			edit(t, w.table, data(t, w.table)[0], func(s string) string { return s[:len(s)-5] + "\x01" + s[len(s)-4:] })
		}},
		{"the statistics count another number of rows", Count, ".parquet", func(t *testing.T, w *world) { w.match(w.table, w.version(7), `numRecords\\":\d+`, `numRecords\":5`) }},
		{"commitInfo counts another number of rows", Count, "7.json", func(t *testing.T, w *world) {
			w.match(w.table, w.version(7), `"numOutputRows":"\d+"`, `"numOutputRows":"5"`)
		}},
	}
}

func numberCorruptions() []corruption {
	const query = `("txn":\{"appId":"[0-9a-f-]{36}","version":)`
	return []corruption{
		{"a batch is committed twice", Txn, "8.json", func(t *testing.T, w *world) { w.commit(8, w.lines(7, "commitInfo")+w.lines(7, "txn")) }},
		{"a batch is left out", Txn, "7.json", func(t *testing.T, w *world) { w.match(w.table, w.version(7), query+`5`, "${1}6") }},
		{"the first batch is not 0", Txn, "1.json", func(t *testing.T, w *world) { w.match(w.table, w.version(1), query+`0`, "${1}1") }},
		{"the epoch falls", Epoch, "7.json", func(t *testing.T, w *world) {
			w.match(w.table, w.version(7), `((?:#epoch|microbatch/[0-9a-f]+/[0-9a-f-]+)","version":|"epoch":)2`, "${1}1")
		}},
		{"commitInfo tells another epoch", Epoch, "7.json", func(t *testing.T, w *world) { w.replace(w.table, w.version(7), `"epoch":2`, `"epoch":3`) }},
		{"a run commits that has not claimed the epoch", Epoch, "7.json", func(t *testing.T, w *world) { w.match(w.table, w.version(7), `"entry":"2\.`, `"entry":"2.f`) }},
		{"the table's epoch was not claimed", Epoch, "_engine/epoch/2", func(t *testing.T, w *world) { remove(t, w.checkpoint, "_engine/epoch/2") }},
		{"the claim of an epoch is damaged", Epoch, "_engine/epoch/2", func(t *testing.T, w *world) { w.replace(w.checkpoint, "_engine/epoch/2", `"entry":"2`, `"entry":"1`) }},
		{"an entry is newer than the epoch that commits it", Epoch, "7.json", func(t *testing.T, w *world) {
			w.replace(w.checkpoint, "offsets/5", `"microbatch.entry":"2.`, `"microbatch.entry":"3.`)
		}},
		{"a batch is recorded by an older epoch", Epoch, "commits/5", func(t *testing.T, w *world) {
			w.replace(w.checkpoint, "commits/5", `"microbatchEntry":"2.`, `"microbatchEntry":"1.`)
		}},
		{"the digest in commitInfo is changed", Digest, "7.json", func(t *testing.T, w *world) { w.turn(w.table, w.version(7), `"digest":"...`) }},
		{"the digest among the txns is changed", Digest, "7.json", func(t *testing.T, w *world) { w.turn(w.table, w.version(7), `#offsets","version":\d\d\d`) }},
		{"the text in commitInfo is changed", Digest, "7.json", func(t *testing.T, w *world) { w.replace(w.table, w.version(7), `\n60"`, `\n61"`) }},
		{"the txn of the digest is missing", Digest, "7.json", func(t *testing.T, w *world) {
			w.match(w.table, w.version(7), `\{"txn":\{"appId":"[0-9a-f-]+#offsets.*\n`, "")
		}},
		{"commitInfo tells nothing of the batch", Digest, "7.json", func(t *testing.T, w *world) { w.match(w.table, w.version(7), `"microbatch":`, `"other":`) }},
	}
}

func checkpointCorruptions() []corruption {
	return []corruption{
		{"offsets of a committed batch are changed", Digest, "offsets/4", func(t *testing.T, w *world) { w.match(w.checkpoint, "offsets/4", `50$`, `49`) }},
		{"a committed batch ends before it begins", Ranges, "offsets/4", func(t *testing.T, w *world) { w.match(w.checkpoint, "offsets/4", `50$`, `30`) }},
		{"an entry of offsets is missing", IDs, "offsets/3", func(t *testing.T, w *world) { remove(t, w.checkpoint, "offsets/3") }},
		{"an entry of offsets is torn", IDs, "offsets/3", func(t *testing.T, w *world) {
			edit(t, w.checkpoint, "offsets/3", func(s string) string { return s[:20] })
		}},
		{"an entry of commits is torn", IDs, "commits/3", func(t *testing.T, w *world) {
			edit(t, w.checkpoint, "commits/3", func(s string) string { return s[:1] })
		}},
		{"a batch in the middle is not recorded", IDs, "commits/3", func(t *testing.T, w *world) { remove(t, w.checkpoint, "commits/3") }},
		{"the newest batch was never begun", IDs, "offsets/5", func(t *testing.T, w *world) {
			remove(t, w.checkpoint, "offsets/5")
			remove(t, w.checkpoint, "commits/5")
		}},
		{"the checkpoint is empty", IDs, "offsets/5", func(t *testing.T, w *world) {
			for _, key := range keys(t, w.checkpoint, "") {
				remove(t, w.checkpoint, key)
			}
		}},
		{"a recorded batch is not in the table", IDs, "commits/5", func(t *testing.T, w *world) { remove(t, w.table, w.version(7)) }},
		{"there is no table", IDs, "commits/5", func(t *testing.T, w *world) {
			for _, key := range keys(t, w.table, "") {
				remove(t, w.table, key)
			}
		}},
		{"the query id is damaged", IDs, "metadata", func(t *testing.T, w *world) { edit(t, w.checkpoint, "metadata", func(string) string { return "{}" }) }},
	}
}

func rowCorruptions() []corruption {
	rejected := func(w *world) string {
		all := data(w.t, w.rejected)
		return all[len(all)-1]
	}
	return []corruption{
		{"a row is lost", Loss, "7.json", func(t *testing.T, w *world) { w.refill(7, func(ns []int64) []int64 { return ns[1:] }) }},
		{"a row comes twice", Duplicate, "7.json", func(t *testing.T, w *world) { w.refill(7, func(ns []int64) []int64 { return append(ns, ns[0]) }) }},
		{"a row of an earlier batch comes again", Duplicate, "7.json", func(t *testing.T, w *world) { w.refill(7, func(ns []int64) []int64 { return append(ns, 1) }) }},
		{"a row comes that was filtered", Phantom, "7.json", func(t *testing.T, w *world) { w.refill(7, func(ns []int64) []int64 { return append(ns, 57) }) }},
		{"a row comes from nowhere", Phantom, "7.json", func(t *testing.T, w *world) { w.refill(7, func(ns []int64) []int64 { return append(ns[1:], 1000) }) }},
		{"the rows of a batch do not add up", Count, "7.json", func(t *testing.T, w *world) { w.refill(7, func(ns []int64) []int64 { return ns[2:] }) }},
		{"a foreign writer adds rows", Phantom, "8.json", func(t *testing.T, w *world) {
			size := put(t, w.table, "foreign.parquet", rowsOf(1))
			w.commit(8, fmt.Sprintf(`{"add":{"path":"foreign.parquet","partitionValues":{},"size":%d,"modificationTime":1,"dataChange":true}}`+"\n", size))
		}},
		{"optimize loses a row", Rewrite, "5.json", func(t *testing.T, w *world) { w.refill(optimized, func(ns []int64) []int64 { return ns[1:] }) }},
		{"optimize doubles a row", Rewrite, "5.json", func(t *testing.T, w *world) {
			w.refill(optimized, func(ns []int64) []int64 { return append(ns, ns[0]) })
		}},
		{"rejected rows are lost", Files, "rejected table: ", func(t *testing.T, w *world) { remove(t, w.rejected, rejected(w)) }},
		{"the rejected rows of a batch were never committed", Rejected, "batch 5", func(t *testing.T, w *world) { remove(t, w.rejected, w.version(6)) }},
		{"a rejected row is another", Rejected, "batch 5", func(t *testing.T, w *world) { w.swapRejected(5, 4) }},
		{"rejected rows have another digest", Digest, "rejected table: ", func(t *testing.T, w *world) {
			w.turn(w.rejected, w.version(6), `#offsets","version":\d\d\d`)
		}},
		{"rows are rejected of a batch that is not fixed", Rejected, "7.json", func(t *testing.T, w *world) {
			text, err := w.rejected.Get(t.Context(), w.version(6))
			if err != nil {
				t.Fatal(err)
			}
			next := regexp.MustCompile(`\{"add".*\n`).ReplaceAllString(string(text), "")
			next = regexp.MustCompile(`(/rejected","version":)5`).ReplaceAllString(next, "${1}9")
			if err := w.rejected.Put(t.Context(), w.version(7), []byte(next)); err != nil {
				t.Fatal(err)
			}
		}},
	}
}

// swapRejected lets a version of the rejected table name the data file of another batch.
func (w *world) swapRejected(batch, by int64) {
	w.t.Helper()
	add := regexp.MustCompile(`\{"add".*\n`)
	text, err := w.rejected.Get(w.t.Context(), w.version(by+1))
	if err != nil {
		w.t.Fatal(err)
	}
	other := add.FindString(string(text))
	edit(w.t, w.rejected, w.version(batch+1), func(text string) string { return add.ReplaceAllString(text, strings.ReplaceAll(other, "$", "$$")) })
}

func TestEverySeededCorruptionIsReported(t *testing.T) {
	for _, format := range []Format{Parquet, Delta} {
		sound := corruptible(t, format)
		if err := sound.check(sound.input()).Err(); err != nil {
			t.Fatalf("before anything is corrupted: %v", err)
		}
		for _, c := range corruptions() {
			if c.rule == Summary && format == Delta {
				continue // Parquet, not lines
			}
			t.Run(string(format)+" "+c.name, func(t *testing.T) {
				w := sound.clone(t)
				c.do(t, w)
				r := w.check(w.input())
				if !reported(r.Violations, c) {
					t.Errorf("no violation of rule %s at %s, but %v", c.rule, c.where, r.Violations)
				}
			})
		}
	}
}

func reported(all []Violation, c corruption) bool {
	return slices.ContainsFunc(all, func(v Violation) bool { return v.Rule == c.rule && strings.Contains(v.Where, c.where) })
}

func TestEveryRuleHasACorruption(t *testing.T) {
	for _, rule := range Rules() {
		if !slices.ContainsFunc(corruptions(), func(c corruption) bool { return c.rule == rule }) {
			t.Errorf("nothing is corrupted that rule %s should report", rule)
		}
	}
}
