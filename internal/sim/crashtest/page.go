package crashtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// page is where results stand, from the module's folder.
const page = "docs/exactly-once.md"

// Section replaces what stands between the markers of a section of docs/exactly-once.md. write: does it; otherwise the error says that the page is not current.
// root is the module's folder.
func Section(root, name, text string, write bool) error {
	file := filepath.Join(root, page)
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	begin, end := fmt.Sprintf("<!-- %s: generated -->\n", name), fmt.Sprintf("<!-- %s: end -->\n", name)
	before, rest, ok := strings.Cut(string(data), begin)
	old, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no section %q between %q and %q", page, name, begin, end)
	}
	if old == text {
		return nil
	}
	if !write {
		return fmt.Errorf("%s: section %q is not current", page, name)
	}
	return os.WriteFile(file, []byte(before+begin+text+end+after), 0o644)
}
