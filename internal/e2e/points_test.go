package e2e

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"microbatch/engine"
)

// steps are the phases that the driver does one by one. Read and transform are opened in prepare, and have points of their own there.
var steps = []engine.Phase{engine.Plan, engine.Intend, engine.Prepare, engine.Commit, engine.Record, engine.Release}

// points are the names of all fault points in the program's sources, sorted. So a point that is added is killed at from its first day on.
func points(t *testing.T) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "failpoint" || strings.HasPrefix(d.Name(), ".") && len(d.Name()) > 2):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if name := pointOf(n); name != nil {
				names = append(names, namesOf(t, path, name)...)
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// pointOf is the first argument of a call of package failpoint that passes a point.
func pointOf(n ast.Node) ast.Expr {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return nil
	}
	s, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	if x, ok := s.X.(*ast.Ident); !ok || x.Name != "failpoint" || s.Sel.Name == "Set" {
		return nil
	}
	return call.Args[0]
}

// namesOf evaluates a name: a text, or a phase's name and a text.
func namesOf(t *testing.T, path string, e ast.Expr) []string {
	t.Helper()
	if name, ok := text(e); ok {
		return []string{name}
	}
	if sum, ok := e.(*ast.BinaryExpr); ok {
		if suffix, ok := text(sum.Y); ok && strings.HasPrefix(suffix, ".") && filepath.Base(filepath.Dir(path)) == "engine" {
			var names []string
			for _, p := range steps {
				names = append(names, fmt.Sprint(p, suffix))
			}
			return names
		}
	}
	t.Errorf("%s: the name of a fault point is neither a text nor a phase with a text", path)
	return nil
}

func text(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(lit.Value)
	return s, err == nil
}
