// Package codectest is the conformance suite of the contracts in package codec. A format's tests call Files, Messages and Encoder with what is
// particular to it; the suite asserts (D1) to (D4), that memory goes back to zero, and that how a file is cut decides nothing.
package codectest
