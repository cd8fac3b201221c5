//go:build failpoints

package crashtest

import (
	"slices"
	"testing"
)

// faultPointNames are the names of the program's fault points.
func faultPointNames(t *testing.T) (names []string) {
	t.Helper()
	sites, err := faultSites()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sites {
		names = append(names, s.name)
	}
	return slices.Compact(names)
}
