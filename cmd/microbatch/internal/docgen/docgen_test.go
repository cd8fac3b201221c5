package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
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
