package archtest

import (
	"bufio"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// step is a row of the page's table: | 2 | `kafka.(*Source).Plan` | [sources/kafka/plan.go](...) | ... |
type step struct{ function, file string }

var stepRow = regexp.MustCompile("(?m)^\\| \\d+ \\| `([^`]+)` \\| \\[([^]]+)\\]")

// TestArchitecturePageFollowsARecord: each function that the page names is in the file that it names, and runs when one Kafka record goes into a table.
func TestArchitecturePageFollowsARecord(t *testing.T) {
	var steps []step
	for _, m := range stepRow.FindAllStringSubmatch(readPage(t, "docs/architecture.md"), -1) {
		steps = append(steps, step{m[1], m[2]})
	}
	if len(steps) < 30 {
		t.Fatalf("only %d steps found", len(steps))
	}
	covered := coverageOfOneRecord(t, steps)
	for _, s := range steps {
		from, to, err := locate(s)
		if err != nil {
			t.Error(err)
		} else if !slices.ContainsFunc(covered[s.file], func(line int) bool { return from <= line && line <= to }) {
			t.Errorf("%s in %s was not executed by TestOneKafkaRecord", s.function, s.file)
		}
	}
}

// coverageOfOneRecord runs the record in a process of its own. The result is, by file, the lines where blocks begin that were executed.
func coverageOfOneRecord(t *testing.T, steps []step) map[string][]int {
	t.Helper()
	var packages []string
	for _, s := range steps {
		packages = append(packages, "microbatch/"+path.Dir(s.file))
	}
	slices.Sort(packages)
	profile := filepath.Join(t.TempDir(), "cover.out")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-run", "^TestOneKafkaRecord$", "-coverprofile", profile,
		"-coverpkg", strings.Join(slices.Compact(packages), ","), "./onerecord")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	f, err := os.Open(profile)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := map[string][]int{}
	for scan := bufio.NewScanner(f); scan.Scan(); { // name.go:line.column,line.column statements count
		name, rest, _ := strings.Cut(strings.TrimPrefix(scan.Text(), "microbatch/"), ":")
		var line, column, endLine, endColumn, statements, count int
		if n, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &line, &column, &endLine, &endColumn, &statements, &count); err == nil && n == 6 && count > 0 {
			lines[name] = append(lines[name], line)
		}
	}
	return lines
}

// locate is the lines of a function, written as pkg.Name, pkg.Type.Name or pkg.(*Type).Name.
func locate(s step) (from, to int, err error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, filepath.Join(root, s.file), nil, 0)
	if err != nil {
		return 0, 0, err
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && nameOf(f, fn) == s.function {
			return fset.Position(fn.Pos()).Line, fset.Position(fn.End()).Line, nil
		}
	}
	return 0, 0, fmt.Errorf("there is no function %s in %s", s.function, s.file)
}

func nameOf(f *ast.File, fn *ast.FuncDecl) string {
	name := f.Name.Name + "."
	if fn.Recv != nil {
		switch t := fn.Recv.List[0].Type.(type) {
		case *ast.StarExpr:
			name += fmt.Sprintf("(*%s).", t.X)
		default:
			name += fmt.Sprintf("%s.", t)
		}
	}
	return name + fn.Name.Name
}

// TestArchitecturePageShowsTheRules: the page's table of imports is made of the rules of this package.
func TestArchitecturePageShowsTheRules(t *testing.T) {
	const begin, end = "<!-- rules: begin -->\n", "<!-- rules: end -->"
	_, rest, _ := strings.Cut(readPage(t, "docs/architecture.md"), begin)
	have, _, found := strings.Cut(rest, end)
	var want strings.Builder
	want.WriteString("\n| package | may import | because |\n|---|---|---|\n")
	for _, r := range rules {
		if r.why == "" {
			continue // the helpers that know nothing of the project
		}
		may := "anything"
		if !slices.Contains(r.may, "...") {
			may = cmp.Or(code(r.may), "nothing of ours")
		}
		fmt.Fprintf(&want, "| `%s` | %s | %s |\n", r.pkg, may, r.why)
	}
	want.WriteString("\n")
	if !found || have != want.String() {
		t.Errorf("between the marks of docs/architecture.md should stand:\n%s", want.String())
	}
}

// code is names in backquotes.
func code(names []string) string {
	quoted := make([]string, len(names))
	for i, n := range names {
		quoted[i] = "`" + n + "`"
	}
	return strings.Join(quoted, ", ")
}

func readPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
