package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
)

// comments are the explanations of the config types' fields, by "Type.Field".
func comments(root string) (map[string]string, error) {
	out := map[string]string{}
	files, err := filepath.Glob(filepath.Join(root, "pipeline/config/*.go"))
	if err == nil && len(files) == 0 {
		err = fs.ErrNotExist
	}
	for _, name := range files {
		f, perr := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if perr != nil {
			return nil, perr
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				fieldComments(spec, out)
			}
			return true
		})
	}
	return out, err
}

func fieldComments(spec *ast.TypeSpec, out map[string]string) {
	structure, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range structure.Fields.List {
		for _, name := range f.Names {
			out[spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(f.Doc.Text()), " ")
		}
	}
}
