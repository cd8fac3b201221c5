// Package batch is one micro-batch as it flows: a Batch is made of Parts, each pulled by one goroutine as a sequence of Chunks.
//
// Ownership of Arrow memory, everywhere in the project:
//
//	(M1) A Chunk yielded by a sequence belongs to the receiver, which calls Chunk.Release exactly once.
//	(M2) Who stops pulling early still releases what it has received; the producer releases what it has not yielded.
//	(M3) A record kept beyond the release of its chunk is retained by who keeps it.
//	(M4) Strings and bytes handed out with a chunk (Rejected.Raw) are the receiver's: they are copies, or memory that nobody reuses.
//
// A batch is never all in memory: it is bounded by the chunks in flight.
package batch
