// Package pgmodel is a model of a PostgreSQL database, for the sink's protocol: positions, rows and applied keys in memory, transactions that are whole or nothing,
// locks of rows, and connections that break.
//
//	(D1) What a transaction does is seen by nobody before it commits, and all at once after it.
//	(D2) A locked position is not locked again before its transaction ends: who wants it waits, and is refused after lock_timeout.
//	(D3) With its connection a transaction and a stage are gone, but for a transaction whose COMMIT was sent: that may have taken effect, or does when COMMIT arrives.
//	(D4) The server ends a transaction whose client lets it wait longer than idle_in_transaction_session_timeout; that of a COMMIT that does not arrive too.
//	(D5) What is committed stays: the server is no part of the machine on which a driver runs.
//
//	client    Connection (postgres.Database), clientTransaction    each request is an operation of its process, as package gate lets it happen
//	server    Server, session, transaction                         what a request does when it arrives
//
// Of SQL it knows what the sink's three modes do, not the statements of mode sql.
package pgmodel
