// Package orders is a source that makes up order events of a shop, for demos and tests: always the same ones for the same seed.
//
// Event i is a pure function of (Seed, Start, i), and the offset is the bare number of events before it, so any range can be
// generated again at any time and in any number of shares. Events come in blocks of 100:
//
//	position 0..99 of a block     what it is
//	97 positions                  an order of its own, with an id of its own
//	1 position in 50..99          a duplicate: the very same event as one of positions 0..49 of its block
//	2 positions in 0..49          late: an order whose event time lies 5 minutes to 6 hours before its neighbours'
//
// Which positions these are differs from block to block. Apart from the late ones, event times grow by 100 ms an event from Start.
// Expect says what a table must hold after the first n events.
package orders
