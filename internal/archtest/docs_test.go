package archtest

import (
	"go/ast"
	"strings"
	"testing"

	"microbatch/internal/sourcecode"
)

// TestEveryExportedNameIsDocumented: types, functions, methods, constants and variables. A comment of a group serves all its names.
func TestEveryExportedNameIsDocumented(t *testing.T) {
	sourcecode.Each(t, root, func(file string, f *ast.File) {
		if strings.HasSuffix(file, "_test.go") || f.Name.Name == "main" {
			return
		}
		for _, name := range undocumented(f) {
			t.Errorf("%s: %s has no comment", file, name)
		}
	})
}

// undocumented lists the exported names of a file without a comment. A comment of a group serves all its names.
func undocumented(f *ast.File) (names []string) {
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && d.Doc == nil && (d.Recv == nil || exportedReceiver(d) && !promised[d.Name.Name]) {
				names = append(names, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				names = append(names, undocumentedSpec(d, spec)...)
			}
		}
	}
	return names
}

// promised are methods of interfaces, which say there what they do.
var promised = map[string]bool{
	"String": true, "Error": true, "Unwrap": true, "Is": true, "Close": true, "Len": true, "Less": true, "Swap": true, "Read": true, "Write": true,
	"MarshalJSON": true, "UnmarshalJSON": true, "MarshalText": true, "UnmarshalText": true,
}

func undocumentedSpec(d *ast.GenDecl, spec ast.Spec) (names []string) {
	switch s := spec.(type) {
	case *ast.TypeSpec:
		if s.Name.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
			names = append(names, s.Name.Name)
		}
	case *ast.ValueSpec:
		for _, n := range s.Names {
			if n.IsExported() && d.Doc == nil && s.Doc == nil && s.Comment == nil {
				names = append(names, n.Name)
			}
		}
	}
	return names
}

// exportedReceiver reports whether a method belongs to an exported type.
func exportedReceiver(d *ast.FuncDecl) bool {
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if index, ok := t.(*ast.IndexExpr); ok {
		t = index.X
	}
	id, ok := t.(*ast.Ident)
	return ok && id.IsExported()
}
