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

// ours is our turn: a run of the program over what is new.
func (in *inbox) ours(t *testing.T) {
	t.Helper()
	file := write(t, in.dir, "microbatch.yaml", `
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
	start(t, nil, file, "--once").wait(2 * time.Minute)
	got := strings.TrimSpace(run(t, nil, "query", "--format", "csv", "--pipeline", file, "SELECT count(*) || ' ' || count(DISTINCT id) || ' ' || sum(id) AS f FROM files"))
	if got != "f\n"+in.figures() {
		t.Fatalf("after our turn: %s, want %s", got, in.figures())
	}
}

// spark is Spark's turn.
func (in *inbox) spark(t *testing.T) {
	t.Helper()
	path := func(name string) string { return filepath.Join(in.dir, name) }
	got := strings.TrimSpace(python(t, filesInSpark, path("in %41/*/*.ndjson"), path("checkpoint"), path("table"), events.DDL))
	if got != in.figures() {
		t.Fatalf("after Spark's turn: %s, want %s", got, in.figures())
	}
}

func (in *inbox) figures() string { return fmt.Sprintf("%d %d %d", in.count, in.count, in.sum) }

// TestInteropAFilesQueryBegunBySparkIsContinued is the other way round: Spark makes checkpoint and table, we go on, and Spark again.
func TestInteropAFilesQueryBegunBySparkIsContinued(t *testing.T) {
	in := &inbox{dir: t.TempDir()}
	in.add(t, 5)
	in.spark(t)
	in.add(t, 3)
	in.ours(t)
	in.add(t, 1)
	in.spark(t)
	in.ours(t) // nothing new
}

// TestInteropAFilesQueryGoesGoesToSparkAndBack hands a query over the same files to Spark and back, twice, with enough entries for each to compact the log of files that
// it has seen: every file is taken once. So Spark reads our lines, with the size of each file in them, and we read Spark's, which have none.
func TestInteropAFilesQueryGoesToSparkAndBack(t *testing.T) {
	in := &inbox{dir: t.TempDir()}
	in.add(t, 22) // 11 batches: a compaction of ours
	in.ours(t)
	in.add(t, 6)
	in.spark(t)
	in.add(t, 6)
	in.ours(t)
	in.add(t, 14) // a compaction of Spark's
	in.spark(t)
	in.spark(t) // nothing new
	in.add(t, 1)
	in.ours(t)
}
