package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"microbatch/internal/errcode"
)

// TestEveryErrorCodeIsNamedByATestAndRaisedByTheCode: a code that no test names may be wrong in its words, and one that nothing raises is a promise
// that nobody keeps.
func TestEveryErrorCodeIsNamedByATestAndRaisedByTheCode(t *testing.T) {
	names := codeNames(t)
	tested, raised := map[string]bool{}, map[string]bool{}
	word := regexp.MustCompile(`errcode\.(\w+)|\b(MB\d{4})\b`)
	eachText(t, func(file, text string) {
		test := strings.HasSuffix(file, "_test.go") || strings.Contains(file, "/testdata/") || strings.HasSuffix(filepath.Dir(file), "test")
		switch {
		case strings.HasPrefix(file, "internal/errcode/") || strings.HasPrefix(file, "internal/archtest/"):
			return
		case !test && !strings.HasSuffix(file, ".go"):
			return
		}
		for _, m := range word.FindAllStringSubmatch(text, -1) {
			id := m[2]
			if m[1] != "" {
				id = names[m[1]]
			}
			if test {
				tested[id] = true
			} else if m[1] != "" {
				raised[id] = true
			}
		}
	})
	byID := map[string]string{}
	for name, id := range names {
		byID[id] = name
	}
	for _, c := range errcode.All() {
		if !tested[c.ID] {
			t.Errorf("%s (%s: %s) is named by no test", c.ID, byID[c.ID], c.Title)
		}
		if !raised[c.ID] {
			t.Errorf("%s (%s: %s) is raised by nothing", c.ID, byID[c.ID], c.Title)
		}
		delete(byID, c.ID)
	}
	if len(byID) > 0 {
		t.Errorf("not listed by errcode.All: %v", slices.Sorted(maps.Values(byID)))
	}
}

// codeNames are the Go names of the codes with their ids.
func codeNames(t *testing.T) map[string]string {
	t.Helper()
	names := map[string]string{}
	files, err := filepath.Glob("../errcode/codes_*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if spec, ok := n.(*ast.ValueSpec); ok {
				for i, v := range spec.Values {
					if id := idOf(v); id != "" {
						names[spec.Names[i].Name] = id
					}
				}
			}
			return true
		})
	}
	return names
}

// idOf is the ID of a composite literal Code{ID: "MB1234", ...}; "" if it is none.
func idOf(v ast.Expr) string {
	lit, ok := v.(*ast.CompositeLit)
	if !ok {
		return ""
	}
	for _, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			key, _ := kv.Key.(*ast.Ident)
			value, _ := kv.Value.(*ast.BasicLit)
			if key != nil && value != nil && key.Name == "ID" {
				return strings.Trim(value.Value, `"`)
			}
		}
	}
	return ""
}

// eachText calls fn for every file of the module but those of folders that begin with a dot, binaries of testdata included: they name no codes.
func eachText(t *testing.T, fn func(file, text string)) {
	t.Helper()
	err := fs.WalkDir(os.DirFS(root), ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if strings.HasPrefix(d.Name(), ".") && file != "." || d.Name() == "bin" || file == "bench" {
				return fs.SkipDir
			}
			return nil
		}
		if info, err := d.Info(); err != nil || info.Size() > 1<<20 {
			return err
		}
		data, err := os.ReadFile(filepath.Join(root, file))
		if err == nil {
			fn(file, string(data))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
