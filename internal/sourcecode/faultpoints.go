package sourcecode

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"microbatch/engine"
)

// FaultPoints are the names of all fault points of the program (internal/failpoint), each with the files that pass it. So a point that is added is tried
// from its first day on.
func FaultPoints(t testing.TB, root string) map[string][]string {
	t.Helper()
	files := map[string][]string{}
	Each(t, root, func(file string, f *ast.File) {
		if strings.HasSuffix(file, "_test.go") {
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if arg := pointOf(n); arg != nil {
				names := namesOf(arg, file)
				if names == nil {
					t.Errorf("%s: the name of a fault point is neither a text nor a phase with a text", file)
				}
				for _, name := range names {
					if !slices.Contains(files[name], file) {
						files[name] = append(files[name], file)
					}
				}
			}
			return true
		})
	})
	return files
}

// pointOf is the argument that names a point, of a call that passes one; nil for any other node.
func pointOf(n ast.Node) ast.Expr {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return nil
	}
	s, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != "Hit" && s.Sel.Name != "Err" {
		return nil
	}
	if x, ok := s.X.(*ast.Ident); !ok || x.Name != "failpoint" {
		return nil
	}
	return call.Args[0]
}

// byDriver are the phases whose points the driver passes, by the phase's name and a text. The executor passes those of the others.
var byDriver = []engine.Phase{engine.Plan, engine.Intend, engine.Commit, engine.Record, engine.Release}

// namesOf are what an expression may come to: a text, or the name of a phase with a text.
func namesOf(e ast.Expr, file string) (names []string) {
	if name, ok := text(e); ok {
		return []string{name}
	}
	sum, ok := e.(*ast.BinaryExpr)
	if !ok || path.Dir(file) != "engine" {
		return nil
	}
	if suffix, ok := text(sum.Y); ok {
		for _, p := range byDriver {
			names = append(names, p.String()+suffix)
		}
	}
	return names
}

func text(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(lit.Value)
	return s, err == nil
}
