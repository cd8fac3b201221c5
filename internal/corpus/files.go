package corpus

import (
	"os"
	"path/filepath"
	"testing"
)

// Files is what the files hold whose names match a pattern. A pattern that nothing matches fails the test: the target would begin with nothing.
func Files(t testing.TB, pattern string) (contents [][]byte) {
	t.Helper()
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		t.Fatalf("no file is named %s: %v", pattern, err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		contents = append(contents, data)
	}
	return contents
}
