package e2e

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"microbatch/internal/figures"
)

// interrupted are the fault points of a start and of a batch.
func interrupted(t *testing.T) []string {
	return slices.DeleteFunc(overtaken(t), func(name string) bool { return strings.HasPrefix(name, "files.") })
}

// signalled stops a driver at a fault point, sends signals to it, and lets it meet them there; false if the point was not passed so often.
func (w *world) signalled(point string, hit int, signals ...syscall.Signal) (end, bool) {
	w.t.Helper()
	p := w.launch(fmt.Sprintf("%s:stop:%d", point, hit), "start", w.file, "--once", "--progress", "none")
	if !p.stopped() {
		return p.end(), false
	}
	for _, s := range signals {
		if err := p.cmd.Process.Signal(s); err != nil {
			w.t.Fatal(err)
		}
	}
	p.goOn()
	return p.end(), true
}

// TestSIGTERMDuringEachStep (Z07): wherever the signal arrives, the batch is finished or cleanly abandoned and the exit code is 0; after that stop a glob over the
// folder is the table, and the next start goes on.
func TestSIGTERMDuringEachStep(t *testing.T) {
	for _, point := range interrupted(t) {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			w := local(t, "parquet")
			w.feed(5)
			e, met := w.signalled(point, 3, syscall.SIGTERM)
			if !met { // once in a start
				w = local(t, "parquet")
				w.feed(5)
				if e, met = w.signalled(point, 1, syscall.SIGTERM); !met {
					t.Fatal("the fault point is not passed")
				}
			} else {
				w.tableInOrder("table")
			}
			if e.code != 0 || strings.Contains(e.out, "error:") {
				t.Errorf("exit code %d, signal %v: %s", e.code, e.signal, e.out)
			}
			w.feed(1)
			w.catchUp()
			w.exact()
			figures.Add(t, "SIGTERM at "+point, 1)
		})
	}
}

// TestTwoSignalsEndAtOnce: the second signal ends the program where it stands, which is as safe as a crash.
func TestTwoSignalsEndAtOnce(t *testing.T) {
	for _, point := range []string{"start.claimed", "intend.after", "prepare.file.before", "commit.put.after", "record.before"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			w := local(t, "delta")
			w.feed(5)
			// Of one signal only one waits for a stopped process; two kinds both do.
			e, met := w.signalled(point, 1, syscall.SIGTERM, syscall.SIGINT)
			if !met || e.code != 130 && e.code != 0 { // 0: it had ended before it saw the second
				t.Errorf("exit code %d, signal %v: %s", e.code, e.signal, e.out)
			}
			w.feed(1)
			w.catchUp()
			w.exact()
			figures.Add(t, "two signals", 1)
		})
	}
}

// TestTheWholeGroupIsKilled: driver and the program that it hands batches to die together, in the middle of a batch. The next start gives the same batch again.
func TestTheWholeGroupIsKilled(t *testing.T) {
	w := &ordersWorld{world: &world{t: t, dir: t.TempDir(), format: "parquet"}}
	w.root = w.dir
	const sink = `foreachbatch: {command: [sh, -c, "mkdir -p given && f=given/$MICROBATCH_QUERY_ID.$MICROBATCH_BATCH_ID.$$ && cat > $f.half && mv $f.half $f && if [ $MICROBATCH_BATCH_ID = 2 -a ! -e asleep ]; then touch asleep; exec sleep 1000; fi"]}`
	w.orderPipeline(4, sink)
	p := &process{t: t, cmd: w.command("start", w.file, "--once", "--progress", "none")}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.appears("asleep")
	if err := syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if e := p.end(); e.signal != syscall.SIGKILL {
		t.Fatalf("exit code %d, signal %v: %s", e.code, e.signal, e.out)
	}
	w.orderPipeline(5, sink)
	w.catchUp()
	w.checkpointInOrder()
	w.handed()
	figures.Add(t, "groups killed", 1)
}
