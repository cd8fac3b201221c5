package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	tags  = "bugs,failpoints,duckdb_arrow"
	limit = 60 * time.Second // for the tests of one bug in one package
)

// result is what became of a bug.
type result struct {
	Number  int
	Name    string
	Tests   []string // that must catch it
	Caught  bool
	Missed  []string // tests that did not fail as they must, and what they did
	Seconds float64
}

// runner builds and runs tests. It is used in the root of the module.
type runner struct {
	jobs int
	dir  string // of the test programs
	mu   sync.Mutex
}

func newRunner(jobs int) *runner { return &runner{jobs: max(1, jobs)} }

// run tries the exhibits, first without their bugs, and prints a line for each as soon as it is known.
func (r *runner) run(ctx context.Context, chosen []exhibit) ([]result, error) {
	dir, err := os.MkdirTemp("", "museum-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	r.dir = dir
	wanted := testsByPackage(chosen)
	if err := r.build(ctx, wanted); err != nil {
		return nil, err
	}
	if err := r.withoutBugs(ctx, wanted); err != nil {
		return nil, err
	}
	results := make([]result, len(chosen))
	var group errgroup.Group
	group.SetLimit(r.jobs)
	for i, e := range chosen {
		group.Go(func() error {
			results[i] = r.try(ctx, e)
			r.print(results[i])
			return ctx.Err()
		})
	}
	return results, group.Wait()
}

// testsByPackage are the tests that any of the exhibits needs.
func testsByPackage(chosen []exhibit) map[string][]string {
	wanted := map[string][]string{}
	for _, e := range chosen {
		for _, c := range e.by {
			for _, test := range c.tests {
				if !slices.Contains(wanted[c.pkg], test) {
					wanted[c.pkg] = append(wanted[c.pkg], test)
				}
			}
		}
	}
	return wanted
}

func (r *runner) build(ctx context.Context, wanted map[string][]string) error {
	args := []string{"test", "-c", "-tags", tags, "-o", r.dir + "/"}
	for pkg := range wanted {
		args = append(args, "./"+pkg)
	}
	if out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("build the tests: %w\n%s", err, out)
	}
	return nil
}

// withoutBugs makes sure that the tests pass as long as nothing is wrong.
func (r *runner) withoutBugs(ctx context.Context, wanted map[string][]string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(r.jobs)
	for pkg, tests := range wanted {
		group.Go(func() error {
			if out, err := r.test(ctx, pkg, tests, 0); err != nil {
				return fmt.Errorf("%s fails without any bug: %w\n%s", pkg, err, out)
			}
			return nil
		})
	}
	return group.Wait()
}

// try runs the tests of one exhibit with its bug.
func (r *runner) try(ctx context.Context, e exhibit) result {
	began := time.Now()
	res := result{Number: int(e.bug), Name: e.bug.String()}
	for _, c := range e.by {
		judge, patterns, env := notCaught, c.tests, int(e.bug)
		if c.seeds {
			judge, patterns, env = notFound, []string{c.tests[0] + "$/^" + res.Name}, 0
		}
		out, err := r.test(ctx, c.pkg, patterns, env)
		for _, test := range c.tests {
			res.Tests = append(res.Tests, test)
			if why := judge(test, out, err); why != "" {
				res.Missed = append(res.Missed, fmt.Sprintf("%s of %s %s", test, c.pkg, why))
			}
		}
	}
	res.Caught, res.Seconds = len(res.Missed) == 0, time.Since(began).Seconds()
	return res
}

// test runs tests of a package with a bug; 0 is none. What they count is not to be taken for figures of the product.
func (r *runner) test(ctx context.Context, pkg string, tests []string, bug int) (out []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, limit+10*time.Second) // a test program that does not even end itself
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(r.dir, path.Base(pkg)+".test"),
		"-test.run", "^"+strings.Join(tests, "$|^")+"$", "-test.timeout", limit.String(), "-test.v")
	cmd.Dir = pkg
	cmd.Env = append(os.Environ(), "PROOF_FIGURES=")
	if bug > 0 {
		cmd.Env = append(cmd.Env, fmt.Sprintf("MICROBATCH_BUG=%d", bug))
	}
	cmd.WaitDelay = time.Second
	return cmd.CombinedOutput()
}

var failed = regexp.MustCompile(`(?m)^--- FAIL: (\w+) \(`)

// notCaught says what a test did instead of failing by an assertion; "" if it failed. Go's test programs end with code 1 after failures and with 2 after a panic,
// which a time-out is too.
func notCaught(test string, out []byte, err error) string {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "passes"
	case !errors.As(err, &exit):
		return "cannot be run: " + err.Error()
	case exit.ExitCode() != 1:
		return fmt.Sprintf("ends with %v, which is no assertion:\n%s", exit, tail(out))
	}
	for _, m := range failed.FindAllSubmatch(out, -1) {
		if string(m[1]) == test {
			return ""
		}
	}
	return "passes"
}

// notFound says why a test that switches the bug on itself has not found it; "" if it has, in a subtest.
func notFound(test string, out []byte, err error) string {
	switch {
	case err != nil:
		return fmt.Sprintf("has not found it: %v\n%s", err, tail(out))
	case !bytes.Contains(out, []byte("--- PASS: "+test+"/")):
		return "does not look for it"
	}
	return ""
}

// tail is the end of an output.
func tail(out []byte) string {
	const most = 2000
	return string(out[max(0, len(out)-most):])
}

func (r *runner) print(res result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	verdict := "caught by"
	if !res.Caught {
		verdict = "NOT CAUGHT by all of"
	}
	fmt.Printf("%3d  %-20s  %5.1f s  %s %s\n", res.Number, res.Name, res.Seconds, verdict, strings.Join(res.Tests, ", "))
	for _, m := range res.Missed {
		fmt.Printf("     %s\n", m)
	}
}
