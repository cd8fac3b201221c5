package foreachbatch

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"microbatch/ident"
	"microbatch/internal/errcode"
)

// ledgerTable is where the batches that were applied are noted, in the transaction that applies them.
const ledgerTable = "microbatch_ledger"

const ledgerSQL = "CREATE TABLE IF NOT EXISTS " + ledgerTable + ` (
	query_id VARCHAR(64) NOT NULL, batch_id BIGINT NOT NULL, epoch BIGINT NOT NULL, digest VARCHAR(64) NOT NULL, row_count BIGINT NOT NULL,
	PRIMARY KEY (query_id, batch_id))`

// keptEntries is how many of a query's batches stay in the ledger.
const keptEntries = 100

// ByLedger is what Config.Exact says for functions made by Ledger, Merge and DuckDB.
const ByLedger = "query id, batch id and digest are noted in " + ledgerTable + " in the transaction that applies the batch, and a batch that is noted is skipped"

// entry is a batch in the ledger.
type entry struct {
	batch  ident.BatchID
	epoch  ident.Epoch
	digest string
}

// admit decides from the newest entry of the query, and the highest epoch, whether a batch is still to be applied. It is an error if another checkpoint, or a newer driver,
// writes under the query's id.
func (b Batch) admit(newest *entry, epoch ident.Epoch) (apply bool, err error) {
	switch {
	case newest != nil && newest.batch == b.ID && newest.digest == b.Digest.String():
		return false, nil
	case epoch > b.Epoch:
		return false, errcode.DriverFenced.New(ledgerTable, "it holds epoch %s of query %s, this driver has %s", epoch, b.Query, b.Epoch)
	case newest != nil && newest.batch >= b.ID:
		return false, errcode.ForeignDigest.New(ledgerTable, "it holds batch %s of query %s with digest %.12s, this is batch %s with digest %.12s", newest.batch, b.Query, newest.digest, b.ID, b.Digest)
	}
	return true, nil
}

// Ledger makes a function for Config.Func out of one that applies a batch in a transaction: the batch is noted in the same transaction, in the table
// microbatch_ledger, which is made if it is missing, and a batch that is noted is skipped. With Config.Exact = ByLedger the query is then exactly once.
//
// db is any database with transactions that takes parameters as $1: PostgreSQL, DuckDB, SQLite. It stays the caller's. apply neither commits nor rolls back. In PostgreSQL
// the transaction is read committed, whatever the default there is, and errcode.LedgerIsolation is the error if it cannot be: a driver that was overtaken must see in the
// middle of its transaction what others have committed. If the database ends the transaction in favour of another one, of which it tells by SQLSTATE 40001 and 40P01, the
// batch is applied again (errcode.LedgerBusy).
func Ledger(db *sql.DB, apply func(ctx context.Context, tx *sql.Tx, b Batch) error) func(ctx context.Context, b Batch) error {
	return func(ctx context.Context, b Batch) error {
		conn, err := db.Conn(ctx)
		if err != nil {
			return fmt.Errorf("connect: %w", err)
		}
		return busy(errors.Join(inTransaction(ctx, conn, b, apply), conn.Close()), b)
	}
}

