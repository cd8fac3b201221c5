package bugs

import (
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestAUsualBuildHoldsNoBug: neither the question whether a bug is on nor what hangs on it is in a program that is built without the tag.
func TestAUsualBuildHoldsNoBug(t *testing.T) {
	for _, tags := range []string{"", "bugs"} {
		program := filepath.Join(t.TempDir(), "probe")
		run := func(name string, args ...string) string {
			out, err := exec.Command(name, args...).CombinedOutput()
			if err != nil {
				t.Fatalf("%s %v: %v\n%s", name, args, err, out)
			}
			return string(out)
		}
		run("go", "build", "-tags", tags, "-o", program, "./testdata/probe")
		symbols := run("go", "tool", "nm", program)
		for _, s := range []string{"main.wrong", "microbatch/internal/bugs"} {
			if has, want := strings.Contains(symbols, s), tags != ""; has != want {
				t.Errorf("tags %q: symbol %s there: %v, want %v", tags, s, has, want)
			}
		}
		if got, want := run(program), map[string]string{"": "seeded: false\n", "bugs": "seeded: true\n"}[tags]; got != want {
			t.Errorf("tags %q: %s", tags, got)
		}
	}
}

func TestNamesAndNumbersAreRead(t *testing.T) {
	for _, b := range All() {
		for _, text := range []string{b.String(), strconv.Itoa(int(b))} {
			if got, ok := Parse(text); !ok || got != b {
				t.Errorf("%q is %v, %v; want %d", text, got, ok, b)
			}
		}
	}
	if b, ok := Parse("26"); !ok || b != NoEpoch {
		t.Errorf("26 is %v, %v", b, ok)
	}
	for _, text := range []string{"", "0", "14", "9x"} {
		if b, ok := Parse(text); ok {
			t.Errorf("%q is %v", text, b)
		}
	}
}
