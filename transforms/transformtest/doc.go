// Package transformtest is the conformance suite of package transforms: every operator passes it.
package transformtest
