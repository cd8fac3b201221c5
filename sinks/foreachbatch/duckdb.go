package foreachbatch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"microbatch/ident"
	"microbatch/internal/duck"
	"microbatch/internal/errcode"
	"microbatch/internal/sqlvars"
)

// DuckDBConfig says what is done with each batch in a DuckDB database.
type DuckDBConfig struct {
	// Path is the database's file. It is made if it is missing, and is open only while a batch is applied, so that others can use it in between.
	Path string
	// SQL are the statements, one each, run in order in one transaction. They read the rows as the table batch; $query_id, $batch_id and $epoch say which batch it is.
	SQL []string
	// Threads of DuckDB; 0 is 1.
	Threads int
}

// DuckDB makes a function for Config.Func that runs statements on each batch, in one transaction that a ledger keeps exactly once: see Ledger.
func DuckDB(c DuckDBConfig) (func(ctx context.Context, b Batch) error, error) {
	if err := duck.Available(); err != nil {
		return nil, err
	}
	if c.Path == "" || len(c.SQL) == 0 {
		return nil, errors.New("duckdb: a file and at least one statement are required")
	}
	for i, text := range c.SQL {
		if _, err := sqlvars.Fill(text, literals(Batch{})); err != nil {
			return nil, fmt.Errorf("duckdb: statement %d: %w", i+1, err)
		}
		if verb := sqlvars.EndsTransaction(text); verb != "" {
			return nil, fmt.Errorf("duckdb: statement %d: %s is not allowed: the transaction is the sink's, which notes the batch in it", i+1, verb)
		}
	}
	return c.apply, nil
}

// literals are the facts of a batch that statements may name.
func literals(b Batch) map[string]string {
	return map[string]string{"query_id": sqlvars.Text(string(b.Query)), "batch_id": b.ID.String(), "epoch": b.Epoch.String()}
}

func (c DuckDBConfig) apply(ctx context.Context, b Batch) (err error) {
	session, err := duck.Open(duck.Config{Path: c.Path, TempDir: os.TempDir(), Threads: c.Threads})
	if err != nil && strings.Contains(err.Error(), "lock on file") {
		return errcode.DuckDBLocked.Wrap(err, c.Path, "")
	}
	if err != nil {
		return c.failed(ctx, "open", err)
	}
	defer session.Close()
	conn, err := session.Connect(ctx)
	if err != nil {
		return c.failed(ctx, "connect", err)
	}
	defer conn.Close()
	if err := conn.Exec(ctx, ledgerSQL); err != nil {
		return c.failed(ctx, "make "+ledgerTable, err)
	}
	if err := conn.Exec(ctx, "BEGIN"); err != nil {
		return c.failed(ctx, "BEGIN", err)
	}
	if err := c.inTransaction(ctx, conn, b); err != nil {
		after, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		if again := conn.Exec(after, "ROLLBACK"); again != nil && !strings.Contains(again.Error(), "no transaction is active") {
			return errors.Join(err, again)
		}
		return err
	}
	return c.failed(ctx, "COMMIT", conn.Exec(ctx, "COMMIT"))
}

// failed gives an error of DuckDB itself its code; one that comes of the end of ctx stays as it is.
func (c DuckDBConfig) failed(ctx context.Context, what string, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	return errcode.DuckDBFailed.Wrap(err, c.Path, "%s", what)
}

// inTransaction applies the batch and notes it, unless it is noted.
func (c DuckDBConfig) inTransaction(ctx context.Context, conn *duck.Conn, b Batch) error {
	newest, epoch, err := duckEntry(ctx, conn, b.Query)
	if err != nil {
		return err
	}
	wanted, err := b.admit(newest, epoch)
	if err != nil || !wanted {
		return err
	}
	view, err := conn.Register(ctx, "batch", b.Schema)
	if err != nil {
		return err
	}
	view.Serve(b.source)
	err = c.statements(ctx, conn, view, b)
	if again := view.Drop(context.WithoutCancel(ctx)); err == nil {
		err = again
	}
	if err != nil {
		return err
	}
	query := sqlvars.Text(string(b.Query))
	err = conn.Exec(ctx, fmt.Sprintf("INSERT INTO %s VALUES (%s, %s, %s, %s, %d)", ledgerTable, query, b.ID, b.Epoch, sqlvars.Text(b.Digest.String()), b.Count))
	if err != nil {
		return err
	}
	return conn.Exec(ctx, fmt.Sprintf("DELETE FROM %s WHERE query_id = %s AND batch_id < %d", ledgerTable, query, int64(b.ID)-keptEntries))
}

func (c DuckDBConfig) statements(ctx context.Context, conn *duck.Conn, view *duck.View, b Batch) error {
	for i, text := range c.SQL {
		filled, err := sqlvars.Fill(text, literals(b))
		if err != nil {
			return err
		}
		if err := conn.Exec(ctx, filled); err != nil {
			if cause := view.Err(); cause != nil { // DuckDB knows only its text
				err = cause
			}
			return errcode.ForeachSQL.Wrap(err, place(b), "statement %d", i+1)
		}
	}
	return nil
}

// duckEntry is the newest entry of a query in the ledger, and the highest epoch.
func duckEntry(ctx context.Context, conn *duck.Conn, query ident.QueryID) (*entry, ident.Epoch, error) {
	text, err := conn.Text(ctx, fmt.Sprintf("SELECT concat_ws(' ', max(batch_id), arg_max(digest, batch_id), max(epoch)) FROM %s WHERE query_id = %s", ledgerTable, sqlvars.Text(string(query))))
	if err != nil || text == "" {
		return nil, 0, err
	}
	fields := strings.Fields(text)
	if len(fields) != 3 {
		return nil, 0, fmt.Errorf("%s is damaged: %q", ledgerTable, text)
	}
	id, err := strconv.ParseInt(fields[0], 10, 64)
	epoch, err2 := strconv.ParseInt(fields[2], 10, 64)
	if err := errors.Join(err, err2); err != nil {
		return nil, 0, fmt.Errorf("%s is damaged: %w", ledgerTable, err)
	}
	return &entry{batch: ident.BatchID(id), epoch: ident.Epoch(epoch), digest: fields[1]}, ident.Epoch(epoch), nil
}

// source reads the batch once more, with the columns that a statement wants.
func (b Batch) source(columns []string) (next func() (arrow.RecordBatch, error), done func()) {
	reader, err := b.Rows()
	if err != nil {
		return func() (arrow.RecordBatch, error) { return nil, err }, func() {}
	}
	var fields []arrow.Field
	var at []int
	for _, name := range columns {
		i := b.Schema.FieldIndices(name)[0]
		fields, at = append(fields, b.Schema.Field(i)), append(at, i)
	}
	schema := arrow.NewSchema(fields, nil)
	return func() (arrow.RecordBatch, error) {
		if !reader.Next() {
			return nil, reader.Err()
		}
		all := reader.RecordBatch()
		wanted := make([]arrow.Array, len(at))
		for k, i := range at {
			wanted[k] = all.Column(i)
		}
		return array.NewRecordBatch(schema, wanted, all.NumRows()), nil
	}, reader.Release
}
