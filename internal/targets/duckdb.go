package targets

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"microbatch/checker"
	"microbatch/internal/duck"
	"microbatch/internal/errcode"
	"microbatch/internal/retry"
)

// DuckDB is a database file in which a query runs statements.
type DuckDB struct {
	unread
	Path string
}

// Position is the newest batch of the query in microbatch_ledger. The file is opened to be read, which a process that writes to it does not let happen: a running query has it
// open while a batch is applied, and is waited for.
func (d DuckDB) Position(ctx context.Context, query string) (at checker.Position, err error) {
	locked := func(err error) bool { return errcode.Has(err, errcode.DuckDBLocked) }
	err = retry.Do(ctx, retry.Policy{First: 20 * time.Millisecond, Max: 200 * time.Millisecond, Budget: 5 * time.Second}, locked, func(ctx context.Context) (err error) {
		at, err = d.newest(ctx, query)
		return err
	})
	return at, err
}

// newest is the position, if nobody else has the file open.
func (d DuckDB) newest(ctx context.Context, query string) (checker.Position, error) {
	if _, err := os.Stat(d.Path); errors.Is(err, fs.ErrNotExist) {
		return nowhere, nil
	}
	session, err := duck.Open(duck.Config{Files: true})
	if err != nil {
		return nowhere, err
	}
	defer session.Close()
	conn, err := session.Connect(ctx)
	if err != nil {
		return nowhere, err
	}
	defer conn.Close()
	if err := conn.Exec(ctx, "ATTACH "+duck.Literal(d.Path)+" AS held (READ_ONLY)"); err != nil {
		if strings.Contains(err.Error(), "lock on file") {
			return nowhere, errcode.DuckDBLocked.Wrap(err, d.Path, "")
		}
		if ctx.Err() != nil {
			return nowhere, err
		}
		return nowhere, errcode.DuckDBFailed.Wrap(err, d.Path, "open")
	}
	there, err := conn.Text(ctx, "SELECT count(*)::VARCHAR FROM duckdb_tables() WHERE database_name = 'held' AND table_name = 'microbatch_ledger'")
	if err != nil || there == "0" {
		return nowhere, err
	}
	text, err := conn.Text(ctx, "SELECT concat_ws(' ', max(batch_id), max(epoch), arg_max(digest, batch_id)) FROM held.microbatch_ledger WHERE query_id = "+duck.Literal(query))
	if err != nil || text == "" {
		return nowhere, err
	}
	return parseLedger(d.Path, text)
}

func parseLedger(place, text string) (checker.Position, error) {
	at := checker.Position{Keeps: true}
	fields := strings.Fields(text)
	if len(fields) != 3 {
		return nowhere, fmt.Errorf("%s: microbatch_ledger holds %q", place, text)
	}
	batch, err := strconv.ParseInt(fields[0], 10, 64)
	epoch, again := strconv.ParseInt(fields[1], 10, 64)
	at.Batch, at.Epoch, at.Digest = batch, epoch, fields[2]
	return at, errors.Join(err, again)
}
