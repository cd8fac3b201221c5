//go:build services && linux

package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"microbatch/internal/errcode"
	"microbatch/internal/figures"
)

// injectEnv is the variable that makes the sweep of system calls exhaustive.
const injectEnv = "MICROBATCH_INJECT"

// calls are the system calls that are made to fail, with the errors of a disk that breaks and of one that is full; or that are the last of the process.
var calls = map[string][]string{
	"fsync":    {"EIO", "ENOSPC", "SIGKILL"},
	"write":    {"EIO", "ENOSPC", "SIGKILL"},
	"linkat":   {"EIO", "ENOSPC", "SIGKILL"},
	"renameat": {"EIO", "ENOSPC", "SIGKILL"},
	"mkdirat":  {"EIO", "ENOSPC", "SIGKILL"},
	"openat":   {"EIO", "ENOSPC", "SIGKILL"},
	"unlinkat": {"EIO", "SIGKILL"},
	"pread64":  {"EIO"},
	"close":    {"EIO"},
}

// TestFailingSystemCalls lets the n-th system call of a kind fail in the real program, for many n. Either nothing is missing, or the program says with a code and
// the right exit code what is wrong; it never panics, never calls fsync again on what could not be made durable, and the next start finishes exactly.
func TestFailingSystemCalls(t *testing.T) {
	for call, errs := range calls {
		numbers := numbersOf(t, call)
		for _, errno := range errs {
			t.Run(call+" "+errno, func(t *testing.T) {
				t.Parallel()
				injected, stopped, void := 0, 0, 0
				for _, when := range shuffled(t, numbers) {
					if os.Getenv(injectEnv) != "all" && (injected == 4 || injected+void == 12) {
						break // the share of a usual run
					}
					w := injectedWorld(t)
					how := "error=" + errno
					if errno == "SIGKILL" {
						how = "signal=KILL"
					}
					trial := w.inject(call, how+":when="+when)
					switch {
					case trial.end.signal == syscall.SIGKILL:
						injected, stopped = injected+1, stopped+1
					case trial.hits == 0: // threads shared the work in another way
					case trial.outside:
						void++ // of the program itself: a pipe, a library, its own wake-up
					default:
						injected++
						if trial.end.code != 0 {
							stopped++
						}
						trial.judge(t, w)
					}
					w.catchUp()
					if w.exact(); t.Failed() {
						t.Fatalf("%s:error=%s:when=%s, exit code %d:\n%s%s", call, errno, when, trial.end.code, trial.end.out, trial.injections())
					}
				}
				t.Logf("%d failed calls, %d of them stopped the program; %d more were none of the store's", injected, stopped, void)
				if injected == 0 {
					t.Error("no call failed")
				}
				figures.Add(t, "injected "+call+" "+errno, injected)
			})
		}
	}
}

// injectedWorld has work of four batches, and little patience.
func injectedWorld(t *testing.T) *world {
	t.Helper()
	w := (&world{t: t, dir: t.TempDir(), format: "parquet", glob: true, extra: "max_restarts: 3\n"}).at("")
	w.feed(4)
	return w
}

// numbersOf are those n for which the n-th call of a thread had to do with the store, in a run without faults. Of openat, those that make a file.
func numbersOf(t *testing.T, call string) []int {
	t.Helper()
	w := injectedWorld(t)
	count, numbers := map[string]int{}, map[int]bool{}
	for _, line := range w.inject(call, "error=EIO:when=65535").trace {
		thread, rest, _ := strings.Cut(line, " ")
		if rest = strings.TrimLeft(rest, " "); !strings.HasPrefix(rest, call+"(") {
			continue
		}
		count[thread]++
		if w.ofStore(line) && (call != "openat" || strings.Contains(line, "O_CREAT")) {
			numbers[count[thread]] = true
		}
	}
	return slices.Sorted(maps.Keys(numbers))
}

