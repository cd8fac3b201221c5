package invariant

import "fmt"

// Check panics unless ok. The message says what holds, positively.
func Check(ok bool, format string, args ...any) {
	if !ok {
		panic("invariant violated: " + fmt.Sprintf(format, args...))
	}
}
