package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"microbatch/internal/bugs"
)

const root = "../.."

// TestEachBugHasASiteAnExhibitAndItsWords: each is in the code, outside of tests, and in the museum; numbers that are missing are explained.
func TestEachBugHasASiteAnExhibitAndItsWords(t *testing.T) {
	sites := sites(t)
	wrong, err := wrongs(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range bugs.All() {
		if !slices.ContainsFunc(exhibits, func(e exhibit) bool { return e.bug == b && e.harm != "" && len(e.by) > 0 }) {
			t.Errorf("%d, %s, is no exhibit", b, b)
		}
		if wrong[b] == "" {
			t.Errorf("%d, %s, has no comment in internal/bugs", b, b)
		}
		if len(sites[b]) == 0 {
			t.Errorf("%d, %s, is nowhere in the code", b, b)
		}
	}
	var numbers []int
	for _, b := range bugs.All() {
		numbers = append(numbers, int(b))
	}
	for _, a := range absent {
		numbers = append(numbers, a.number)
	}
	slices.Sort(numbers)
	for i, n := range numbers {
		if n != i+1 {
			t.Fatalf("number %d is neither seeded nor explained", i+1)
		}
	}
	if !slices.IsSortedFunc(exhibits, func(a, b exhibit) int { return int(a.bug - b.bug) }) {
		t.Error("the exhibits are not in order")
	}
}

// sites are the files that ask for each bug.
func sites(t *testing.T) map[bugs.Bug][]string {
	t.Helper()
	ours := constants(t)
	out := map[bugs.Bug][]string{}
	is := regexp.MustCompile(`bugs\.Is\(bugs\.(\w+)\)`)
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") || strings.Contains(file, "/testdata/") {
			return err
		}
		text, err := os.ReadFile(file)
		for _, m := range is.FindAllSubmatch(text, -1) {
			b := ours[string(m[1])]
			out[b] = append(out[b], file)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// constants are the bugs by the names of their constants.
func constants(t *testing.T) map[string]bugs.Bug {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "internal/bugs/bugs.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]bugs.Bug{}
	ast.Inspect(f, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && spec.Type != nil {
			var number int
			if _, err := fmt.Sscan(spec.Values[0].(*ast.BasicLit).Value, &number); err != nil {
				t.Fatal(err)
			}
			out[spec.Names[0].Name] = bugs.Bug(number)
		}
		return true
	})
	return out
}

// TestEachNamedTestIsInItsPackage: `go test -run` says nothing about a name that is wrong.
func TestEachNamedTestIsInItsPackage(t *testing.T) {
	for pkg, tests := range testsByPackage(exhibits) {
		files, err := filepath.Glob(filepath.Join(root, pkg, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Errorf("%s has no tests: %v", pkg, err)
		}
		var all strings.Builder
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
		for _, test := range tests {
			if !strings.Contains(all.String(), "\nfunc "+test+"(t *testing.T) {") {
				t.Errorf("%s has no %s", pkg, test)
			}
		}
	}
}

func TestThePageIsCurrent(t *testing.T) {
	want, err := page(root)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(root, "docs/museum.md"))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("run `go run ./internal/museum --docs` (-want +got):\n%s", diff)
	}
}

func TestSharesAddUpToAll(t *testing.T) {
	for _, n := range []int{1, 3, 4} {
		seen := map[bugs.Bug]int{}
		for k := range n {
			chosen, err := choose("", fmt.Sprintf("%d/%d", k+1, n))
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range chosen {
				seen[e.bug]++
			}
		}
		for _, e := range exhibits {
			if seen[e.bug] != 1 {
				t.Errorf("in %d shares, %s is chosen %d times", n, e.bug, seen[e.bug])
			}
		}
	}
	for _, part := range []string{"", "0/3", "4/3", "1", "1/2x", "a/b"} {
		if _, err := choose("", part); err == nil {
			t.Errorf("share %q is accepted", part)
		}
	}
	if one, err := choose("no-epoch", "1/1"); err != nil || len(one) != 1 || one[0].bug != bugs.NoEpoch {
		t.Errorf("only no-epoch: %v, %v", one, err)
	}
	if _, err := choose("14", "1/1"); err == nil {
		t.Error("a bug that is not seeded is accepted")
	}
}

// TestABugIsCaughtOnlyByAFailedAssertion runs a test that fails, one that panics, one that passes and one that is not there, as the museum would.
func TestABugIsCaughtOnlyByAFailedAssertion(t *testing.T) {
	if os.Getenv("MICROBATCH_BUG") != "" {
		t.Skip("this is the process that is judged")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(exe, filepath.Join(dir, filepath.Base(dir)+".test")); err != nil {
		t.Fatal(err)
	}
	r := &runner{jobs: 1, dir: dir}
	for test, want := range map[string]string{"TestThatFails": "", "TestThatPanics": "ends with exit status 2, which is no assertion", "TestThatPasses": "passes", "TestThatIsNotThere": "passes"} {
		out, err := r.test(t.Context(), dir, []string{test}, int(bugs.SkipTxn))
		if got := notCaught(test, out, err); !strings.HasPrefix(got, want) || (got == "") != (want == "") {
			t.Errorf("%s %s, want %q\n%s", test, got, want, out)
		}
	}
}

// The tests that are judged: in the process of the suite itself they do nothing.

func TestThatFails(t *testing.T) {
	if os.Getenv("MICROBATCH_BUG") != "" {
		t.Error("caught")
	}
}

func TestThatPanics(t *testing.T) {
	if os.Getenv("MICROBATCH_BUG") != "" {
		panic("broken")
	}
}

func TestThatPasses(*testing.T) {}

// TestNoRecipeButThatOfTheMuseumHasTheTag: what make builds and tests otherwise cannot have a bug.
func TestNoRecipeButThatOfTheMuseumHasTheTag(t *testing.T) {
	for _, file := range []string{"Makefile", ".ci/run"} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range strings.Split(string(text), "\n") {
			if regexp.MustCompile(`(TAGS|tags)\b.*\bbugs\b`).MatchString(line) && !strings.Contains(line, " vet ") {
				t.Errorf("%s:%d: %s", file, n+1, line)
			}
		}
	}
}
