//go:build services

package e2e

import (
	_ "embed"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"microbatch/internal/events"
)

//go:embed testdata/interop_files.py
var filesInSpark string

// inbox writes NDJSON files of ten events each, and remembers what is in them.
type inbox struct {
	dir        string
	files      int
	count, sum int64
}

func (in *inbox) add(t *testing.T, files int) {
	t.Helper()
	for range files {
		var text []byte
		for range 10 {
			text = append(events.Append(text, in.count), '\n')
			in.sum += in.count
			in.count++
		}
		write(t, in.dir, fmt.Sprintf("in %%41/day=%d é/%04d+a b#😀.ndjson", in.files%3, in.files), string(text))
		in.files++
	}
}

func (in *inbox) figures() string { return fmt.Sprintf("%d %d %d", in.count, in.count, in.sum) }

// TestInteropAFilesQueryGoesToSparkAndBack hands a query over the same files to Spark and back, twice, with enough entries for each to compact the log of files that
// it has seen: every file is taken once. So Spark reads our lines, with the size of each file in them, and we read Spark's, which have none.
func TestInteropAFilesQueryGoesToSparkAndBack(t *testing.T) {
	dir := t.TempDir()
	in := &inbox{dir: dir}
	file := write(t, dir, "microbatch.yaml", `
name: files
source:
  files: {path: 'in %41/**/*.ndjson'}
  format: json
  schema: `+events.DDL+`
sink:
  table: {path: table, format: delta}
checkpoint: checkpoint
trigger: {max_files: 2}
`)
	ours := func() {
		t.Helper()
		start(t, nil, file, "--once").wait(2 * time.Minute)
		got := strings.TrimSpace(run(t, nil, "query", "--format", "csv", "--pipeline", file, "SELECT count(*) || ' ' || count(DISTINCT id) || ' ' || sum(id) AS f FROM files"))
		if got != "f\n"+in.figures() {
			t.Fatalf("after our turn: %s, want %s", got, in.figures())
		}
	}
	spark := func() {
		t.Helper()
		got := strings.TrimSpace(python(t, filesInSpark, filepath.Join(dir, "in %41/*/*.ndjson"), filepath.Join(dir, "checkpoint"), filepath.Join(dir, "table"), events.DDL))
		if got != in.figures() {
			t.Fatalf("after Spark's turn: %s, want %s", got, in.figures())
		}
	}
	in.add(t, 22) // 11 batches: a compaction of ours
	ours()
	in.add(t, 6)
	spark()
	in.add(t, 6)
	ours()
	in.add(t, 14) // a compaction of Spark's
	spark()
	spark() // nothing new
	in.add(t, 1)
	ours()
}
