package checker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"microbatch/objstore/mem"
)

func TestWhatLiesBetweenTwoOffsets(t *testing.T) {
	kafka := func(conf string, ends ...string) *entry {
		e, err := parseEntry("v1\n{\"batchWatermarkMs\":0,\"batchTimestampMs\":1,\"conf\":{" + conf + "}}\n" + strings.Join(ends, "\n"))
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	for _, c := range []struct {
		name    string
		from    []string
		to      *entry
		origins map[int]origin
		records int64
		fault   string
	}{
		{"partitions go on", []string{`{"t":{"0":5,"1":7}}`}, kafka("", `{"t":{"0":8,"1":7}}`), nil, 3, ""},
		{"nothing new", []string{`{"t":{"0":5}}`}, kafka("", `{"t":{"0":5}}`), nil, 0, ""},
		{"a new partition whose start is told", []string{`{"t":{"0":5}}`}, kafka(`"microbatch.source.0.starts":"{\"t\":{\"1\":4}}"`, `{"t":{"0":5,"1":6}}`), nil, 2, ""},
		{"a new partition of Spark's", []string{`{"t":{"0":5}}`}, kafka("", `{"t":{"0":5,"1":6}}`), nil, -1, ""},
		{"the first batch", nil, kafka("", `{"t":{"0":5}}`), map[int]origin{0: {1, map[string]int64{"t/0": 2}}}, 3, ""},
		{"the first batch, from where nothing tells", nil, kafka("", `{"t":{"0":5}}`), nil, -1, ""},
		{"rows of a generator", nil, kafka("", `40`), map[int]origin{0: {1, map[string]int64{"": 0}}}, 40, ""},
		{"seconds of a generator", []string{"2"}, kafka("", `5`), map[int]origin{0: {10, nil}}, 30, ""},
		{"a number of nobody knows what", []string{"2"}, kafka("", `5`), nil, -1, ""},
		{"files", []string{`{"logOffset":2}`}, kafka("", `{"logOffset":3}`), nil, -1, ""},
		{"files go back", []string{`{"logOffset":2}`}, kafka("", `{"logOffset":1}`), nil, -1, "the end goes back from 2 to 1 at logOffset"},
		{"a partition goes back", []string{`{"t":{"0":5}}`}, kafka("", `{"t":{"0":4}}`), nil, -1, "the end goes back from 5 to 4 at t/0"},
		{"a partition vanishes", []string{`{"t":{"0":5,"1":1}}`}, kafka("", `{"t":{"0":6}}`), nil, 1, "partition t/1 has vanished"},
		{"a source vanishes", []string{"1", "1"}, kafka("", "2"), nil, -1, "it has 1 sources, the batch before had 2"},
		{"an offset vanishes", []string{"1"}, kafka("", "-"), nil, -1, "the source was read before and has no offset now"},
		{"an offset of another form", []string{"1"}, kafka("", `{"t":{"0":4}}`), nil, 0, "the end goes back"},
		{"an offset of another program", []string{`{"a":"b"}`}, kafka("", `{"a":"c"}`), nil, -1, ""},
		{"two sources", []string{"1", `{"t":{"0":5}}`}, kafka("", "1", `{"t":{"0":7}}`), nil, 2, ""},
	} {
		records, faults := span(c.from, c.to, c.origins)
		text := strings.Join(faults, "; ")
		if c.name == "an offset of another form" {
			if len(faults) == 0 {
				t.Errorf("%s: no fault", c.name)
			}
			continue
		}
		if records != c.records && c.fault == "" || text != c.fault {
			t.Errorf("%s: %d records, faults %q; want %d, %q", c.name, records, text, c.records, c.fault)
		}
	}
}

func TestEntriesOfOffsets(t *testing.T) {
	for _, c := range []struct {
		text string
		ends []string
		err  string
	}{
		{"v1\n\n-", []string{""}, ""},
		{"v1\n{}\n5\n{\"a\":{\"0\":1}}", []string{"5", `{"a":{"0":1}}`}, ""},
		{"v2\n{\"conf\":{\"microbatch.entry\":\"3.x\"}}\n0:5\nmine:-", []string{"5", ""}, ""},
		{"", nil, "its first line"},
		{"v3\n{}\n5", nil, "its first line"},
		{"v1\n{}", nil, "ends after line 2"},
		{"v1\n{\n5", nil, "line 2"},
		{"v1\n{}\n5x", nil, "line 3 is no offset"},
		{"v1\n{}\n", nil, "line 3 is no offset"},
	} {
		e, err := parseEntry(c.text)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%q: %v, want %s", c.text, err, c.err)
			}
			continue
		}
		if err != nil || !slices.Equal(e.ends, c.ends) {
			t.Errorf("%q: %v, %v", c.text, e, err)
		}
	}
}

