package pages

import (
	"fmt"
	"os"
	"strings"
)

// block is a fenced block of a page.
type block struct {
	line int    // of the opening fence
	info string // behind the fence, without the language: a file's name, "run", "printed", or nothing
	text string // ends with a newline
}

// read takes a page apart.
func read(file string) (blocks []block, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	open := false
	for i, line := range strings.SplitAfter(string(data), "\n") {
		fence, isFence := strings.CutPrefix(line, "```")
		switch {
		case isFence && open:
			open = false
		case isFence:
			open = true
			_, info, _ := strings.Cut(strings.TrimSpace(fence), " ")
			blocks = append(blocks, block{line: i + 1, info: info})
		case open:
			blocks[len(blocks)-1].text += line
		}
	}
	if open {
		return nil, fmt.Errorf("%s: the last block has no end", file)
	}
	return blocks, nil
}

// heading begins what a block has printed, in the output of the script.
func heading(line int) string { return fmt.Sprintf("==== line %d ====\n", line) }

// script is a page as a shell reads it.
func script(blocks []block) string {
	var b strings.Builder
	b.WriteString("set -euo pipefail\ntrap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n")
	for _, block := range blocks {
		fmt.Fprintf(&b, "printf '%%s\\n' '%s'\n", strings.TrimSpace(heading(block.line)))
		switch block.info {
		case "", "printed":
		case "run":
			b.WriteString(block.text)
		default:
			fmt.Fprintf(&b, "mkdir -p \"$(dirname '%s')\"\ncat >'%s' <<'END OF BLOCK'\n%sEND OF BLOCK\n", block.info, block.info, block.text)
		}
	}
	return b.String()
}

// printedBy is what a block has printed, of all that the script has.
func printedBy(out string, line int) string {
	_, rest, _ := strings.Cut(out, heading(line))
	text, _, _ := strings.Cut(rest, "==== line ")
	return text
}

// compare says how what was printed differs from what a page shows; "" if it does not.
func compare(shown, printed string) string {
	want, got := lines(shown), lines(printed)
	for i := range max(len(want), len(got)) {
		switch {
		case i == len(want):
			return fmt.Sprintf("more is printed than is shown: %q", got[i])
		case i == len(got):
			return fmt.Sprintf("shown, and not printed: %q", want[i])
		case !matches(want[i], got[i]):
			return fmt.Sprintf("shown:   %q\nprinted: %q", want[i], got[i])
		}
	}
	return ""
}

// lines are those of a text, without blanks at their ends, which nobody sees, and without empty lines at the end.
func lines(text string) (out []string) {
	for line := range strings.Lines(strings.TrimRight(text, " \n")) {
		out = append(out, strings.TrimRight(line, " \n"))
	}
	return out
}

// matches says whether a line is as it is shown, where "…" may be anything.
func matches(shown, line string) bool {
	parts := strings.Split(shown, "…")
	rest, ok := strings.CutPrefix(line, parts[0])
	for _, part := range parts[1:] {
		var found bool
		_, rest, found = strings.Cut(rest, part)
		ok = ok && found
	}
	return ok && (rest == "" || parts[len(parts)-1] == "" && len(parts) > 1)
}
