package archtest

import (
	"fmt"
	"go/ast"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"microbatch/internal/sourcecode"
)

var (
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (.+)$`)
	fence    = regexp.MustCompile("(?s)```.*?```")
	goFile   = regexp.MustCompile("`([a-z0-9_/]+/[a-z0-9_]+\\.go)`")
	testName = regexp.MustCompile("`((?:Test|Fuzz|Benchmark|Example)[A-Z_]\\w*)`")
	makeCall = regexp.MustCompile("`make ([a-z-]+)`")
	errCode  = regexp.MustCompile(`\bMB\d{4}\b`)
)

// TestDocsNameWhatExists: links lead somewhere, and files, tests, make targets and error codes that a page names are there.
func TestDocsNameWhatExists(t *testing.T) {
	tests, makefile, codes := testNames(t), readPage(t, "Makefile"), readPage(t, "docs/errors.md")
	for _, page := range markdown(t) {
		text := readPage(t, page)
		for _, m := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			if fault := checkLink(t, page, m[1]); fault != "" {
				t.Errorf("%s: link %s: %s", page, m[1], fault)
			}
		}
		for _, m := range goFile.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				t.Errorf("%s names %s: %v", page, m[1], err)
			}
		}
		for _, m := range testName.FindAllStringSubmatch(text, -1) {
			if !tests[m[1]] {
				t.Errorf("%s names %s, which is no test", page, m[1])
			}
		}
		for _, m := range makeCall.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(makefile, "\n"+m[1]+":") {
				t.Errorf("%s names make %s, which is no target", page, m[1])
			}
		}
		for _, code := range errCode.FindAllString(text, -1) {
			if !strings.Contains(codes, "### "+code+":") {
				t.Errorf("%s names %s, which docs/errors.md does not know", page, code)
			}
		}
	}
}

// TestEveryPageIsInTheIndex: docs/README.md links all pages of docs.
func TestEveryPageIsInTheIndex(t *testing.T) {
	index := readPage(t, "docs/README.md")
	for _, page := range markdown(t) {
		name, ok := strings.CutPrefix(page, "docs/")
		if ok && name != "README.md" && !strings.HasPrefix(name, "decisions/0") && !strings.Contains(index, "("+name+")") {
			t.Errorf("docs/README.md does not link %s", name)
		}
	}
}

// checkLink is what is wrong with a link, if anything is. What leads out of the project is not looked at.
func checkLink(t *testing.T, page, target string) string {
	t.Helper()
	if u, err := url.Parse(target); err != nil || u.Scheme != "" {
		return ""
	}
	file, anchor, _ := strings.Cut(target, "#")
	to := page
	if file != "" {
		to = path.Join(path.Dir(page), file)
	}
	info, err := os.Stat(filepath.Join(root, to))
	if err != nil {
		return err.Error()
	}
	if anchor == "" || info.IsDir() {
		return ""
	}
	for _, m := range heading.FindAllStringSubmatch(readPage(t, to), -1) {
		if anchorOf(m[1]) == anchor {
			return ""
		}
	}
	return "there is no such heading"
}

// anchorOf is the anchor that GitHub makes of a heading.
func anchorOf(title string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(title) {
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}
	return b.String()
}

// markdown is all pages of the project.
func markdown(t *testing.T) (pages []string) {
	t.Helper()
	walk(t, func(file string) {
		if strings.HasSuffix(file, ".md") {
			pages = append(pages, file)
		}
	})
	slices.Sort(pages)
	return pages
}

// testNames are the names of all tests.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	sourcecode.Each(t, root, func(file string, f *ast.File) {
		if !strings.HasSuffix(file, "_test.go") {
			return
		}
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil {
				names[fn.Name.Name] = true
			}
		}
	})
	return names
}

// walk calls fn for every file of the project.
func walk(t *testing.T, fn func(file string)) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(root), ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("walk: %w", err)
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), ".") && file != "." || d.Name() == "testdata" || file == "bench/data") {
			return fs.SkipDir
		}
		if !d.IsDir() {
			fn(file)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestDependenciesPageIsComplete: the page lists exactly the modules that the code imports.
func TestDependenciesPageIsComplete(t *testing.T) {
	var required []string // by go.mod
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) v\S+`).FindAllStringSubmatch(readPage(t, "go.mod"), -1) {
		required = append(required, m[1])
	}
	imported := map[string]bool{}
	sourcecode.Each(t, root, func(_ string, f *ast.File) {
		for _, imp := range importsOf(f) {
			if module := moduleOf(required, imp); module != "" {
				imported[module] = true
			}
		}
	})
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(readPage(t, "docs/dependencies.md"), -1) {
		listed[m[1]] = true
		if !imported[m[1]] {
			t.Errorf("docs/dependencies.md lists %s, which nothing imports", m[1])
		}
	}
	for module := range imported {
		if !listed[module] {
			t.Errorf("docs/dependencies.md lacks %s", module)
		}
	}
}

// moduleOf is the module that a package belongs to; "" for the standard library and for our own.
func moduleOf(required []string, pkg string) (module string) {
	for _, m := range required {
		if (pkg == m || strings.HasPrefix(pkg, m+"/")) && len(m) > len(module) {
			module = m
		}
	}
	return module
}

// TestOperationsListsTheMetrics: the page's table and the program have the same names.
func TestOperationsListsTheMetrics(t *testing.T) {
	exported := map[string]bool{}
	source := readPage(t, "cmd/microbatch/internal/status/metrics.go")
	for _, m := range regexp.MustCompile(`(?:counter|gauge)\("([a-z_]+)"|Name: "microbatch_([a-z_]+)"`).FindAllStringSubmatch(source, -1) {
		exported["microbatch_"+m[1]+m[2]] = true
	}
	named := map[string]bool{}
	for _, name := range regexp.MustCompile(`microbatch_[a-z_]+`).FindAllString(readPage(t, "docs/operations.md"), -1) {
		named[name] = true
		if !exported[name] {
			t.Errorf("docs/operations.md names %s, which is no metric", name)
		}
	}
	for name := range exported {
		if !named[name] {
			t.Errorf("docs/operations.md lacks %s", name)
		}
	}
}
