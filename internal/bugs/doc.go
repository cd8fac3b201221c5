// Package bugs gives names to bugs that are seeded on purpose, so that the tests can be tested: internal/museum switches each on and requires that a test
// fails. Without the build tag "bugs" Is is the constant false: the compiler removes the question and what hangs on it, so no program that is built as
// usual holds any of them.
//
// A site is one `if bugs.Is(bugs.X)` at the place where the code does the right thing; what a bug needs beyond that stands in seeded.go of its package. With
// the tag, at most one bug is on: chosen by the environment, with its number or name, or by Set.
//
//	MICROBATCH_BUG=5
//	MICROBATCH_BUG=no-directory-sync
package bugs
