//go:build services

package e2e

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

//go:embed testdata/interop_writers.py
var writersScript string

// shared is a delta table that the program and others write to, and what should be in it.
type shared struct {
	t       *testing.T
	dir     string
	rows    map[int]row
	columns []string
	next    int
}

// row is a row's id, day, value, amount and, where the table has them, further columns as text.
type row []*string

func newShared(t *testing.T) *shared {
	return &shared{t: t, dir: t.TempDir(), rows: map[int]row{}, columns: []string{"id", "day", "v", "amount"}}
}

func (s *shared) table() string { return filepath.Join(s.dir, "table") }

// fresh are n new rows, [id, day, v, amount] as the writers take them.
func (s *shared) fresh(n int, who string) (rows [][]any) {
	for range n {
		values := []string{fmt.Sprint(s.next), "a b/" + fmt.Sprint(s.next%3), who, fmt.Sprintf("%d.50", s.next)}
		r := row{}
		for i := range values {
			r = append(r, &values[i])
		}
		s.rows[s.next] = r
		rows = append(rows, []any{s.next, values[1], values[2], values[3]})
		s.next++
	}
	return rows
}

// file drops a file of ten rows, with further fields if there are any, and renames it into place.
func (s *shared) file(more ...string) {
	s.t.Helper()
	var text strings.Builder
	for _, r := range s.fresh(10, "microbatch") {
		extra := ""
		for _, field := range more {
			extra += fmt.Sprintf(`, %q: "new"`, field)
		}
		fmt.Fprintf(&text, `{"id": %d, "day": %q, "v": %q, "amount": %s%s}`+"\n", r[0], r[1], r[2], r[3], extra)
	}
	name := fmt.Sprintf("in/%06d.ndjson", s.next)
	from := write(s.t, s.dir, name+".tmp", text.String())
	if err := os.Rename(from, filepath.Join(s.dir, name)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *shared) pipeline(schema, evolution string) string {
	s.t.Helper()
	return write(s.t, s.dir, "microbatch.yaml", `
name: shared
source:
  files: {path: in}
  format: json
  schema: `+schema+`
sink:
  table: {path: table, format: delta, partition_by: [day], schema_evolution: `+evolution+`}
trigger: {every: 0s, max_files: 1}
`)
}

func (s *shared) python(what string, args ...any) string {
	s.t.Helper()
	return python(s.t, writersScript, append([]any{what, s.table()}, args...)...)
}

// check has the table read by Spark, deltalake and DuckDB, and looks at its log: a file for every version from the first on.
func (s *shared) check(when string) {
	s.t.Helper()
	s.checkRows(when, s.table())
	logs := s.log(".json")
	first, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(logs[0]), ".json"))
	if err != nil {
		s.t.Fatal(err)
	}
	for i, path := range logs {
		if filepath.Base(path) != fmt.Sprintf("%020d.json", first+i) {
			s.t.Fatalf("%s: version %d is missing: %s", when, first+i, path)
		}
	}
}

// log are the files of the log that end so, in order.
func (s *shared) log(end string) []string {
	s.t.Helper()
	paths, err := filepath.Glob(filepath.Join(s.table(), "_delta_log", "*[0-9]"+end))
	if err != nil {
		s.t.Fatal(err)
	}
	return slices.Sorted(slices.Values(paths))
}

// checkRows compares what readers find in the table, or a copy of it, with what should be there.
func (s *shared) checkRows(when, table string) {
	s.t.Helper()
	var want []row
	for id := range s.next {
		if r, ok := s.rows[id]; ok {
			for len(r) < len(s.columns) {
				r = append(r, nil)
			}
			want = append(want, r)
		}
	}
	out := python(s.t, writersScript, "rows", table, s.columns)
	var got []row
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		s.t.Fatalf("%s: %v: %.2000s", when, err, out)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		s.t.Fatalf("%s: rows (-want +got):\n%s", when, diff)
	}
}

