package e2e

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"microbatch/internal/errcode"
	"microbatch/internal/figures"
)

// TestTooFewOpenFiles runs the program with less and less files that it may open (ulimit -n): it does its work, or says with a code that this is the limit, and then
// goes on exactly once it has more.
func TestTooFewOpenFiles(t *testing.T) {
	refused := 0
	for n := 10; n <= 20; n += 2 {
		w := local(t, "parquet")
		w.feed(4)
		e := w.within(fmt.Sprint("ulimit -n ", n))
		switch {
		case e.code == 0:
			w.exact()
		case e.code != 1 || !strings.Contains(e.out, errcode.StoreOpenFiles.ID):
			t.Errorf("%d files: exit code %d, signal %v: %s", n, e.code, e.signal, e.out)
		default:
			refused++
		}
		w.feed(1)
		w.catchUp()
		w.exact()
	}
	if refused == 0 {
		t.Error("the program was never refused a file: the limits are too wide")
	}
	figures.Add(t, "runs without files to open", refused)
}

// within runs the query in a shell that has set a limit.
func (w *world) within(limit string) end {
	w.t.Helper()
	query := w.command("start", w.file, "--once", "--progress", "none")
	cmd := exec.Command("bash", append([]string{"-c", limit + `; exec "$@"`, "limited"}, query.Args...)...)
	cmd.Dir, cmd.Env = query.Dir, query.Env
	return endOf(w.t, cmd)
}
