//go:build !bugs

package bugs

// Seeded says whether this build can have bugs.
const Seeded = false

// Is reports whether a bug is on.
func Is(Bug) bool { return false }
