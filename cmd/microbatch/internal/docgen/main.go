package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	beginMark = "<!-- generated: begin -->"
	endMark   = "<!-- generated: end -->"
)

// page is a generated file.
type page struct {
	path   string // below the module
	marked bool   // only what stands between the markers is generated
	make   func(root string) (string, error)
}

func pages() []page {
	return []page{
		{"docs/pipeline.schema.json", false, pipelineSchema},
		{"docs/pipeline.md", true, pipelineReference},
		{"docs/errors.md", false, errorList},
		{"docs/cli.md", true, commandReference},
	}
}

func main() {
	root := "."
	if len(os.Args) > 1 {
		root = os.Args[1]
	}
	for _, p := range pages() {
		if err := p.write(root); err != nil {
			fmt.Fprintln(os.Stderr, "docgen:", err)
			os.Exit(1)
		}
	}
}

func (p page) write(root string) error {
	text, err := p.text(root)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, p.path), []byte(text), 0o644)
}

// text is what the page's file should hold.
func (p page) text(root string) (string, error) {
	made, err := p.make(root)
	if err != nil || !p.marked {
		return made, err
	}
	now, err := os.ReadFile(filepath.Join(root, p.path))
	if err != nil {
		return "", err
	}
	before, rest, ok := strings.Cut(string(now), beginMark)
	_, after, ok2 := strings.Cut(rest, endMark)
	if !ok || !ok2 {
		return "", fmt.Errorf("%s: the markers %s and %s are missing", p.path, beginMark, endMark)
	}
	return before + beginMark + "\n\n" + made + "\n" + endMark + after, nil
}
