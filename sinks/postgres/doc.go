// Package postgres is a sink that writes each batch to a table of a PostgreSQL database, exactly once: rows and position are one transaction.
//
// The position of a query is a row of the table microbatch_positions, in the schema of the target table:
//
//	target     text         the table that is written to            ┐
//	query      text         the query's id                          │ primary key
//	shard      text         "", or "<index>of<count>"               ┘
//	pipeline   text         the pipeline's name
//	epoch      bigint       of the newest driver
//	batch      bigint       the newest batch that is in the table; -1: none
//	digest     text         of that batch's entry in the checkpoint, sha256 in hex; "" if there is no batch
//	entry      text         the id of the driver's run that wrote the row: <epoch>.<run id>
//	offsets    text         the text of that batch's entry
//	rows       bigint       how many rows the batch had
//	written_at timestamptz  when, by the clock of the server
//
// A batch goes this way:
//
//	Prepare   COPY the rows, in binary form, into a temporary table of the connection: nobody else sees it, and it goes with the connection
//	Commit    BEGIN; lock the position row and compare it; apply the rows; write the position; COMMIT
//
//	(G1) The position row is locked before it is compared and until the transaction ends. Whoever reads it under the lock reads the truth: of a
//	     transaction whose COMMIT was never answered too, because that one held the lock.
//	(G2) A row with a newer epoch refuses the batch, a row with this batch and our digest makes it a no-op, anything but the batch before is an error.
//	(G3) Recover writes the epoch. So it waits for what an older driver has under way, and whatever that one sends later is refused.
//	(G4) No transaction of ours waits for the network longer than the server lets it (idle_in_transaction_session_timeout), and none waits for a lock
//	     without end (lock_timeout): a driver that sleeps in the middle of a commit is in nobody's way for long.
//	(G5) An answer to COMMIT that does not arrive is Uncertain; an error before that is certain: nothing happened.
//	(G6) synchronous_commit is never off in our sessions: what COMMIT has acknowledged survives a crash of the server.
//
// How rows are applied is the mode:
//
//	append   all rows are inserted
//	upsert   a row replaces the one of its key, or deletes it if the operation column says so; of several of one key in a batch the highest in the order counts
//	ledger   a row is inserted unless a row with its key was inserted before, in whatever batch; microbatch_applied remembers the keys. Of several in a batch the
//	         lowest counts
//
// Which row of a key counts depends on the rows alone, not on the order in which they come: rows that differ and that nothing orders are an error.
//
// The protocol works on the interface Database; the rest of the package is the database itself and what is particular to its types.
package postgres
