package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckBesideARunningQuery: the files sink commits, forgets the oldest records of its ledger, and a reader deletes what it has read, while the check looks again and
// again. It never finds anything wrong.
func TestCheckBesideARunningQuery(t *testing.T) {
	w := &world{t: t, dir: t.TempDir()}
	w.root = w.dir
	w.file = write(t, w.dir, "p.yaml", `name: p
source: {orders: {rows: 10000000, rows_per_second: 0}}
sink: {files: {path: out}}
checkpoint: checkpoint
trigger: {every: 0s, max_rows: 20}
`)
	query := start(t, w.env, w.file, "--progress", "none")
	defer query.kill()
	checks, last := 0, ""
	for deleted := 0; deleted < 150 || checks < 20; {
		folders, err := filepath.Glob(filepath.Join(w.dir, "out/batch-*"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range folders[:max(0, len(folders)-30)] {
			if err := os.RemoveAll(f); err != nil {
				t.Fatal(err)
			}
			deleted++
		}
		if len(folders) == 0 {
			continue
		}
		e := w.run("checkpoint", "check", w.file, "--limit", "1")
		if checks++; e.code != 0 || !strings.Contains(e.out, "the sink holds exactly the batches that the checkpoint claims") {
			t.Fatalf("check %d: exit code %d\n%s", checks, e.code, e.out)
		}
		last = e.out
	}
	t.Logf("%d checks; the last one:\n%s", checks, last)
}
