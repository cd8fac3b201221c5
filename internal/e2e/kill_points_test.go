package e2e

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"microbatch/internal/figures"
	"microbatch/internal/services"
	"microbatch/internal/sourcecode"
)

// killsEnv is the variable that makes the kill test exhaustive ("all"): each point at each of its hits on disk and at the first three on S3, in both formats.
const killsEnv = "MICROBATCH_KILLS"

// tally counts by name, over parallel subtests.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *tally) add(name string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[name] += n
}

// report prints the counters and hands them to the figures.
func (c *tally) report(t *testing.T, what string) {
	t.Helper()
	sum := 0
	for _, name := range slices.Sorted(maps.Keys(c.n)) {
		t.Logf("%s %-28s %d", what, name, c.n[name])
		figures.Add(t, what+" "+name, c.n[name])
		sum += c.n[name]
	}
	t.Logf("%s in all: %d at %d places", what, sum, len(c.n))
}

// everyPlace are the kinds of stores and tables for points that have nothing to do with either.
var everyPlace = map[string]func(t *testing.T) *world{
	"disk, parquet": func(t *testing.T) *world { return local(t, "parquet") },
	"disk, delta":   func(t *testing.T) *world { return local(t, "delta") },
	"s3, parquet":   func(t *testing.T) *world { return onS3(t, "parquet", services.MinIO(t), "") },
	"s3, delta":     func(t *testing.T) *world { return onS3(t, "delta", services.MinIO(t), "") },
}

// TestKilledAtEachPoint kills the real program by SIGKILL at each fault point that the sources name, then kills its recovery at the same point as often as
// it gets there, up to twice; the start after that finishes, and everything is exact.
func TestKilledAtEachPoint(t *testing.T) {
	all := os.Getenv(killsEnv) == "all"
	killAtEachPoint(t, all, func(point string) map[string]scenario { return scenarios(point, all) })
}

// points are the names of all fault points of the program, sorted.
func points(t *testing.T) []string {
	return slices.Sorted(maps.Keys(sourcecode.FaultPoints(t, "../..")))
}

// killAtEachPoint kills the scenarios of each point at that point, in the middle of their work or at each hit.
func killAtEachPoint(t *testing.T, all bool, scenarios func(point string) map[string]scenario) {
	t.Helper()
	var kills tally
	t.Run("points", func(t *testing.T) {
		slots := make(chan struct{}, max(2, runtime.GOMAXPROCS(0)))
		for _, point := range points(t) {
			for name, s := range scenarios(point) {
				t.Run(point+" "+name, func(t *testing.T) {
					t.Parallel()
					slots <- struct{}{}
					defer func() { <-slots }()
					n := 0
					if all {
						n = s.dieEverywhere(t, point, strings.HasPrefix(name, "s3"))
					} else if n = s.die(t, point, 3); n == 0 { // in the middle, else at the only one
						n = s.die(t, point, 1)
					}
					if n == 0 {
						t.Errorf("the fault point %s is not passed: it needs a scenario that passes it", point)
					}
					kills.add("at "+point, n)
				})
			}
		}
	})
	kills.report(t, "kills")
}

// dieEverywhere kills at each hit, or at the first three.
func (s scenario) dieEverywhere(t *testing.T, point string, three bool) (kills int) {
	t.Helper()
	for hit := 1; hit <= 3 || !three; hit++ {
		more := s.die(t, point, hit)
		if kills += more; more == 0 {
			break
		}
	}
	return kills
}

// scenario is a command that passes fault points.
type scenario struct {
	make    func(t *testing.T) *world // ready for the command
	command func(w *world) []string
	finish  func(w *world) // after the last kill
}

// scenarios are those that pass a point.
func scenarios(point string, all bool) map[string]scenario {
	kind, _, _ := strings.Cut(point, ".")
	switch kind {
	case "purge":
		return map[string]scenario{"": purging()}
	case "cleanup":
		return map[string]scenario{"": cleaning()}
	case "optimize":
		return map[string]scenario{"": optimizing()}
	case "vacuum":
		return map[string]scenario{"": vacuuming()}
	case "foreachbatch":
		return map[string]scenario{"": handing()}
	case "filestage":
		return map[string]scenario{"": staging()}
	case "kafka", "postgres": // they need servers: TestKafkaToKafkaKilledAtEachPoint, TestPostgresKilledAtEachPoint
		return nil
	}
	places := maps.Clone(everyPlace)
	for name := range everyPlace {
		onDisk := strings.HasPrefix(name, "disk")
		switch {
		case kind == "localfs" && !onDisk, kind == "s3" && onDisk:
			delete(places, name)
		case !all && name != "disk, parquet" && !(kind == "s3" && name == "s3, parquet"):
			delete(places, name)
		}
	}
	out := map[string]scenario{}
	for name, place := range places {
		out[name] = streaming(place)
	}
	return out
}

// streaming is a query that goes through its input: seven batches with rejected rows, and two table checkpoints.
func streaming(place func(t *testing.T) *world) scenario {
	return scenario{
		make: func(t *testing.T) *world {
			w := place(t)
			w.feed(7)
			return w
		},
		command: func(w *world) []string { return []string{"start", w.file, "--once", "--progress", "none"} },
		finish: func(w *world) {
			w.feed(1)
			w.catchUp()
			w.exact()
		},
	}
}

// die kills the command at the point's so many-th hit, and what follows at its first one. It returns how many kills there were: none if the point was not
// hit so often.
func (s scenario) die(t *testing.T, point string, hit int) (kills int) {
	t.Helper()
	w := s.make(t)
	if !w.killedAt(point, hit, s.command(w)...) {
		return 0
	}
	if w.files > 0 && w.onDisk() {
		w.whole()
	}
	for kills = 1; kills < 3 && w.killedAt(point, 1, s.command(w)...); kills++ {
	}
	s.finish(w)
	if t.Failed() {
		t.Logf("%s was killed %d times at %s, first at hit %d", s.command(w), kills, point, hit)
	}
	return kills
}

// killedAt runs a command that dies at a fault point; false if it has ended well without passing it.
func (w *world) killedAt(point string, hit int, args ...string) bool {
	w.t.Helper()
	cmd := w.command(args...)
	cmd.Env = append(cmd.Env, fmt.Sprintf("MICROBATCH_FAILPOINT=%s:kill:%d", point, hit))
	e := endOf(w.t, cmd)
	if e.signal == syscall.SIGKILL {
		return true
	}
	if e.code != 0 {
		w.t.Fatalf("%s, to be killed at %s: exit code %d, signal %v\n%s", args, point, e.code, e.signal, e.out)
	}
	return false
}
