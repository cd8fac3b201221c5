// Command proof runs everything that shows that rows are written exactly once, prints the figures, and writes them, with the commit, the machine and the day, into
// bench/proof.json and docs/exactly-once.md.
//
//	go run ./internal/proof                       all parts: about half an hour on two processors
//	go run ./internal/proof --only crash,sim      some; the figures of the others are kept
//	go run ./internal/proof --seeds 20000         more simulations
//	go run ./internal/proof --services            the processes also on real services and with injected errors: see make test-services
//	go run ./internal/proof --no-docs             only prints
//
// The exit code is 1 if anything was violated. A part is a command that can be run alone; the page says which. Its tests count what they have done with package
// figures.
package main
