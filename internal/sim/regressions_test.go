package sim

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRegressions runs what has failed once. A file of testdata/regressions says why in its first lines, which begin with #; the rest is the options.
func TestRegressions(t *testing.T) {
	files, err := filepath.Glob("testdata/regressions/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text := string(data)
			for strings.HasPrefix(text, "#") {
				_, text, _ = strings.Cut(text, "\n")
			}
			var o options
			in := json.NewDecoder(strings.NewReader(text))
			in.DisallowUnknownFields()
			if err := in.Decode(&o); err != nil {
				t.Fatal(err)
			}
			if out := runOptions(t, o); out.violation != nil {
				t.Errorf("%v\n%s%s", out.violation, o, strings.Join(tail(out.trace), "\n"))
			}
		})
	}
}
