//go:build services && cgo && duckdb_arrow

package foreachbatch

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"microbatch/internal/errcode"
	"microbatch/internal/services"
)

// TestALateDriverFindsItsBatchForgotten: a driver sleeps between its look at the ledger and its entry, until its successors have applied the batch, and so many more that
// the batch's entry is deleted. When it wakes up it applies nothing.
func TestALateDriverFindsItsBatchForgotten(t *testing.T) {
	server := services.Postgres(t)
	name := server.NewDatabase(t)
	db := sql.OpenDB(dialer(server.URL(name, server.Password)))
	defer db.Close()
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

// dialer connects database/sql to PostgreSQL, as far as the ledger needs it. The library's own adapter needs one more module.
type dialer string

func (d dialer) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := pgx.Connect(ctx, string(d))
	return connection{c}, err
}
func (dialer) Driver() driver.Driver { return nil }

type connection struct{ *pgx.Conn }

func (c connection) Prepare(string) (driver.Stmt, error) { return nil, errors.ErrUnsupported }
func (c connection) Begin() (driver.Tx, error)           { return nil, errors.ErrUnsupported }
func (c connection) Close() error                        { return c.Conn.Close(context.Background()) }

func (c connection) BeginTx(ctx context.Context, _ driver.TxOptions) (driver.Tx, error) {
	tx, err := c.Conn.Begin(ctx)
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
