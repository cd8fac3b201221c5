package archtest

import (
	"regexp"
	"strings"
	"testing"
)

// unfinished are the words that mark work left for later.
var unfinished = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|HA` + `CK)\b`)

// TestNothingIsMarkedAsUnfinished: what is known to be missing is an error that says so, or an issue; not a remark in the code.
func TestNothingIsMarkedAsUnfinished(t *testing.T) {
	eachText(t, func(file, text string) {
		if !strings.HasSuffix(file, ".go") && !strings.HasSuffix(file, ".py") && !strings.HasSuffix(file, ".sh") {
			return
		}
		for n, line := range strings.Split(text, "\n") {
			if w := unfinished.FindString(line); w != "" {
				t.Errorf("%s:%d: %s", file, n+1, w)
			}
		}
	})
}
