package crashtest

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
)

// root is the module's folder, from this one.
const root = "../../.."

// faultSite is a fault point in the program's sources.
type faultSite struct {
	name string
	file string // from the module's folder
}

// faultSites are all fault points of the program, by name. One that several places pass is there once for each.
func faultSites() (sites []faultSite, err error) {
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (d.Name() == "testdata" || d.Name() == "internal" || strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		file, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			var names []string
			if names, err = faultNames(n, file); err != nil {
				return false
			}
			for _, name := range names {
				sites = append(sites, faultSite{name, filepath.ToSlash(file)})
			}
			return true
		})
		return err
	})
	slices.SortFunc(sites, func(a, b faultSite) int { return strings.Compare(a.name+" "+a.file, b.name+" "+b.file) })
	return slices.Compact(sites), err
}

// faultNames are the names that a call of package failpoint passes; none for any other node.
func faultNames(n ast.Node, file string) ([]string, error) {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 {
		return nil, nil
	}
	if s, ok := call.Fun.(*ast.SelectorExpr); !ok || fmt.Sprint(s.X) != "failpoint" || s.Sel.Name != "Hit" && s.Sel.Name != "Err" {
		return nil, nil
	}
	switch arg := call.Args[0].(type) {
	case *ast.BasicLit:
		name, err := strconv.Unquote(arg.Value)
		return []string{name}, err
	case *ast.BinaryExpr: // of the driver: the name of the phase, then a text. The executor passes those of its phases
		var names []string
		suffix, err := strconv.Unquote(arg.Y.(*ast.BasicLit).Value)
		for _, phase := range []string{"plan", "intend", "commit", "record", "release"} {
			names = append(names, phase+suffix)
		}
		return names, err
	}
	return nil, fmt.Errorf("%s: the name of a fault point is neither a text nor a phase with a text", file)
}
