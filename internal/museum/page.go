package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"microbatch/internal/bugs"
)

const pageHead = `# Bug museum

Tests that pass prove little: they may not look. So bugs are seeded on purpose, one at a time, and for each of them tests are named that must fail.
"go run ./internal/museum" builds the tests once, sees that they pass, switches each bug on, and prints which were caught: all must be. No program that is built
as usual holds any of them (a build tag; a test looks at the symbols). With the tag, MICROBATCH_BUG=<number or name> switches one on by hand:

` + "```" + `
MICROBATCH_BUG=5 go test -tags bugs,failpoints ./objstore/localfs
` + "```" + `

Numbers up to 26 are bugs that programs of this kind have had, in public reports; the others are those that this one could have, and, from 45 to 49, some that it
did have until its own proofs found them. A further one is a name in [internal/bugs](../internal/bugs), one question at the place where the code does the right
thing, and an exhibit in [internal/museum](../internal/museum) with the tests that must catch it; if there is none, the suite has a hole, and the test comes
first. This page is written by "go run ./internal/museum --docs" from the code.

| # | name | what the code does wrongly | what it would do to you | caught by |
|---|---|---|---|---|
`

// page is docs/museum.md. root is the module's.
func page(root string) (string, error) {
	wrong, err := wrongs(root)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(pageHead)
	for _, e := range exhibits {
		var by []string
		for _, c := range e.by {
			for _, test := range c.tests {
				by = append(by, fmt.Sprintf("`%s` ([%s](../%s))", test, c.pkg, c.pkg))
			}
		}
		fmt.Fprintf(&b, "| %d | %s | %s | %s | %s |\n", e.bug, e.bug, wrong[e.bug], e.harm, strings.Join(by, ", "))
	}
	b.WriteString("\nOf the usual list these have no place here yet:\n\n")
	for _, a := range absent {
		fmt.Fprintf(&b, "- %d, %s: %s.\n", a.number, a.what, a.why)
	}
	return b.String(), nil
}

// wrongs are the comments of the constants of internal/bugs.
func wrongs(root string) (map[bugs.Bug]string, error) {
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "internal/bugs/bugs.go"), nil, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	out := map[bugs.Bug]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && spec.Comment != nil {
			if value, ok := spec.Values[0].(*ast.BasicLit); ok {
				if number, err := strconv.Atoi(value.Value); err == nil {
					out[bugs.Bug(number)] = strings.TrimSpace(spec.Comment.Text())
				}
			}
		}
		return true
	})
	return out, nil
}

func writePage(root string) error {
	text, err := page(root)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "docs/museum.md"), []byte(text), 0o666)
}
