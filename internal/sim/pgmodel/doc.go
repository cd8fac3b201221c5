// Package pgmodel is a model of a PostgreSQL database, for the sink's protocol: positions, rows and applied keys in memory, transactions that are whole or nothing,
// locks of rows, and connections that die.
//
//	(D1) What a transaction does is seen by nobody before it commits, and all at once after it.
//	(D2) A locked position is not locked again before the transaction ends: who wants it is refused, as by lock_timeout.
//	(D3) With its connection a transaction and a stage are gone. A commit that was sent may have taken effect.
//
// Each operation is told to a Script, which lets it happen, lets it fail before or after its effect, or ends the connection for good.
package pgmodel
