package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A driver sleeps in the middle of a batch, its lock gets lost (as on a store without locks), another driver finishes the work, and the first wakes up: it must
// stop as fenced, every row must be there once, and what it had staged must not stay for readers of a glob.
func TestADriverThatWakesUpAfterItsSuccessorLeavesNothing(t *testing.T) {
	for _, point := range []string{"prepare.before", "prepare.after", "commit.before", "commit.put.before", "commit.put.after", "record.before", "intend.after"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for i := range 30 {
				write(t, dir, fmt.Sprintf("in/%02d.ndjson", i), fmt.Sprintf("{\"id\":%d}\nno row\n", i))
			}
			file := write(t, dir, "p.yaml", "name: p\nsource:\n  files: {path: in}\n  schema: id BIGINT\nsink:\n  table: {path: table}\ncheckpoint: checkpoint\ntrigger: {max_files: 1}\n")
			zombie := start(t, []string{"MICROBATCH_FAILPOINT=" + point + ":stop:9"}, file)
			waitStopped(t, zombie.cmd.Process.Pid)
			if code, out := exitOf(t, "start", file, "--once"); code != 4 || !strings.Contains(out, "MB1111") {
				t.Fatalf("beside the lock: exit code %d: %s", code, out)
			}
			loseLock(t, filepath.Join(dir, "checkpoint/_engine"))
			if code, out := exitOf(t, "start", file, "--once"); code != 0 {
				t.Fatalf("the successor: exit code %d: %s", code, out)
			}
			if err := zombie.cmd.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			if code := zombie.exit(); code != 4 || !strings.Contains(zombie.stderr.String(), "MB1112") {
				t.Errorf("exit code %d: %s", code, zombie.stderr.String())
			}
			if got := duckText(t, "SELECT count(*) || ' ' || count(DISTINCT id) FROM read_parquet('"+dir+"/table/**/*.parquet')"); got != "30 30" {
				t.Errorf("the table holds %s", got)
			}
			if got := duckText(t, "SELECT count(*) FROM read_parquet('"+dir+"/table_rejected/**/*.parquet')"); got != "30" {
				t.Errorf("rejected: %s", got)
			}
		})
	}
}

// waitStopped waits until a process has been stopped by SIGSTOP.
func waitStopped(t *testing.T, pid int) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); <-time.After(5 * time.Millisecond) {
		if stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil && strings.Contains(string(stat), ") T ") {
			return
		}
	}
	t.Fatal("the driver does not stop at its fault point")
}

// loseLock puts a copy in the place of the locked directory.
func loseLock(t *testing.T, dir string) {
	t.Helper()
	err := os.Rename(dir, dir+".locked")
	if err == nil {
		err = os.CopyFS(dir, os.DirFS(dir+".locked"))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A limit of the file size (ulimit -f) ends a write with an error that has a code, not the program by a signal without a word.
func TestALimitOfTheFileSizeIsAnErrorWithACode(t *testing.T) {
	dir := t.TempDir()
	file := write(t, dir, "p.yaml", "name: p\nsource:\n  orders: {rows: 5000, rows_per_second: 0}\nsink:\n  table: {path: table}\ncheckpoint: checkpoint\n")
	bin, err := program()
	if err != nil {
		t.Fatal(err)
	}
	code, out := commandExit(t, "bash", "-c", "ulimit -f 8; exec "+bin+" start "+file+" --once")
	if code != 1 || !strings.Contains(out, "MB1301") || !strings.Contains(out, "file too large") {
		t.Errorf("exit code %d: %s", code, out)
	}
	if code, out := exitOf(t, "start", file, "--once"); code != 0 {
		t.Errorf("without the limit: exit code %d: %s", code, out)
	}
	if got := duckText(t, "SELECT count(*) FROM read_parquet('"+dir+"/table/**/*.parquet')"); got != "5000" {
		t.Errorf("the table holds %s rows", got)
	}
}
