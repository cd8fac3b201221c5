// Package page keeps the sections of pages that programs write. A section stands between two markers, and what is around it is written by hand:
//
//	<!-- crash matrix: generated -->
//	...
//	<!-- crash matrix: end -->
package page

import (
	"fmt"
	"os"
	"strings"
)

// Section replaces what stands between the markers of a section. write: does it; otherwise the error says that the page is not current.
func Section(file, name, text string, write bool) error {
	old, before, after, err := find(file, name)
	if err != nil || old == text {
		return err
	}
	if !write {
		return fmt.Errorf("%s: section %q is not current: %s", file, name, difference(old, text))
	}
	return os.WriteFile(file, []byte(before+text+after), 0o644)
}

// difference is the first line in which two texts differ.
func difference(have, want string) string {
	for have != want {
		var h, w string
		h, have, _ = strings.Cut(have, "\n")
		w, want, _ = strings.Cut(want, "\n")
		if h != w {
			return fmt.Sprintf("it says %q, not %q", h, w)
		}
	}
	return ""
}

// find cuts a page at the markers of a section.
func find(file, name string) (section, before, after string, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", "", "", err
	}
	begin, end := fmt.Sprintf("<!-- %s: generated -->\n", name), fmt.Sprintf("<!-- %s: end -->\n", name)
	before, rest, ok := strings.Cut(string(data), begin)
	section, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return "", "", "", fmt.Errorf("%s has no section between %q and %q", file, begin, end)
	}
	return section, before + begin, end + after, nil
}
