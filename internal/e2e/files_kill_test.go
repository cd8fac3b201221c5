package e2e

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"microbatch/internal/events"
)

// feeder writes files of NDJSON, one in a thousand rows malformed and one in a thousand with a misfit.
type feeder struct {
	t     *testing.T
	dir   string
	rows  int // of a file
	files int // so far
	good  int64
	sum   int64 // of the ids of good rows
}

func newFeeder(t *testing.T, dir string, rows int) *feeder {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return &feeder{t: t, dir: dir, rows: rows}
}

// write makes n more files, each moved into place when it is whole.
func (f *feeder) write(n int) {
	f.t.Helper()
	for range n {
		path := filepath.Join(f.dir, fmt.Sprintf("events-%04d.ndjson", f.files))
		out, err := os.Create(path + ".tmp")
		if err != nil {
			f.t.Fatal(err)
		}
		w := bufio.NewWriterSize(out, 1<<20)
		var line []byte
		for i := range f.rows {
			id := int64(f.files*f.rows + i)
			line = append(events.AppendMixed(line[:0], id), '\n')
			w.Write(line)
			if malformed, misfit := events.Bad(id); !malformed && !misfit {
				f.good, f.sum = f.good+1, f.sum+id
			}
		}
		if err := errors.Join(w.Flush(), out.Close(), os.Rename(path+".tmp", path)); err != nil {
			f.t.Fatal(err)
		}
		f.files++
	}
}

// total is how many rows were written.
func (f *feeder) total() int64 { return int64(f.files) * int64(f.rows) }

// recipe is how a DuckDB user reads exactly the live files of a table of format parquet from its log.
const recipe = `SET VARIABLE files = (
  WITH log   AS (SELECT filename, add, remove FROM read_json('T/_metadata/_*.json', format = 'newline_delimited', filename = true,
                        columns = {add: 'STRUCT(path VARCHAR)', remove: 'STRUCT(path VARCHAR)'})),
       start AS (SELECT coalesce(max(filename), '') AS f FROM log WHERE filename LIKE '%.checkpoint.json'),
       last  AS (SELECT coalesce(add.path, remove.path) AS path, arg_max(add IS NOT NULL, filename) AS live FROM log, start
                 WHERE filename >= f AND (add IS NOT NULL OR remove IS NOT NULL) GROUP BY 1)
  SELECT list('T/' || url_decode(path)) FROM last WHERE live)`

// TestFilesSurviveTwentyKills is the whole promise on local disk: NDJSON files into a table of plain Parquet, the program killed twenty times, and then a plain
// glob, the log's file list and `microbatch query` agree with the input, row by row.
func TestFilesSurviveTwentyKills(t *testing.T) {
	dir := t.TempDir()
	in := newFeeder(t, filepath.Join(dir, "in"), killRows)
	file := write(t, dir, "microbatch.yaml", `
name: events
source:
  files: {path: in}
  format: json
  schema: `+events.DDL+`
sink:
  table: {path: table}
checkpoint: checkpoint
trigger: {max_files: 1}
`)
	k := killing{file: file, args: []string{"--trigger", "0s"}, kills: 20, rng: newRand(t), feed: func() { in.write(killFiles) }}
	if n := k.run(t); n < 5 {
		t.Errorf("%d kills between commit and record", n)
	}
	last := start(t, nil, file, "--once")
	last.wait(5 * time.Minute)
	if last.batches == 0 {
		t.Error("no work was left after the last kill")
	}
	table := filepath.Join(dir, "table")
	want := fmt.Sprintf("%d %d %d", in.good, in.good, in.sum)
	const figures = `SELECT count(*) || ' ' || count(DISTINCT id) || ' ' || sum(id) AS f FROM `
	for name, sql := range map[string][]string{
		"glob":   {figures + "read_parquet('" + table + "/**/*.parquet')"},
		"recipe": {strings.ReplaceAll(recipe, "T/", table+"/"), figures + "read_parquet(getvariable('files'), hive_partitioning = true)"},
	} {
		if got := duckText(t, sql...); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	var got struct{ F string }
	if err := json.Unmarshal([]byte(run(t, nil, "query", "--format", "json", figures+"'"+table+"'")), &got); err != nil || got.F != want {
		t.Errorf("microbatch query: %v %v, want %s", got, err, want)
	}
	expected := filepath.Join(dir, "expected.ndjson") // without the bad rows: DuckDB's ignore_errors drops the row after a malformed one too
	writeExpected(t, expected, in.total())
	same := `SELECT count(*) FROM (SELECT * FROM read_parquet('` + table + `/**/*.parquet') EXCEPT ALL
		SELECT * FROM read_json('` + expected + `', format = 'newline_delimited',
		columns = {id: 'BIGINT', ts: 'TIMESTAMPTZ', user_id: 'BIGINT', event: 'VARCHAR', country: 'VARCHAR', amount: 'DOUBLE', url: 'VARCHAR', session: 'VARCHAR'}))`
	if got := duckText(t, same); got != "0" {
		t.Errorf("%s rows of the table are not in the input as they are", got)
	}
	rejected := duckText(t, `SELECT count(*) || ' ' || count(DISTINCT position) FROM read_parquet('`+table+`_rejected/**/*.parquet')`)
	if bad := in.total() - in.good; rejected != fmt.Sprintf("%d %d", bad, bad) {
		t.Errorf("rejected rows: %s, want %d each once", rejected, bad)
	}
}

// writeExpected writes the good events 0..n-1 as NDJSON.
func writeExpected(t *testing.T, path string, n int64) {
	t.Helper()
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriterSize(out, 1<<20)
	var line []byte
	for i := range n {
		if malformed, misfit := events.Bad(i); !malformed && !misfit {
			line = append(events.Append(line[:0], i), '\n')
			w.Write(line)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}
