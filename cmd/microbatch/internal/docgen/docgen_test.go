package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"microbatch/pipeline/config"
)

// TestGeneratedPagesAreCurrent fails when a config type, command or error code has changed and `make docs` was not run.
func TestGeneratedPagesAreCurrent(t *testing.T) {
	root := filepath.Join("..", "..", "..", "..")
	for _, p := range pages() {
		t.Run(p.path, func(t *testing.T) {
			want, err := p.text(root)
			if err != nil {
				t.Fatal(err)
			}
			have, err := os.ReadFile(filepath.Join(root, p.path))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, string(have)); diff != "" {
				t.Errorf("%s is not current; run `make docs` (-want +have):\n%s", p.path, diff)
			}
		})
	}
}

// TestExamplesInDocsAreValid reads every YAML block of the documentation that has keys of a pipeline file, with what it leaves out filled in.
func TestExamplesInDocsAreValid(t *testing.T) {
	root := filepath.Join("..", "..", "..", "..")
	pages, err := filepath.Glob(filepath.Join(root, "docs/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, page := range append(pages, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(page)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for n, block := range yamlBlocks(string(text)) {
			if !strings.Contains("\n"+block, "\nname:") && !strings.Contains("\n"+block, "\nsource:") && !strings.Contains("\n"+block, "\nsink:") && !strings.Contains("\n"+block, "\ntransform:") && !strings.Contains("\n"+block, "\ns3:") {
				continue
			}
			seen++
			for key, filler := range map[string]string{"name": "name: a\n", "source": "source: {files: {path: in}}\n", "sink": "sink: {table: {path: t}}\n"} {
				if key == "name" && !strings.Contains(block, "table:") && strings.Contains(block, "sink:") {
					filler += "checkpoint: c\nrejected: {table: bad}\n"
				}
				if !strings.Contains("\n"+block, "\n"+key+":") {
					block += filler
				}
			}
			for _, name := range regexp.MustCompile(`env:([A-Z_]+)`).FindAllStringSubmatch(block, -1) {
				t.Setenv(name[1], "x")
			}
			if _, err := config.Parse(filepath.Base(page), []byte(block), nil); err != nil {
				t.Errorf("%s, YAML block %d: %v\n%s", page, n+1, err, block)
			}
		}
	}
	if seen < 3 {
		t.Errorf("only %d examples found", seen)
	}
}

// yamlBlocks are the contents of the fenced blocks marked yaml.
func yamlBlocks(text string) []string {
	var out []string
	for i, part := range strings.Split(text, "```") {
		if info, body, _ := strings.Cut(part, "\n"); i%2 == 1 && (info == "yaml" || strings.HasPrefix(info, "yaml ")) {
			out = append(out, body)
		}
	}
	return out
}