const sharedDDL = "id BIGINT, day STRING, v STRING, amount DECIMAL(9,2)"

// TestInteropOthersWriteWhileTheQueryWaits lets Spark and deltalake append to the table of a running query, delete from it, rewrite its files and add a column to it,
// always between two batches; the query goes on with the next batch on top.
func TestInteropOthersWriteWhileTheQueryWaits(t *testing.T) {
	s := newShared(t)
	s.file()
	query := start(t, nil, s.pipeline(sharedDDL, "strict"))
	batch := func(what string) {
		t.Helper()
		if !query.batch(2 * time.Minute) {
			t.Fatalf("%s: the query has ended:\n%s", what, query.stderr.String())
		}
		s.check("a batch after " + what)
	}
	batch("nothing")

	s.python("spark_append", s.fresh(5, "spark"))
	s.file()
	batch("an append by Spark")

	s.python("deltalake_append", s.fresh(5, "deltalake"))
	s.file()
	batch("an append by deltalake")

	s.python("deltalake_append", s.fresh(5, "deltalake, taken back"))
	s.python("restore", 1)
	for id := s.next - 5; id < s.next; id++ {
		delete(s.rows, id)
	}
	s.file()
	batch("a RESTORE by Spark")

	s.python("sql", "DELETE FROM THIS WHERE id < 5 OR id = 12")
	for _, id := range []int{0, 1, 2, 3, 4, 12} {
		delete(s.rows, id)
	}
	s.python("sql", "OPTIMIZE THIS", "UPDATE THIS SET v = 'changed' WHERE id = 20")
	changed := "changed"
	s.rows[20][2] = &changed
	s.file()
	batch("DELETE, OPTIMIZE and UPDATE by Spark")

	s.python("vacuum") // the checkpoint lies in the table's folder
	s.file()
	batch("VACUUM by Spark and by deltalake")

	s.python("sql", "ALTER TABLE THIS SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')", "DELETE FROM THIS WHERE id = 33")
	delete(s.rows, 33)
	s.file()
	batch("a DELETE with deletion vectors")

	s.python("sql", "ALTER TABLE THIS ADD COLUMNS (note STRING)")
	s.columns = append(s.columns, "note")
	s.file()
	batch("a column added by Spark, which our rows do not have")
	if err := query.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	query.wait(time.Minute)

	// A start with the column that Spark added, and one that is new to the table.
	s.file("note", "more")
	for id := s.next - 10; id < s.next; id++ {
		text := "new"
		s.rows[id] = append(s.rows[id], &text, &text)
	}
	start(t, nil, s.pipeline(sharedDDL+", note STRING, more STRING", "add_columns"), "--once").wait(time.Minute)
	s.columns = append(s.columns, "more")
	s.check("columns added by us")

	// What we cannot keep stops the query, by name.
	for feature, statement := range map[string]string{
		"checkConstraints": "ALTER TABLE THIS ADD CONSTRAINT positive CHECK (id >= 0)",
		"columnMapping":    "ALTER TABLE THIS SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
	} {
		copied := filepath.Join(t.TempDir(), "table")
		if err := os.CopyFS(copied, os.DirFS(s.table())); err != nil {
			t.Fatal(err)
		}
		python(t, writersScript, "sql", copied, statement)
		write(t, filepath.Dir(copied), "in/more.ndjson", `{"id": 1}`)
		file := write(t, filepath.Dir(copied), "microbatch.yaml", `
name: other
source: {files: {path: in}, format: json, schema: id BIGINT}
sink: {table: {path: table, format: delta}}
checkpoint: checkpoint
`)
		stopped := start(t, nil, file, "--once")
		if code, said := stopped.exit(), stopped.stderr.String(); code != 2 || !strings.Contains(said, feature) {
			t.Errorf("a table with %s: exit %d, want 2 and its name:\n%s", feature, code, said)
		}
	}
}