// inTransaction notes and applies the batch on a connection, in one transaction.
func inTransaction(ctx context.Context, conn *sql.Conn, b Batch, apply func(context.Context, *sql.Tx, Batch) error) error {
	if _, err := conn.ExecContext(ctx, ledgerSQL); err != nil {
		return fmt.Errorf("make %s: %w", ledgerTable, err)
	}
	tx, err := begin(ctx, conn)
	if err != nil {
		return err
	}
	if err := noted(ctx, tx, b, apply); err != nil {
		return errors.Join(err, ignoreDone(tx.Rollback()))
	}
	if err := tx.Commit(); err != nil { // whether it was applied is seen when the batch comes again
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// readCommitted is how PostgreSQL calls it.
const readCommitted = "read committed"

// begin begins a transaction: of PostgreSQL, and what is like it, a read committed one. In the snapshot of a stricter one a driver that was overtaken would not see that its
// successors have applied the batch, and forgotten it.
func begin(ctx context.Context, conn *sql.Conn) (*sql.Tx, error) {
	var options *sql.TxOptions
	_, err := isolation(ctx, conn)
	levels := err == nil // other databases do not know the question, and it is asked before the transaction, which it would end
	if levels {
		options = &sql.TxOptions{Isolation: sql.LevelReadCommitted}
	}
	tx, err := conn.BeginTx(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	if !levels {
		return tx, nil
	}
	level, err := isolation(ctx, tx)
	if err == nil && level != readCommitted {
		err = errcode.LedgerIsolation.New(ledgerTable, "the transaction is %s, although %s was asked for", level, readCommitted)
	}
	if err != nil {
		return nil, errors.Join(err, ignoreDone(tx.Rollback()))
	}
	return tx, nil
}

// isolation asks PostgreSQL for the isolation level of a transaction.
func isolation(ctx context.Context, in interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}) (level string, err error) {
	err = in.QueryRowContext(ctx, "SHOW transaction_isolation").Scan(&level)
	return level, err
}

// busy gives its code to an error that says that the database has ended the transaction in favour of another one (SQL standard: serialization failure; PostgreSQL: deadlock).
func busy(err error, b Batch) error {
	if told, ok := errors.AsType[interface {
		error
		SQLState() string
	}](err); ok && (told.SQLState() == "40001" || told.SQLState() == "40P01") {
		return errcode.LedgerBusy.Wrap(err, place(b), "")
	}
	return err
}

// noted applies the batch and notes it, unless it is noted.
func noted(ctx context.Context, tx *sql.Tx, b Batch, apply func(context.Context, *sql.Tx, Batch) error) error {
	newest, epoch, err := newestEntry(ctx, tx, b.Query)
	if err != nil {
		return fmt.Errorf("read %s: %w", ledgerTable, err)
	}
	wanted, err := b.admit(newest, epoch)
	if err != nil || !wanted {
		return err
	}
	// The entry comes first: of two drivers that apply the same batch at once, the second waits here for the first, and then fails.
	if _, err := tx.ExecContext(ctx, "INSERT INTO "+ledgerTable+" VALUES ($1, $2, $3, $4, $5)", string(b.Query), int64(b.ID), int64(b.Epoch), b.Digest.String(), b.Count); err != nil {
		return fmt.Errorf("note the batch in %s: %w", ledgerTable, err)
	}
	// A driver that slept before its entry may find no other in its place: its successors have applied the batch, and many more, and have forgotten it. Their newest is still there.
	if newest, epoch, err = newestEntry(ctx, tx, b.Query); err != nil {
		return fmt.Errorf("read %s again: %w", ledgerTable, err)
	}
	if _, err := b.admit(newest, epoch); err != nil {
		return err
	}
	if _, err := tx.ExecContext(ctx, "DELETE FROM "+ledgerTable+" WHERE query_id = $1 AND batch_id < $2", string(b.Query), int64(b.ID)-keptEntries); err != nil {
		return fmt.Errorf("tidy %s: %w", ledgerTable, err)
	}
	return apply(ctx, tx, b)
}

func newestEntry(ctx context.Context, tx *sql.Tx, query ident.QueryID) (*entry, ident.Epoch, error) {
	var epoch sql.NullInt64
	if err := tx.QueryRowContext(ctx, "SELECT max(epoch) FROM "+ledgerTable+" WHERE query_id = $1", string(query)).Scan(&epoch); err != nil {
		return nil, 0, err
	}
	var e entry
	err := tx.QueryRowContext(ctx, "SELECT batch_id, epoch, digest FROM "+ledgerTable+" WHERE query_id = $1 ORDER BY batch_id DESC LIMIT 1", string(query)).Scan(&e.batch, &e.epoch, &e.digest)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, ident.Epoch(epoch.Int64), nil
	}
	return &e, ident.Epoch(epoch.Int64), err
}

func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}
