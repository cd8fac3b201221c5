package pages

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../../.."

// run are the pages that are followed, in this order, on the same services: what one leaves there the next one finds, as for a reader.
var run = []string{
	"docs/sinks-kafka.md", "docs/avro.md", "docs/sinks-postgres.md", "docs/sinks-files.md", "docs/sinks-http.md", "docs/upsert.md", "docs/foreachbatch.md", "docs/explain.md",
	"docs/sources-kafka.md", "docs/sources-files.md", "docs/operations.md",
}

func mustRead(t *testing.T, page string) []block {
	t.Helper()
	blocks, err := read(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	return blocks
}

// TestWhatIsOnlyShown: a block that nothing is done with is a decision, which stands in testdata/illustrations.txt.
func TestWhatIsOnlyShown(t *testing.T) {
	text, err := os.ReadFile("testdata/illustrations.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "\n\n")
	listed := strings.Split(strings.TrimSpace(list), "\n")
	var found []string
	for _, page := range run {
		before := ""
		for _, b := range mustRead(t, page) {
			first, _, _ := strings.Cut(b.text, "\n")
			switch {
			case b.info == "":
				found = append(found, page+": "+first)
			case b.info == "printed" && before != "run" && before != "printed":
				t.Errorf("%s:%d shows what was printed, but no commands stand before it", page, b.line)
			}
			before = b.info
		}
	}
	for _, one := range found {
		if !slices.Contains(listed, one) {
			t.Errorf("nothing is done with this block. Say in its info string what it is (see doc.go), or add it to testdata/illustrations.txt:\n%s", one)
		}
	}
	for _, one := range listed {
		if !slices.Contains(found, one) {
			t.Errorf("testdata/illustrations.txt has a block that is not there: %s", one)
		}
	}
}

func TestCompare(t *testing.T) {
	for _, c := range []struct {
		shown, printed string
		same           bool
	}{
		{"a\n", "a\n", true},
		{"a  \nb\n\n", "a\nb", true},
		{"a", "ab", false},
		{"a", "a\nb", false},
		{"a\nb", "a", false},
		{"2  …  3", "2  now  3", true},
		{"2  …  3", "2  now  4", false},
		{"2  …  3", "1  now  3", false},
		{"batch …", "batch 7", true},
		{"…", "anything", true},
		{"…: b", "a: bc", false},
	} {
		if difference := compare(c.shown, c.printed); (difference == "") != c.same {
			t.Errorf("compare(%q, %q): %q", c.shown, c.printed, difference)
		}
	}
}

func TestScript(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	text := "# A page\n\n```yaml in/p.yaml\na: $b\n```\n\nsome words\n\n```sh run\ncat in/p.yaml\n```\n\n```text printed\na: $b\n```\n\n```sql\nnot run\n```\n"
	if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	blocks, err := read(page)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{3 in/p.yaml a: $b
} {9 run cat in/p.yaml
} {13 printed a: $b
} {17  not run
}]`
	if got := fmt.Sprint(blocks); got != want {
		t.Errorf("the blocks are %s, want %s", got, want)
	}
}
