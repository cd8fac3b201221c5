package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestReadmeTour types what the README tells a newcomer to type, in an empty folder with the file that the README shows.
func TestReadmeTour(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, tour, _ := strings.Cut(string(text), "\n## Five minutes")
	tour, _, found := strings.Cut(tour, "**Keep it running.**")
	if !found {
		t.Fatal("the README has no tour")
	}
	var script, file strings.Builder
	commands := 0
	for i, block := range strings.Split(tour, "```") {
		if body, ok := strings.CutPrefix(block, "sh\n"); ok && i%2 == 1 {
			for line := range strings.Lines(body) {
				command, _, _ := strings.Cut(line, " #")
				script.WriteString("exec " + strings.ReplaceAll(strings.TrimSpace(command), `"`, "'") + "\n") // scripts quote by ' alone
				commands++
			}
		} else if i%2 == 1 && strings.HasPrefix(block, "\n{") {
			file.WriteString(block[1:])
		}
	}
	if commands < 5 || file.Len() == 0 {
		t.Fatalf("%d commands found, and a file of %d bytes", commands, file.Len())
	}
	script.WriteString("stdout 'STREAMING UPDATE +2 '\n") // the last command is the history
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "tour.txtar"), []byte(script.String()+"-- events.ndjson --\n"+file.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{Dir: dir})
}
