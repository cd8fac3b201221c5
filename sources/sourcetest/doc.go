// Package sourcetest is the conformance suite of sources.Source: Run tries the promises (R1) to (R6) of package sources, whatever the source reads. Write one
// Subject for your source and call Run from a test.
package sourcetest
