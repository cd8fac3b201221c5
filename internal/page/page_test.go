package page

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSection(t *testing.T) {
	file := filepath.Join(t.TempDir(), "p.md")
	const page = "# By hand\n<!-- a: generated -->\nold\n<!-- a: end -->\nby hand\n<!-- b: generated -->\n<!-- b: end -->\n"
	if err := os.WriteFile(file, []byte(page), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Section(file, "a", "old\n", false); err != nil {
		t.Errorf("a current section: %v", err)
	}
	if err := Section(file, "a", "new\n", false); err == nil {
		t.Error("a section that is not current was accepted")
	}
	if err := Section(file, "c", "", true); err == nil {
		t.Error("a section without markers was accepted")
	}
	for name, text := range map[string]string{"a": "new\n", "b": "b\n"} {
		if err := Section(file, name, text, true); err != nil {
			t.Error(err)
		}
	}
	const want = "# By hand\n<!-- a: generated -->\nnew\n<!-- a: end -->\nby hand\n<!-- b: generated -->\nb\n<!-- b: end -->\n"
	if got, err := os.ReadFile(file); err != nil || string(got) != want {
		t.Errorf("the page is\n%s, %v", got, err)
	}
}
