//go:build bugs

package bugs

import (
	"os"
	"sync"
	"sync/atomic"
)

// Seeded says whether this build can have bugs.
const Seeded = true

var (
	on          atomic.Int64
	environment sync.Once
)

// Is reports whether a bug is on.
func Is(b Bug) bool {
	environment.Do(read)
	return Bug(on.Load()) == b
}

// Set turns one bug on, and off the one that was; 0 is none. The returned function turns that one on again. Only tests call it.
func Set(b Bug) (restore func()) {
	environment.Do(read)
	before := on.Swap(int64(b))
	return func() { on.Store(before) }
}

func read() {
	text := os.Getenv("MICROBATCH_BUG")
	if text == "" {
		return
	}
	b, ok := Parse(text)
	if !ok {
		panic("MICROBATCH_BUG: there is no bug " + text)
	}
	on.Store(int64(b))
}
