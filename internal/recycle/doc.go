// Package recycle is an Arrow allocator that gives released memory out again. Decoders fill a few megabytes of columns, the sink encodes and releases them, and the
// next rows come: with Go's own allocator each round was cleared, faulted in and collected, 8 % of the processor time of a copy of NDJSON.
//
//	(R1) Memory is not cleared: only code that writes every byte that it later reads may allocate here. Arrow's builders and compute functions are no such code.
//	(R2) Memory is given out again at the last Release. In tests (build tag failpoints) it is overwritten first, so that who reads on finds nonsense.
//	(R3) What nobody has asked for since two garbage collections is given back.
package recycle
