// Package ident holds the numbers and names of the batch protocol: batch ids, epochs, entry ids, digests, offsets and ranges.
//
// It is vocabulary only. Everything here is a value that is written to a log somewhere, so each type says how it is
// spelled on disk. The package imports nothing of the project.
package ident
