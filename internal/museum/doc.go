// Command museum tests the tests: it switches on one seeded bug after the other (internal/bugs) and requires that the tests which are named for it fail. A bug
// that none catches is a hole in the suite.
//
//	go run ./internal/museum                        all; the last line is "caught <n>/<n>", and the exit code 1 if they differ
//	go run ./internal/museum --only 5               one bug, by number or name
//	go run ./internal/museum --share 1/4            every fourth bug, from the first on
//	go run ./internal/museum --docs                 only writes docs/museum.md
//
// The tests of each package are built once. Without a bug they must pass, which is tried first. With it, each of the named tests must fail by an assertion within a
// minute: a panic, a time-out or a test that was not run is not caught. A test that switches the bug on itself must find it.
package main