func TestKeysOfPaths(t *testing.T) {
	for path, key := range map[string]string{
		"part-0.parquet": "part-0.parquet", "a%20b/_2=bar+%252521/p@%23h": "a b/_2=bar+%2521/p@#h", "p=a:b/x": "p=a:b/x",
		"/etc/passwd": "", "../x": "", "a/%2e%2e/x": "", "file:///etc/passwd": "", "s3://b/k": "", "a//b": "", "%zz": "", "": "",
	} {
		if got, err := keyOf(path); got != key || (err == nil) != (key != "") {
			t.Errorf("%q: %q, %v", path, got, err)
		}
	}
}

func TestIDsOfSeveralColumnsAndOfPartitions(t *testing.T) {
	w := newWorld(t, Delta)
	w.partitionBy = []string{"digit"}
	w.run(12, 20)
	in := w.input()
	in.IDs, in.Orphan = []string{"digit", "n"}, nil
	in.Model = func(from, to []string) (Expect, error) {
		e, err := model(from, to)
		for i, id := range e.Out {
			e.Out[i] = id[len(id)-1:] + "/" + id
		}
		return e, err
	}
	if err := w.check(in).Err(); err != nil {
		t.Error(err)
	}
	in.IDs = []string{"nothing"}
	if r := w.check(in); !reported(r.Violations, corruption{rule: Files}) {
		t.Errorf("a column that is not there: %v", r.Violations)
	}
}

func TestABatchThatSparkCommitted(t *testing.T) {
	w := corruptible(t, Delta)
	w.match(w.table, w.version(7), `\{"txn":\{"appId":"([0-9a-f-]+#|microbatch/).*\n`, "")
	w.match(w.table, w.version(7), `,"microbatch":\{.*\}\}\}`, "}}")
	w.match(w.checkpoint, "offsets/5", `"microbatch[^,}]*,?`, "")
	in := w.input()
	in.Rejected = nil // ours only
	r := w.check(in)
	if err := r.Err(); err != nil {
		t.Error(err)
	}
	if b := r.Batches[5]; b.Digest != "none" || b.Version != 7 || b.Rows != 8 || r.Counts[Loss] == 0 {
		t.Errorf("%+v", b)
	}
	// Its rows are held against the model by the checkpoint's own offsets.
	w.match(w.checkpoint, "offsets/5", "60$", "61")
	if r := w.check(in); !reported(r.Violations, corruption{rule: Loss, where: "7.json"}) {
		t.Errorf("a row that Spark left out: %v", r.Violations)
	}
}

func TestRowsOfAnotherWriterAreFollowed(t *testing.T) {
	w := corruptible(t, Parquet)
	foreign := func(v int64, name string, ns ...int64) {
		size := put(t, w.table, name, rowsOf(ns...))
		w.commit(v, fmt.Sprintf(`{"commitInfo":{"operation":"WRITE"}}
{"add":{"path":"%s","partitionValues":{},"size":%d,"modificationTime":1,"dataChange":true,"stats":"{\"numRecords\":%d}"}}
`, name, size, len(ns)))
	}
	foreign(8, "x.parquet", 1000, 1001)
	in := w.input()
	seen := 0
	in.Foreign = func(v *Version) bool { seen++; return v.Operation == "WRITE" }
	watch := Watch(in)
	look(t, watch)
	w.optimize()
	w.run(80, 10)
	finish(t, watch)
	if seen != 1 {
		t.Errorf("asked about %d versions", seen)
	}
	w.refill(9, func(ns []int64) []int64 { return slices.DeleteFunc(ns, func(n int64) bool { return n == 1000 }) })
	if r := w.check(in); !reported(r.Violations, corruption{rule: Rewrite, where: "9.json"}) {
		t.Errorf("optimize loses a row of the other writer: %v", r.Violations)
	}
}