// shuffled are the values of strace's `when` to try: all calls from one on, and each single one.
func shuffled(t *testing.T, numbers []int) []string {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	if len(numbers) == 0 {
		t.Fatal("there is no such call")
	}
	var out []string
	for i, n := range rand.New(rand.NewPCG(seed, 3)).Perm(len(numbers)) {
		if i == 0 {
			out = append(out, fmt.Sprintf("%d+", numbers[n]))
		}
		out = append(out, fmt.Sprint(numbers[n]))
	}
	return out
}

// trial is a run with a failing call.
type trial struct {
	call    string
	end     end
	trace   []string
	hits    int
	outside bool // a call failed that has nothing to do with the store
}

// inject runs the query to its end, if it gets there, under strace.
func (w *world) inject(call, how string) trial {
	w.t.Helper()
	file := filepath.Join(w.dir, "trace")
	query := w.command("start", w.file, "--once", "--progress", "none")
	// The program is a child of strace's, which hands its exit code on.
	args := []string{"-f", "-y", "-qq", "-o", file, "-e", "trace=" + call + ",fsync", "-e", "inject=" + call + ":" + how}
	if !strings.HasPrefix(how, "signal") { // with it signals are not injected
		args = append(args, "--seccomp-bpf")
	}
	cmd := exec.Command("strace", append(args, query.Args...)...)
	cmd.Dir, cmd.Env = query.Dir, query.Env
	r := trial{call: call, end: endOf(w.t, cmd)}
	text, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatalf("strace: %v\n%s", err, r.end.out)
	}
	r.trace = strings.Split(string(text), "\n")
	for _, line := range r.trace {
		if strings.Contains(line, "(INJECTED)") {
			r.hits++
			r.outside = r.outside || !w.ofStore(line)
		}
	}
	return r
}

// ofStore reports whether a line of a trace names a place in a table or in the checkpoint, or makes the way to them durable.
func (w *world) ofStore(line string) bool {
	return strings.Contains(line, " fsync(") || strings.Contains(line, w.root+"/table") || strings.Contains(line, w.root+"/checkpoint")
}

func (r trial) injections() string {
	return strings.Join(slices.DeleteFunc(slices.Clone(r.trace), func(line string) bool { return !strings.Contains(line, "(INJECTED)") }), "\n")
}

// diskCodes are what a broken or full disk may be called, by exit code.
var diskCodes = map[int][]string{
	1: {errcode.StoreFull.ID, errcode.StoreDiskError.ID, errcode.StoreFsync.ID},
	6: {errcode.RestartsSpent.ID},
	7: {errcode.StoreUncertain.ID},
}

// judge checks how the program ended.
func (r trial) judge(t *testing.T, w *world) {
	t.Helper()
	code := coded.FindStringSubmatch(r.end.out)
	switch {
	case strings.Contains(r.end.out, "goroutine ") || strings.Contains(r.end.out, "panic"):
		t.Error("it panicked")
	case r.end.code == 0: // it got over it, or the call was not needed: nothing may be missing
		w.exact()
	case code == nil:
		t.Errorf("exit code %d without an error that has a code", r.end.code)
	case !slices.Contains(diskCodes[r.end.code], code[1]):
		t.Errorf("exit code %d with %s does not say that the disk is full or broken", r.end.code, code[1])
	}
	r.noFsyncAgain(t)
}

var fsyncLine = regexp.MustCompile(`fsync\(\d+<([^>]*)>`)

// noFsyncAgain: once fsync has failed, the kernel may have dropped the pages, and another fsync of the same file would say that all is well.
func (r trial) noFsyncAgain(t *testing.T) {
	t.Helper()
	failed := map[string]bool{}
	for _, line := range r.trace {
		m := fsyncLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if failed[m[1]] && !strings.Contains(line, "resumed") {
			t.Errorf("fsync again after it had failed: %s", line)
		}
		failed[m[1]] = failed[m[1]] || strings.Contains(line, "(INJECTED)")
	}
}
