package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/cryptotest"
	"testing/synctest"
	"time"

	"microbatch/internal/figures"
)

var (
	seeds = flag.Uint64("seeds", 40, "how many seeds")
	first = flag.Uint64("first", 1, "the first seed")
	same  = flag.Uint64("same", 20, "how many seeds are run twice")
	procs = flag.Int("procs", runtime.NumCPU(), "how many processes share the seeds")
	share = flag.String("share", "", "i/n/file: this process runs every n-th seed and writes what it counted to the file")
)

// runOptions does one run, in a bubble of its own. A run that hangs ends the process with all stacks.
func runOptions(t *testing.T, o options) (out outcome) {
	debug.SetTraceback("all")
	hang := time.AfterFunc(5*time.Minute, func() { panic(fmt.Sprintf("seed %d hangs", o.Seed)) })
	defer hang.Stop()
	before := openFiles(t)
	defer func() {
		if after := openFiles(t); after > before && out.violation == nil {
			out.violation = fmt.Errorf("%d files of the process are open, and %d were before", after, before)
		}
	}()
	t.Run(fmt.Sprint(o.Seed), func(t *testing.T) {
		cryptotest.SetGlobalRandom(t, o.Seed)
		synctest.Test(t, func(*testing.T) { out = simulate(o) })
	})
	return out
}

// openFiles counts those of the process; 0 where the system does not tell.
func openFiles(t *testing.T) int {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return len(names)
}

// TestSeeds runs seeds, in several processes if they are many: a run needs the randomness of a process for itself.
func TestSeeds(t *testing.T) {
	if *share != "" {
		runShare(t)
		return
	}
	total := newStats()
	if *seeds <= 100 {
		total = runSeeds(t, 0, 1)
	} else {
		shares(t, *procs, &total)
	}
	t.Logf("\n%s", total.String())
	for name, n := range total.Counts {
		figures.Add(t, "simulation: "+name, n)
	}
	for name, n := range total.Sinks {
		figures.Add(t, "simulation: batches to "+name, n.Batches)
	}
	for k := range kinds {
		for p := range phases {
			if n := total.Faults[k][p]; n > 0 {
				figures.Add(t, fmt.Sprintf("simulation: fault %s in %s", k, p), n)
			}
		}
	}
	if missing := total.missing(); *seeds >= 2000 && len(missing) > 0 {
		t.Errorf("these never happened: %s", strings.Join(missing, ", "))
	}
}

// runSeeds runs the i-th of n shares in this process.
func runSeeds(t *testing.T, i, n uint64) stats {
	total := newStats()
	for seed := *first + i; seed < *first+*seeds; seed += n {
		o := derive(seed)
		out := runOptions(t, o)
		total.add(out.stats)
		if out.violation != nil {
			report(t, o, out)
		}
	}
	return total
}

// report prints a failing run, made as small as it gets.
func report(t *testing.T, o options, out outcome) {
	small, smallOut := shrink(t, o)
	if smallOut.violation == nil {
		smallOut.violation = errors.New("it does not fail again: the run is not repeatable")
	}
	text := fmt.Sprintf("seed %d: %v\n%sreplay: go test ./internal/sim -run TestSeeds -first=%d -seeds=1 -v\nshrunk: %v\n%s%s\nas a regression: %s\n", o.Seed, out.violation, o, o.Seed, smallOut.violation, small,
		strings.Join(tail(smallOut.trace), "\n"), small.asJSON())
	fmt.Fprint(os.Stderr, text) // at once: the run may be long
	t.Errorf("seed %d has failed: see above", o.Seed)
}

// runShare is a child's part.
func runShare(t *testing.T) {
	var i, n uint64
	var file string
	if _, err := fmt.Sscanf(strings.ReplaceAll(*share, "/", " "), "%d %d", &i, &n); err != nil {
		t.Fatal(err)
	}
	file = strings.SplitN(*share, "/", 3)[2]
	total := runSeeds(t, i, n)
	data, err := json.Marshal(total)
	if err == nil {
		err = os.WriteFile(file, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// shares runs all seeds in n processes and adds up what they counted.
func shares(t *testing.T, n int, total *stats) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	dir := t.TempDir()
	for i := range n {
		wg.Go(func() {
			file := filepath.Join(dir, fmt.Sprint(i))
			cmd := exec.Command(os.Args[0], "-test.run=^TestSeeds$", "-test.timeout=0", fmt.Sprintf("-seeds=%d", *seeds), fmt.Sprintf("-first=%d", *first), fmt.Sprintf("-share=%d/%d/%s", i, n, file))
			cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, io.MultiWriter(&out, os.Stderr)
			runErr := cmd.Run()
			part := newStats()
			data, err := os.ReadFile(file)
			if err == nil {
				err = json.Unmarshal(data, &part)
			}
			mu.Lock()
			defer mu.Unlock()
			total.add(part)
			if runErr != nil || err != nil {
				t.Errorf("share %d of %d: %v\n%s", i, n, errors.Join(runErr, err), out.Bytes()[max(0, out.Len()-8000):])
			}
		})
	}
	wg.Wait()
}

// TestEverySinkIsAmongTheSeeds: those that run by default write everywhere, from both sources, on both media, and in both ways to deliver.
func TestEverySinkIsAmongTheSeeds(t *testing.T) {
	byDefault, err := strconv.ParseUint(flag.Lookup("seeds").DefValue, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for seed := *first; seed < *first+byDefault; seed++ {
		o := derive(seed)
		found[o.writes()] = true
		found[o.Medium.String()], found[fmt.Sprint("kafka as source: ", o.Kafka)], found[fmt.Sprint("at most once: ", o.AtMostOnce)] = true, true, true
		for _, key := range []string{"key", "seq"} {
			found["rows of one "+key] = found["rows of one "+key] || o.Key == key
		}
	}
	want := []string{"objects", "disk", "kafka as source: true", "kafka as source: false", "at most once: true", "at most once: false", "rows of one key", "rows of one seq"}
	for _, to := range destinations {
		want = append(want, to.writes())
	}
	for _, name := range want {
		if !found[name] {
			t.Errorf("%s does not occur", name)
		}
	}
}

// tail is the end of a trace.
func tail(trace []string) []string { return trace[max(0, len(trace)-150):] }

// TestTheSameSeedGivesTheSameTrace runs seeds twice.
func TestTheSameSeedGivesTheSameTrace(t *testing.T) {
	for seed := *first; seed < *first+*same; seed++ {
		a, b := runOptions(t, derive(seed)), runOptions(t, derive(seed))
		if a.hash == b.hash {
			continue
		}
		i := 0
		for i < min(len(a.trace), len(b.trace)) && a.trace[i] == b.trace[i] {
			i++
		}
		t.Errorf("seed %d: the second run differs after\n%s\nfirst:\n%s\nsecond:\n%s", seed, strings.Join(tail(a.trace[:i]), "\n"),
			strings.Join(a.trace[i:min(i+5, len(a.trace))], "\n"), strings.Join(b.trace[i:min(i+5, len(b.trace))], "\n"))
	}
}