func TestFilesThatVacuumTookAreJudgedByTheWhole(t *testing.T) {
	w := corruptible(t, Parquet)
	for _, key := range data(t, w.table) {
		if strings.Contains(key, "part-") && strings.Contains("0123", strings.Split(key, "-")[3]) {
			remove(t, w.table, key) // replaced by optimize
		}
	}
	r := w.check(w.input())
	if err := r.Err(); err != nil {
		t.Error(err)
	}
	w.refill(optimized, func(ns []int64) []int64 { return ns[1:] })
	if r = w.check(w.input()); !reported(r.Violations, corruption{rule: Loss}) {
		t.Errorf("optimize lost a row, and vacuum the witnesses: %v", r.Violations)
	}
}

func TestANewQueryOnATableOfAnOlderOneIsSaid(t *testing.T) {
	w := newWorld(t, Parquet)
	w.run(10, 10)
	text, err := w.table.Get(t.Context(), w.version(1))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), `"appId":"microbatch/`)
	name, _, _ := strings.Cut(rest, "/")
	w.commit(2, fmt.Sprintf(`{"txn":{"appId":"microbatch/%s/11111111-1111-1111-1111-111111111111","version":1}}`+"\n", name))
	r := w.check(w.input())
	if len(r.Notices) != 1 || !strings.Contains(r.Notices[0], "11111111-1111") {
		t.Errorf("%v", r.Notices)
	}
}

func TestErrorsOfTheStoreAreErrorsNotViolations(t *testing.T) {
	w := corruptible(t, Parquet)
	for op := range 60 {
		in := w.input()
		in.Table = &failing{Store: w.table, left: op}
		r, err := Check(t.Context(), in)
		if err == nil && r.Err() != nil {
			t.Fatalf("operation %d fails: %v", op, r.Err())
		}
		if err == nil {
			return
		}
	}
	t.Error("no run without an error")
}

// failing lets one Get or Open fail.
type failing struct {
	*mem.Store
	left int
}

func (f *failing) Get(ctx context.Context, key string) ([]byte, error) {
	if f.left--; f.left == -1 {
		return nil, fmt.Errorf("get %s: 503", key)
	}
	return f.Store.Get(ctx, key)
}

func TestTheReportIsForProgramsToo(t *testing.T) {
	w := newWorld(t, Parquet)
	w.run(10, 10)
	r := w.check(w.input())
	want := []Batch{{ID: 0, Version: 1, Epoch: 1, Digest: "ok", Recorded: true, Rows: 8, Rejected: 1, Input: -1}}
	if diff := cmp.Diff(want, r.Batches); diff != "" {
		t.Error(diff)
	}
	if rules := slices.Sorted(maps.Keys(r.Counts)); len(rules) < 10 {
		t.Errorf("only %v", rules)
	}
}

// FuzzParse: no entry of a table log or of a checkpoint, whatever it holds, makes the checker panic.
func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"commitInfo":{"microbatch":{"batch":1}}}` + "\n" + `{"add":{"path":"a","size":1,"stats":"{}","deletionVector":{}}}` + "\n"))
	f.Add([]byte("v1\n{\"conf\":{}}\n{\"t\":{\"0\":1}}"))
	f.Add([]byte("v2\n{}\n0:1\n1:-"))
	f.Add([]byte(`{"checkpointMetadata":{"tags":{"microbatch.lines":"1"}}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if v, _, err := parseCommit(1, data); err == nil {
			newState().apply(v)
			l := &ledger{log: newTableLog(nil, Delta, ""), facts: map[int64]*fact{}}
			l.adopt(v)
			l.judge(v, nil, true, Watch(Input{}).report)
			l.note(v)
		}
		if e, err := parseEntry(string(data)); err == nil {
			span(nil, e, nil)
			span(e.ends, e, map[int]origin{0: {1, nil}})
		}
		_, _ = commitEpoch(string(data))
		_, _ = readJSONSummary(strings.NewReader(string(data)), newState())
	})
}
