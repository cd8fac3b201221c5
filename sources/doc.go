// Package sources is the contract of a source: something that can be read by ranges of offsets, again and again with the same result.
//
// What every source promises:
//
//	(R1) The rows of [from, to) are the same whenever they are read, by any number of splits: a rerun sees what the first run saw. What makes that
//	     impossible (retention, truncation, a changed file) is an error, never other rows.
//	(R2) Offsets are canonical JSON: equal positions are equal texts.
//	(R3) Plan never goes back: To is at or after from, and nothing between is skipped.
//	(R4) The initial position is resolved once. Open reads or resolves it without writing; Pin makes it durable.
//	(R5) What a split has covered is reported by Reached; the engine compares it with the plan, so that a short read is an error.
//	(R6) Nothing is forgotten before Release. Plan and Splits may run beside Release.
package sources
