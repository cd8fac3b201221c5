//go:build services && cgo && duckdb_arrow

package foreachbatch

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"microbatch/internal/errcode"
	"microbatch/internal/services"
)

// TestALateDriverFindsItsBatchForgotten: a driver sleeps between its look at the ledger and its entry, until its successors have applied the batch, and so many more that
// the batch's entry is deleted. When it wakes up it applies nothing.
// It is so whatever isolation level is the database's default.
func TestALateDriverFindsItsBatchForgotten(t *testing.T) {
	server := services.Postgres(t)
	for _, level := range []string{"read committed", "repeatable read", "serializable"} {
		t.Run(level, func(t *testing.T) { lateDriver(t, openPostgres(t, server, level, dialer{})) })
	}
}

// openPostgres is a new database with a default isolation level.
func openPostgres(t *testing.T, server *services.PostgresServer, level string, d dialer) *sql.DB {
	t.Helper()
	name := server.NewDatabase(t)
	d.url = server.URL(name, server.Password)
	admin := sql.OpenDB(d)
	_, err := admin.ExecContext(t.Context(), fmt.Sprintf("ALTER DATABASE %q SET default_transaction_isolation = '%s'", name, level))
	must(t, errors.Join(err, admin.Close()))
	db := sql.OpenDB(d)
	t.Cleanup(func() { must(t, db.Close()) })
	return db
}

func lateDriver(t *testing.T, db *sql.DB) {
	t.Helper()
	for _, text := range []string{ledgerSQL, "CREATE TABLE seen (batch BIGINT)"} {
		_, err := db.ExecContext(t.Context(), text)
		must(t, err)
	}
	late := start(t, 1, Ledger(db, func(ctx context.Context, tx *sql.Tx, b Batch) error {
		_, err := tx.ExecContext(ctx, "INSERT INTO seen VALUES ($1)", int64(b.ID))
		return err
	}))

	successor, err := db.BeginTx(t.Context(), nil)
	must(t, err)
	_, err = successor.ExecContext(t.Context(), "LOCK TABLE "+ledgerTable+" IN SHARE ROW EXCLUSIVE MODE") // who reads goes on, who writes waits
	must(t, err)
	ended := make(chan error, 1)
	go func() { ended <- late.give(0, "zero", items(t, itemSchema, `[{"id":1}]`)) }()
	for waiting := 0; waiting == 0; time.Sleep(5 * time.Millisecond) {
		must(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = '"+ledgerTable+"'::regclass").Scan(&waiting))
	}
	_, err = successor.ExecContext(t.Context(), "INSERT INTO "+ledgerTable+" VALUES ('q-1', $1, 2, 'other', 1)", keptEntries+1)
	must(t, err)
	must(t, successor.Commit())

	if err := <-ended; !errcode.Has(err, errcode.DriverFenced) {
		t.Errorf("the late driver: %v", err)
	}
	if got := content(t, db, "SELECT count(*) FROM seen"); got != "0" {
		t.Errorf("it has applied its batch a second time: %s", got)
	}
}

// TestADriverThatForgetsTheLevelIsRefused: nothing is applied in a transaction that is not read committed.
func TestADriverThatForgetsTheLevelIsRefused(t *testing.T) {
	server := services.Postgres(t)
	apply := Ledger(openPostgres(t, server, "repeatable read", dialer{forgets: true}), func(context.Context, *sql.Tx, Batch) error {
		t.Error("it was applied")
		return nil
	})
	err := start(t, 1, apply).give(0, "zero", items(t, itemSchema, `[{"id":1}]`))
	if !errcode.Has(err, errcode.LedgerIsolation) || !strings.Contains(err.Error(), "repeatable read") {
		t.Error(err)
	}
}

// TestATransactionThatGivesWayIsRepeated: of a serialization failure, and of a deadlock, the class is Retry, nothing is left, and the batch is applied when it comes again.
func TestATransactionThatGivesWayIsRepeated(t *testing.T) {
	server := services.Postgres(t)
	db := openPostgres(t, server, "read committed", dialer{})
	raise := "40001"
	d := start(t, 1, Ledger(db, func(ctx context.Context, tx *sql.Tx, _ Batch) error {
		if raise != "" {
			_, err := tx.ExecContext(ctx, "DO $$ BEGIN RAISE SQLSTATE '"+raise+"'; END $$")
			return err
		}
		return nil
	}))
	for _, raise = range []string{"40001", "40P01"} {
		err := d.give(0, "zero", items(t, itemSchema, `[{"id":1}]`))
		if !errcode.Has(err, errcode.LedgerBusy) || errcode.ClassOf(err) != errcode.Retry {
			t.Errorf("%s: %v", raise, err)
		}
	}
	if got := content(t, db, "SELECT count(*) FROM "+ledgerTable); got != "0" {
		t.Errorf("%s batches are noted", got)
	}
	raise = "22012"
	if err := d.give(0, "zero", items(t, itemSchema, `[{"id":1}]`)); !errcode.Has(err, errcode.ForeachFailed) {
		t.Error(err)
	}
	raise = ""
	must(t, d.give(0, "zero", items(t, itemSchema, `[{"id":1}]`)))
	if got := content(t, db, "SELECT count(*) FROM "+ledgerTable); got != "1" {
		t.Errorf("%s batches are noted", got)
	}
}

// dialer connects database/sql to PostgreSQL, as far as the ledger needs it. The library's own adapter needs one more module.
type dialer struct {
	url     string
	forgets bool // that a transaction has a level
}

func (d dialer) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := pgx.Connect(ctx, d.url)
	return connection{c, d.forgets}, err
}
func (dialer) Driver() driver.Driver { return nil }

type connection struct {
	*pgx.Conn
	forgets bool
}

func (c connection) Prepare(string) (driver.Stmt, error) { return nil, errors.ErrUnsupported }
func (c connection) Begin() (driver.Tx, error)           { return nil, errors.ErrUnsupported }
func (c connection) Close() error                        { return c.Conn.Close(context.Background()) }

func (c connection) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	var options pgx.TxOptions
	if sql.IsolationLevel(o.Isolation) == sql.LevelReadCommitted && !c.forgets {
		options.IsoLevel = pgx.ReadCommitted
	}
	tx, err := c.Conn.BeginTx(ctx, options)
	return transaction{tx}, err
}

func (c connection) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	tag, err := c.Exec(ctx, text, values(args)...)
	return driver.RowsAffected(tag.RowsAffected()), err
}

func (c connection) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := c.Query(ctx, text, values(args)...)
	return answers{rows}, err
}

type transaction struct{ pgx.Tx }

func (t transaction) Commit() error   { return t.Tx.Commit(context.Background()) }
func (t transaction) Rollback() error { return t.Tx.Rollback(context.Background()) }

type answers struct{ pgx.Rows }

func (r answers) Columns() (names []string) {
	for _, f := range r.FieldDescriptions() {
		names = append(names, f.Name)
	}
	return names
}

func (r answers) Close() error {
	r.Rows.Close()
	return nil
}

func (r answers) Next(into []driver.Value) error {
	if !r.Rows.Next() {
		if err := r.Err(); err != nil {
			return err
		}
		return io.EOF
	}
	row, err := r.Values()
	for i, v := range row {
		into[i] = v
	}
	return err
}

func values(args []driver.NamedValue) (out []any) {
	for _, a := range args {
		out = append(out, a.Value)
	}
	return out
}
