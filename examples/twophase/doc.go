// Package twophase is an example: a sink of one's own, for a table of one's own in PostgreSQL, by two-phase commit. It is the shape to start from for any
// system that can prepare a transaction and finish it later, from another connection: XA databases, message queues with staged sends.
//
//	begin       Prepare   BEGIN; INSERT the rows; write the position
//	pre-commit            PREPARE TRANSACTION '<query>/<epoch>/<attempt>': durable, invisible, and it survives the process
//	commit      Commit    COMMIT PREPARED
//	abort       Abort     ROLLBACK PREPARED
//
// What makes it exactly once is not the two phases but the position, one row for each query, written by the same transaction as the rows:
//
//	query text PRIMARY KEY, epoch bigint, batch bigint, digest text
//
// A transaction that was prepared keeps the lock on that row. So a new driver first rolls back what older epochs have prepared and only then writes its epoch into
// the row; an older driver that prepares later finds the newer epoch there, and cannot. A COMMIT PREPARED that was not answered is Uncertain: the position
// tells the next driver.
//
// The server needs max_prepared_transactions > 0. A prepared transaction holds back VACUUM, so none may be forgotten: Recover is what finds them.
//
// The sinks of this project stage in other ways: see sinks/postgres for the fast one, and sinks/filestage for files.
package twophase
