//go:build failpoints

package crashtest

import (
	"encoding/json"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"microbatch/internal/figures"
	"microbatch/sinks/lakehouse"
)

var (
	fullSweep = flag.Bool("full", false, "try every operation, every loss of power and many deaths in a row; otherwise a share")
	update    = flag.Bool("update", false, "write the results into docs/exactly-once.md")
	// The full matrix is swept by processes of this program, one for each kind of sink: fault points belong to a process.
	resultsFile = flag.String("results", "", "of a process of the full matrix: where its results go")
)

// result is one death and what came after it.
type result struct {
	Level    int // 0: of a first run; 1: of a replay; 2: of a replay's replay
	Kind     string
	Scenario string
	Phase    string
	Point    string
	Fate     fate
	Found    string // by the next process
	Lost     int    // batches that are nowhere, of a query that delivers at most once
	Swept    bool   // the next process deleted files of the dead
	Share    bool   // is tried in every run of the tests
}

// matrix collects results.
type matrix struct {
	results []result
	left    int // scenarios that -run has left out
}

func (m *matrix) add(r result) { m.results = append(m.results, r) }

// tried reports whether a death at the same point and of the same fate was tried at a level.
func (m *matrix) tried(level int, k sinkKind, d death) bool {
	return slices.ContainsFunc(m.results, func(r result) bool {
		return r.Level == level && r.Kind == k.name && r.Fate == d.fate && r.Point == d.point.name && r.Phase == d.point.phase
	})
}

// TestCrashMatrix lets processes die everywhere, checks that nothing is lost or doubled, that nothing was left out, and that the page says so.
func TestCrashMatrix(t *testing.T) {
	m := &matrix{}
	if *fullSweep && *resultsFile == "" {
		m.sweepInProcesses(t)
	} else {
		m.sweepKinds(t, func(k sinkKind) []scenario {
			return slices.DeleteFunc(scenarios(), func(s scenario) bool {
				return s.tables && k.target != nil || (!*fullSweep || k.server) && !shared(&s, k)
			})
		})
	}
	if *resultsFile != "" {
		m.save(t)
		return
	}
	if t.Failed() || m.left > 0 { // a part of the matrix proves that part
		return
	}
	m.count(t)
	m.checkPage(t)
}

// sweepKinds sweeps, with each kind of sink, the scenarios that there are for it.
func (m *matrix) sweepKinds(t *testing.T, of func(sinkKind) []scenario) {
	watchFaultPoints(t)
	for _, k := range sinkKinds {
		all := of(k)
		if len(all) == 0 {
			continue
		}
		m.left++
		t.Run(k.name, func(t *testing.T) {
			m.left--
			for i := range all {
				m.left++
				t.Run(all[i].name, func(t *testing.T) {
					m.left--
					m.sweep(t, &all[i], k)
				})
			}
		})
	}
}

// sweep sweeps a scenario.
func (m *matrix) sweep(t *testing.T, s *scenario, k sinkKind) {
	began, before := time.Now(), len(m.results)
	w := &sweep{m: m, kind: k, s: s, full: *fullSweep}
	if k.server {
		w.t = t
		w.run()
	} else {
		synctest.Test(t, func(t *testing.T) {
			w.t = t
			w.run()
		})
	}
	t.Logf("%d deaths in %.1f s", len(m.results)-before, time.Since(began).Seconds())
}

// sweepInProcesses sweeps all kinds of sinks that -run lets through, as many at once as there are processors.
func (m *matrix) sweepInProcesses(t *testing.T) {
	dir := t.TempDir()
	var chosen []sinkKind
	for _, k := range sinkKinds {
		m.left++
		t.Run(k.name, func(*testing.T) {
			m.left--
			chosen = append(chosen, k)
		})
	}
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, k := range chosen {
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			file := filepath.Join(dir, k.name)
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCrashMatrix$/^"+k.name+"$", "-test.v", "-test.timeout=0", "-full", "-results", file)
			cmd.Env = append(os.Environ(), "GOMAXPROCS=2", figures.Environment+"=")
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%s: %v\n%s", k.name, err, out)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			m.load(t, file)
			t.Logf("%s:\n%s", k.name, out)
		})
	}
	wg.Wait()
}

func (m *matrix) save(t *testing.T) {
	data, err := json.Marshal(m.results)
	if err == nil {
		err = os.WriteFile(*resultsFile, data, 0o666)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (m *matrix) load(t *testing.T, file string) {
	data, err := os.ReadFile(file)
	var more []result
	if err == nil {
		err = json.Unmarshal(data, &more)
	}
	if err != nil {
		t.Error(err)
	}
	m.results = append(m.results, more...)
}

// columnOf is a kind's column of the page.
func columnOf(kind string) string {
	i := slices.IndexFunc(sinkKinds, func(k sinkKind) bool { return k.name == kind })
	return sinkKinds[i].column
}

// columns of the page.
func columns() (out []string) {
	for _, k := range sinkKinds {
		if !slices.Contains(out, k.column) {
			out = append(out, k.column)
		}
	}
	return out
}

// count fails if a point that the first run passes was left out in a replay, or a fate of it; and hands the figures over.
func (m *matrix) count(t *testing.T) {
	type cell struct {
		point  point
		column string
		fate   fate
	}
	levels := map[cell]*[3]int{}
	points := map[point]bool{}
	byFate, byLevel := map[fate]int{}, [3]int{}
	for _, r := range m.results {
		c := cell{point{r.Phase, r.Point}, columnOf(r.Kind), r.Fate}
		if levels[c] == nil {
			levels[c] = new([3]int)
		}
		levels[c][r.Level]++
		points[c.point] = true
		byFate[r.Fate]++
		byLevel[r.Level]++
	}
	for c, n := range levels {
		if *fullSweep && c.fate != late && c.fate != unheard && n[0] > 0 && (n[1] == 0 || n[2] == 0) && !onlyOnce(c.point) {
			t.Errorf("%s: %s, %s, %s: %d deaths in first runs, %d in replays, %d in replays of replays", c.point.phase, c.point.name, c.column, c.fate, n[0], n[1], n[2])
		}
	}
	t.Logf("%d points, %d cells, %d deaths", len(points), len(levels), len(m.results))
	for _, f := range slices.Sorted(maps.Keys(byFate)) {
		t.Logf("%-8s %d", f, byFate[f])
		figures.Add(t, "crashes "+f.String(), byFate[f])
	}
	for level, name := range []string{"first runs", "replays", "replays of replays"} {
		figures.Add(t, "crashes in "+name, byLevel[level])
	}
	figures.Add(t, "crash points hit", len(points))
	figures.Add(t, "crashes", len(m.results))
}

// onlyOnce are points that a recovery need not pass again: a shutdown is asked for once.
func onlyOnce(p point) bool { return p.phase == "shutdown" }

// shared says whether a scenario is tried at all outside of the full matrix.
func shared(s *scenario, k sinkKind) bool {
	switch {
	case k.server:
		return s.name == "ordinary batch" || *fullSweep && s.sink.Maintenance == lakehouse.Maintenance{} && s.shut == nil
	case !k.common():
		return s.name == "ordinary batch" || s.name == "upkeep"
	}
	return true
}

// common: it is swept with each scenario in every run of the tests, and not only with some as a variety of one that is.
func (k sinkKind) common() bool {
	return !slices.Contains([]string{"disk-delta", "s3-delta", "postgres-upsert", "postgres-ledger", "kafka-idempotent"}, k.name)
}
