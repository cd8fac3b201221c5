package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"microbatch/internal/errcode"
	"microbatch/internal/figures"
)

// takeoversEnv is the variable that says how many takeovers each test makes, instead of its small share.
const takeoversEnv = "MICROBATCH_TAKEOVERS"

func takeovers(t *testing.T, share int) int {
	t.Helper()
	if v := os.Getenv(takeoversEnv); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 {
			t.Fatalf("%s=%s: want a number", takeoversEnv, v)
		}
		return n
	}
	return share
}

// process is a running command.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	out lockedBuffer
}

// launch starts a command of the program with fault points set.
func (w *world) launch(failpoints string, args ...string) *process {
	w.t.Helper()
	p := &process{t: w.t, cmd: w.command(args...)}
	p.cmd.Env = append(p.cmd.Env, "MICROBATCH_FAILPOINT="+failpoints)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	if err := p.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { p.cmd.Process.Kill() })
	return p
}

// stopped waits until the process has stopped itself; false if it has ended instead.
func (p *process) stopped() bool {
	p.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-time.After(2 * time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return false
		}
		if strings.Contains(string(stat), ") T ") {
			return true
		}
	}
	p.t.Fatalf("the process neither stops nor ends:\n%s", p.out.String())
	return false
}

// goOn continues a stopped process.
func (p *process) goOn() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		p.t.Fatal(err)
	}
}

// end waits for the end.
func (p *process) end() end {
	p.t.Helper()
	timer := time.AfterFunc(2*time.Minute, func() { p.cmd.Process.Signal(syscall.SIGABRT) })
	defer timer.Stop()
	return ended(p.t, p.cmd, &p.out)
}

// fenced are the codes of a driver that has met its successor.
var fenced = regexp.MustCompile(`error: (` + strings.Join([]string{errcode.DriverFenced.ID, errcode.TableFenced.ID, errcode.TableHole.ID}, "|") + `) `)

// overtaken are the fault points of one batch, and of a start, at which a driver is put to sleep.
func overtaken(t *testing.T) []string {
	return slices.DeleteFunc(points(t), func(name string) bool {
		kind, _, _ := strings.Cut(name, ".")
		return slices.Contains([]string{"purge", "cleanup", "optimize", "vacuum", "foreachbatch", "localfs", "s3", "filestage", "kafka", "postgres"}, kind)
	})
}

// chain overtakes drivers of one query again and again: one is stopped at a fault point, another one runs the query on, the first wakes up when the other has
// finished or in the middle of its work. Both end well or are fenced, and after each takeover the tables are exact. Separate, if not nil, keeps two drivers from
// seeing each other's lock.
func (w *world) chain(n int, separate func()) {
	w.t.Helper()
	seed := uint64(time.Now().UnixNano())
	w.t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 2))
	places := overtaken(w.t)
	rng.Shuffle(len(places), func(i, j int) { places[i], places[j] = places[j], places[i] })
	once := []string{"start", w.file, "--once", "--progress", "none"}
	quiet, stopped := 0, 0
	for i, done := 0, 0; done < n; i++ {
		if i > 20*n {
			w.t.Fatalf("%d of %d tries were takeovers", done, i)
		}
		point, hit := places[i%len(places)], 1+rng.IntN(3)
		w.feed(3)
		what := fmt.Sprintf("takeover %d: first stopped at %s:%d", done, point, hit)
		first := w.launch(fmt.Sprintf("%s:stop:%d", point, hit), once...)
		if !first.stopped() {
			if e := first.end(); e.code != 0 {
				w.t.Fatalf("%s, not reached: exit code %d\n%s", what, e.code, e.out)
			}
			continue
		}
		done++
		if separate != nil {
			separate()
		}
		w.feed(1 + rng.IntN(2))
		var second *process
		if rng.IntN(2) == 0 {
			second = w.launch("", once...)
		} else { // in the middle of its own work it sleeps while the first one wakes up
			other := places[rng.IntN(len(places))]
			what += ", second at " + other
			second = w.launch(fmt.Sprintf("%s:stop:%d", other, 1+rng.IntN(3)), once...)
		}
		asleep := second.stopped()
		var b end
		if !asleep {
			b = second.end()
		}
		first.goOn()
		a := first.end()
		if asleep {
			second.goOn()
			b = second.end()
		}
		for _, e := range []end{a, b} {
			if e.code != 0 && (e.code != 4 || !fenced.MatchString(e.out)) {
				w.t.Fatalf("%s: exit code %d, signal %v\n%s\nthe first one said:\n%s", what, e.code, e.signal, e.out, a.out)
			}
		}
		if a.code == 4 {
			stopped++
		} else {
			quiet++
		}
		w.catchUp()
		if w.exact(); w.t.Failed() {
			w.t.Fatalf("after %s; the first one said:\n%s\nthe second one:\n%s", what, a.out, b.out)
		}
	}
	w.t.Logf("%d takeovers: %d drivers were stopped as fenced when they woke up, %d had nothing to do any more", n, stopped, quiet)
	figures.Add(w.t, "takeovers", n)
	figures.Add(w.t, "zombies fenced", stopped)
}

// loseLocks puts a copy in the place of the locked directory, as on a store that knows no locks.
func (w *world) loseLocks() func() {
	n := 0
	return func() {
		w.t.Helper()
		dir := filepath.Join(w.dir, "checkpoint/_engine")
		n++
		err := os.Rename(dir, fmt.Sprintf("%s.lost-%d", dir, n))
		if err == nil {
			err = os.CopyFS(dir, os.DirFS(fmt.Sprintf("%s.lost-%d", dir, n)))
		}
		if err != nil && !os.IsNotExist(err) {
			w.t.Fatal(err)
		}
	}
}

