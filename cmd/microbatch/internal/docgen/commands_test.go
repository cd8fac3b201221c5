package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"microbatch/cmd/microbatch/internal/cli"
)

// TestCommandLinesInDocsAreKnown: each command line of the pages names a command, and flags that it has.
func TestCommandLinesInDocsAreKnown(t *testing.T) {
	root := filepath.Join("..", "..", "..", "..")
	pages, err := filepath.Glob(filepath.Join(root, "docs/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, page := range append(pages, filepath.Join(root, "README.md"), filepath.Join(root, "examples/foreachbatch-duckdb/README.md")) {
		text, err := os.ReadFile(page)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range commandLines(string(text)) {
			seen++
			if err := check(line); err != nil {
				t.Errorf("%s: %s: %v", filepath.Base(page), line, err)
			}
		}
	}
	if seen < 30 {
		t.Errorf("only %d command lines found", seen)
	}
}

// commandLines are what calls microbatch in the blocks marked sh, and in backquotes.
func commandLines(text string) (lines []string) {
	for i, block := range strings.Split(text, "```") {
		if i%2 == 0 {
			for j, quoted := range strings.Split(block, "`") {
				if j%2 == 1 && strings.HasPrefix(quoted, "microbatch ") && !strings.ContainsAny(quoted, "<|\n") {
					lines = append(lines, quoted)
				}
			}
			continue
		}
		info, body, _ := strings.Cut(block, "\n")
		ok := info == "sh" || info == "sh run"
		for line := range strings.Lines(body) {
			for _, one := range strings.Split(line, "&&") {
				if one = strings.TrimSpace(one); ok && strings.HasPrefix(one, "microbatch ") {
					lines = append(lines, one)
				}
			}
		}
	}
	return lines
}

// check finds the command and parses its flags; nothing runs.
func check(line string) error {
	root := cli.Root(cli.IO{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	typed := words(line)
	if i := slices.IndexFunc(typed, func(w string) bool { return w == "|" || w == ">" }); i >= 0 { // what is done with the output
		typed = typed[:i]
	}
	command, rest, err := root.Find(typed[1:])
	if err != nil {
		return err
	}
	if err := command.ParseFlags(rest); err != nil && !errors.Is(err, pflag.ErrHelp) {
		return err
	}
	if command.HasSubCommands() && command.Flags().NArg() > 0 {
		return errors.New("there is no such command")
	}
	if command.Args == nil || command.Flags().NArg() == 0 { // the name alone is how text speaks of a command
		return nil
	}
	return command.Args(command, command.Flags().Args())
}

// words splits a line as a shell does, as far as the pages need it, and leaves out the comment.
func words(line string) (out []string) {
	var word strings.Builder
	quote, begun := rune(0), false
	end := func() {
		if begun {
			out = append(out, word.String())
		}
		word.Reset()
		begun = false
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quote, begun = r, true
		case r == ' ':
			end()
		case r == '#' && !begun:
			return out
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	end()
	return out
}