// TestInteropDeltalakeAppendsAtTheSameTime has both writers race for every version: deltalake takes a version by a conditional put too, so no commit of either is lost.
func TestInteropDeltalakeAppendsAtTheSameTime(t *testing.T) {
	s := newShared(t)
	s.file()
	file := s.pipeline(sharedDDL, "strict")
	start(t, nil, file, "--once").wait(time.Minute)
	for range 300 {
		s.file()
	}
	var appends [][][]any
	for range 30 {
		appends = append(appends, s.fresh(3, "deltalake"))
	}
	s.python("version") // the process is there
	query := start(t, nil, file, "--once")
	if !query.batch(time.Minute) {
		t.Fatal("the query has ended")
	}
	s.python("deltalake_appends", appends)
	query.wait(2 * time.Minute)
	turns, writer := 0, ""
	for _, path := range s.log(".json") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		who := "deltalake"
		if strings.Contains(string(text), `"engineInfo":"microbatch"`) {
			who = "microbatch"
		}
		if who != writer {
			turns, writer = turns+1, who
		}
	}
	if turns < 4 {
		t.Errorf("the writers took turns %d times: they did not write at the same time", turns)
	}
	t.Logf("the writers took turns %d times", turns)
	s.check("writing at the same time")
}

// TestInteropCheckpointsOfOursAreReadByOthers runs more than a hundred batches, lets the log grow old, and has it cleaned by the query: then Spark, deltalake and DuckDB
// read the table from our checkpoint alone, with a hint to it and without, and Spark goes on from there.
func TestInteropCheckpointsOfOursAreReadByOthers(t *testing.T) {
	s := newShared(t)
	for range 105 {
		s.file()
	}
	file := s.pipeline(sharedDDL, "strict")
	start(t, nil, file, "--once").wait(5 * time.Minute)
	s.python("sql", "DELETE FROM THIS WHERE id % 100 = 7", "ALTER TABLE THIS SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')", "DELETE FROM THIS WHERE id % 100 = 8")
	for id := range s.rows {
		if id%100 == 7 || id%100 == 8 {
			delete(s.rows, id)
		}
	}
	s.check("a hundred batches and a DELETE")

	old := time.Now().AddDate(0, 0, -60)
	for _, path := range append(s.log(".json"), s.log(".checkpoint.parquet")...) {
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	write(t, s.table(), "_delta_log/_maintained", `{"optimized":"2020-01-01T00:00:00Z","cleaned":"2020-01-01T00:00:00Z"}`)
	for range 25 {
		s.file()
	}
	start(t, nil, file, "--once").wait(5 * time.Minute)
	s.check("a cleaned log")
	commits, checkpoints := s.log(".json"), s.log(".checkpoint.parquet")
	if first := filepath.Base(commits[0]); first == fmt.Sprintf("%020d.json", 0) {
		t.Errorf("the log was not cleaned: %s is there still", first)
	}
	if len(checkpoints) == 0 {
		t.Fatal("no checkpoint")
	}

	version := strings.TrimSuffix(checkpoints[len(checkpoints)-1], ".checkpoint.parquet")
	for _, hint := range []bool{true, false} {
		copied := filepath.Join(s.dir, fmt.Sprintf("copy %t", hint))
		if err := os.CopyFS(copied, os.DirFS(s.table())); err != nil {
			t.Fatal(err)
		}
		gone := []string{filepath.Join(copied, "_delta_log", "_last_checkpoint")}
		if hint {
			gone = nil
		}
		for _, path := range commits {
			if path <= version+".json" {
				gone = append(gone, filepath.Join(copied, "_delta_log", filepath.Base(path)))
			}
		}
		for _, path := range gone {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		s.checkRows(fmt.Sprintf("from the checkpoint, with a hint: %t", hint), copied)
	}
	s.python("sql", "UPDATE THIS SET v = 'changed' WHERE id = 1200")
	changed := "changed"
	s.rows[1200][2] = &changed
	s.file()
	start(t, nil, file, "--once").wait(time.Minute)
	s.check("a change by Spark on top of the checkpoint")
}