// TestTakeoversOnDiskWithoutALock: the lock of the checkpoint is lost, so epochs alone decide.
func TestTakeoversOnDiskWithoutALock(t *testing.T) {
	for _, format := range []string{"parquet", "delta"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			w := local(t, format)
			w.chain(takeovers(t, 6), w.loseLocks())
		})
	}
}

// TestASleepingDriverKeepsItsLock: on local disk nobody takes over from a process that is only stopped. The second one is refused and writes nothing; the first
// goes on as if nothing had been.
func TestASleepingDriverKeepsItsLock(t *testing.T) {
	for _, point := range []string{"start.claimed", "plan.after", "intend.after", "prepare.before", "commit.put.after", "record.before", "release.after"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			w := local(t, "parquet")
			w.feed(4)
			first := w.launch(point+":stop:1", "start", w.file, "--once", "--progress", "none")
			if !first.stopped() {
				t.Fatalf("it does not stop: %s", first.out.String())
			}
			if e := w.run("start", w.file, "--once"); e.code != 4 || !strings.Contains(e.out, errcode.CheckpointLocked.ID) {
				t.Errorf("the second: exit code %d: %s", e.code, e.out)
			}
			first.goOn()
			if e := first.end(); e.code != 0 {
				t.Errorf("the first: exit code %d: %s", e.code, e.out)
			}
			w.exact()
			figures.Add(t, "drivers refused by the lock", 1)
		})
	}
}

// TestASleeperWhoseSlotWasPurged (Z03): while a driver sleeps before it writes down a batch, another one runs 230 batches and purges the entry in whose place the
// sleeper will put its own.
func TestASleeperWhoseSlotWasPurged(t *testing.T) {
	for _, point := range []string{"intend.before", "commit.put.before", "record.before"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			w := local(t, "parquet")
			w.feed(20)
			first := w.launch(point+":stop:9", "start", w.file, "--trigger", "0s", "--progress", "none")
			if !first.stopped() {
				t.Fatalf("it does not stop: %s", first.out.String())
			}
			w.loseLocks()()
			w.feed(210)
			w.catchUp()
			if _, err := os.Stat(filepath.Join(w.dir, "checkpoint/offsets/9")); !os.IsNotExist(err) {
				t.Fatalf("nothing was purged: %v", err)
			}
			first.goOn()
			if e := first.end(); e.code != 4 || !fenced.MatchString(e.out) {
				t.Errorf("exit code %d: %s", e.code, e.out)
			}
			w.feed(2)
			w.catchUp()
			w.exact()
			figures.Add(t, "takeovers", 1)
			figures.Add(t, "zombies fenced", 1)
		})
	}
}

// TestASleepersCommitInACleanedSlot: while a driver sleeps before its commit, others go on, and the table's log is summed up and cleaned. The sleeper's entry
// lands where the log has ended: no reader sees it, the sleeper says so, and vacuum takes its files.
func TestASleepersCommitInACleanedSlot(t *testing.T) {
	w := local(t, "parquet")
	w.feed(6)
	first := w.launch("commit.put.before:stop:6", "start", w.file, "--once", "--progress", "none")
	if !first.stopped() {
		t.Fatalf("it does not stop: %s", first.out.String())
	}
	w.loseLocks()()
	w.feed(20)
	w.catchUp()
	w.age()
	w.feed(1)
	w.catchUp() // cleans
	for _, table := range []string{"table", "table_rejected"} {
		if _, err := os.Stat(filepath.Join(w.dir, table, "_metadata/_00000000000000000004.json")); !os.IsNotExist(err) {
			t.Fatalf("the log of %s was not cleaned: %v", table, err)
		}
	}
	first.goOn()
	if e := first.end(); e.code != 4 || !fenced.MatchString(e.out) {
		t.Errorf("exit code %d: %s", e.code, e.out)
	}
	w.feed(2)
	w.catchUp()
	if got, want := w.query(tableFigures), w.want(w.files); got != want {
		t.Errorf("the tables hold %q, want %q", got, want)
	}
	for _, table := range []string{"table", "table_rejected"} {
		w.must("table", "vacuum", table, "--retain", "0s", "--force")
	}
	w.exact()
}

// age makes the tables' logs sixty days old, and their last clean-up too.
func (w *world) age() {
	w.t.Helper()
	past := time.Now().Add(-60 * 24 * time.Hour)
	logs, err := filepath.Glob(filepath.Join(w.dir, "table*", "_*", "_*"))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, name := range logs {
		if filepath.Base(name) == "_maintained" {
			write(w.t, filepath.Dir(name), "_maintained", fmt.Sprintf(`{"optimized":%q,"cleaned":%[1]q}`, past.Format(time.RFC3339)))
		}
		if err := os.Chtimes(name, past, past); err != nil {
			w.t.Fatal(err)
		}
	}
}

// appears waits until a file of the world's folder is there.
func (w *world) appears(name string) {
	w.t.Helper()
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-time.After(2 * time.Millisecond) {
		if _, err := os.Stat(filepath.Join(w.dir, name)); err == nil {
			return
		}
	}
	w.t.Fatalf("%s does not appear", name)
}
