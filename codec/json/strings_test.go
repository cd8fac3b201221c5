package json

import (
	"fmt"
	"strings"
	"testing"
)

// TestStringsOfEveryLength puts what ends, escapes or spoils a string at each place of it, because strings are read by pairs of words.
func TestStringsOfEveryLength(t *testing.T) {
	for length := range 50 {
		plain := strings.Repeat("abcdefghij", 5)[:length]
		compare(t, fmt.Appendf(nil, `{"n":1,"s":"%s"}`, plain))
		for at := range length {
			for _, odd := range []string{`\n`, `\u00e9`, `\"`, "\x1f", "\x7f", "\x80", "é", "\xff", `"`, `",`, `\`} {
				compare(t, fmt.Appendf(nil, `{"s":"%s%s%s","n":1}`, plain[:at], odd, plain[at:]))
			}
		}
	}
}
