package twophase

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"microbatch/batch"
	"microbatch/guarantee"
	"microbatch/ident"
	"microbatch/sinks"
)

// Sink writes rows with the columns id BIGINT and name STRING into a table. It is used by one goroutine.
type Sink struct {
	url   string
	table string
	query sinks.QueryInfo
	conn  *pgx.Conn
}

// New is a sink for a table "id bigint, name text", which must exist, in the database at a URL.
func New(url, table string) *Sink { return &Sink{url: url, table: table} }

const positions = `CREATE TABLE IF NOT EXISTS twophase_positions (query text PRIMARY KEY, pipeline text, epoch bigint, batch bigint, digest text)`

// Numbers of PostgreSQL's errors (appendix A of its manual).
const (
	undefinedTable  = "42P01"
	undefinedObject = "42704" // no prepared transaction of that name
	lockTimeout     = "55P03"
)

func is(err error, code string) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == code
}

// connected is the connection; a new one if there is none or it is broken.
func (s *Sink) connected(ctx context.Context) (*pgx.Conn, error) {
	if s.conn != nil && !s.conn.IsClosed() {
		return s.conn, nil
	}
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return nil, errors.New("twophase: the database does not let us in") // pgx's message may hold the URL
	}
	s.conn = conn
	return conn, nil
}

// Describe is what may not change between starts.
func (s *Sink) Describe() ident.Description {
	return ident.Description{Kind: "twophase", Name: "TwoPhase[" + s.table + "]", Identity: map[string]any{"table": s.table}}
}

// Check compares the rows with what the sink can write, and asks for the table. It is read-only.
func (s *Sink) Check(ctx context.Context, in *arrow.Schema) error {
	if in.NumFields() != 2 || in.Field(0).Type.ID() != arrow.INT64 || in.Field(1).Type.ID() != arrow.STRING {
		return fmt.Errorf("twophase: rows must be id BIGINT, name STRING, not %s", in)
	}
	conn, err := s.connected(ctx)
	if err != nil {
		return err
	}
	_, err = conn.Exec(ctx, "SELECT id, name FROM "+s.name()+" LIMIT 0")
	return err
}

func (s *Sink) name() string { return pgx.Identifier{s.table}.Sanitize() }

// Visible reads the position. It is read-only: without the table of positions there is no batch.
func (s *Sink) Visible(ctx context.Context, q sinks.QueryInfo) (sinks.Visible, error) {
	v := sinks.Visible{Keeps: true, Batch: ident.NoBatch}
	conn, err := s.connected(ctx)
	if err != nil {
		return v, err
	}
	var digest string
	err = conn.QueryRow(ctx, "SELECT epoch, batch, digest FROM twophase_positions WHERE query = $1", string(q.ID)).Scan(&v.Epoch, &v.Batch, &digest)
	if is(err, undefinedTable) {
		return v, nil
	}
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return v, err
	}
	if v.Batch != ident.NoBatch {
		d, err := parseDigest(digest)
		if err != nil {
			return v, err
		}
		v.Digest, v.HasDigest = d.Stored(v.Batch), true
	}
	rows, err := conn.Query(ctx, "SELECT query FROM twophase_positions WHERE pipeline = $1 AND query <> $2 AND batch >= 0 ORDER BY query", q.Name, string(q.ID))
	if err != nil {
		return v, err
	}
	v.Others, err = pgx.AppendRows(v.Others, rows, pgx.RowTo[ident.QueryID])
	return v, err
}

// Recover rolls back what older epochs have prepared, and writes our epoch into the position.
func (s *Sink) Recover(ctx context.Context, q sinks.QueryInfo, _ *sinks.Intent) error {
	s.query = q
	return s.Fence(ctx, q)
}

// Fence makes it impossible for older epochs to commit.
func (s *Sink) Fence(ctx context.Context, q sinks.QueryInfo) error {
	conn, err := s.connected(ctx)
	if err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, positions); err != nil {
		return err
	}
	for {
		if err := s.rollBackOlder(ctx, conn, q); err != nil {
			return err
		}
		tag, err := claim(ctx, conn, q)
		if is(err, lockTimeout) && ctx.Err() == nil {
			continue // somebody older has prepared meanwhile, or is about to
		}
		if err == nil && tag.RowsAffected() == 0 {
			err = fmt.Errorf("twophase: a newer epoch than %s has claimed the table", q.Epoch)
		}
		return err
	}
}

// claim writes the epoch, unless a newer one stands there. It waits for a transaction that holds the row, but not for ever: one that is prepared holds it until it is ended.
func claim(ctx context.Context, conn *pgx.Conn, q sinks.QueryInfo) (tag pgconn.CommandTag, err error) {
	err = pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SET LOCAL lock_timeout = '1s'"); err != nil {
			return err
		}
		tag, err = tx.Exec(ctx, `INSERT INTO twophase_positions VALUES ($1, $2, $3, -1, '')
			ON CONFLICT (query) DO UPDATE SET epoch = $3, pipeline = $2 WHERE twophase_positions.epoch <= $3`, string(q.ID), q.Name, int64(q.Epoch))
		return err
	})
	return tag, err
}

// rollBackOlder ends the transactions that older epochs of the query have prepared.
func (s *Sink) rollBackOlder(ctx context.Context, conn *pgx.Conn, q sinks.QueryInfo) error {
	rows, err := conn.Query(ctx, "SELECT gid FROM pg_prepared_xacts WHERE database = current_database() AND starts_with(gid, $1)", string(q.ID)+"/")
	if err != nil {
		return err
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, name := range names {
		var epoch ident.Epoch
		if _, err := fmt.Sscanf(strings.TrimPrefix(name, string(q.ID)+"/"), "%d/", &epoch); err != nil || epoch >= q.Epoch {
			continue
		}
		if _, err := conn.Exec(ctx, "ROLLBACK PREPARED "+literal(name)); err != nil && !is(err, undefinedObject) {
			return err
		}
	}
	return nil
}

// pending is a batch whose transaction is prepared, or that was found not to need one.
type pending struct {
	name    string // of the transaction; "" if there is none
	batch   ident.BatchID
	digest  string
	rows    int64
	outcome sinks.Outcome // of a batch that is visible already, or that a newer epoch forbids: Commit says it
	refused error         // why a batch cannot be: Commit returns it
}

// Staged is how many rows were written.
func (p *pending) Staged() sinks.Staged { return sinks.Staged{Rows: p.rows} }

// errFenced ends a transaction that a newer epoch forbids.
var errFenced = errors.New("twophase: a newer epoch stands in the position")

// Prepare begins a transaction, writes position and rows, and prepares it. Whatever fails rolls it back.
func (s *Sink) Prepare(ctx context.Context, b *batch.Batch) (sinks.Pending, error) {
	p := &pending{batch: b.ID, digest: b.Digest.String(), name: fmt.Sprintf("%s/%d/%s", s.query.ID, s.query.Epoch, b.Attempt)}
	conn, err := s.connected(ctx)
	if err != nil {
		return nil, err
	}
	tx, err := conn.Begin(ctx)
	if err != nil {
		return nil, err
	}
	err = s.write(ctx, tx, p, b)
	if err == nil && p.outcome == 0 && p.refused == nil {
		if _, err = tx.Exec(ctx, "PREPARE TRANSACTION "+literal(p.name)); err == nil {
			return p, nil
		}
	}
	after, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	if again := tx.Rollback(after); again != nil && !errors.Is(again, pgx.ErrTxClosed) {
		err = errors.Join(err, again, conn.Close(after)) // the server ends what was not prepared
	}
	if p.name = ""; err != nil {
		return nil, err
	}
	return p, nil
}

// write locks the position, decides, and writes.
func (s *Sink) write(ctx context.Context, tx pgx.Tx, p *pending, b *batch.Batch) error {
	var epoch ident.Epoch
	var visible ident.BatchID
	var digest string
	if _, err := tx.Exec(ctx, "SET LOCAL lock_timeout = '10s'"); err != nil { // an attempt of ours that was prepared without our hearing of it holds the row until a start rolls it back
		return err
	}
	err := tx.QueryRow(ctx, "SELECT epoch, batch, digest FROM twophase_positions WHERE query = $1 FOR UPDATE", string(s.query.ID)).Scan(&epoch, &visible, &digest)
	if err != nil {
		return fmt.Errorf("twophase: read the position: %w", err)
	}
	switch {
	case visible == p.batch && digest == p.digest:
		p.outcome = sinks.AlreadyCommitted
		return nil
	case epoch > s.query.Epoch:
		p.outcome = sinks.Fenced
		return nil
	case visible >= p.batch:
		p.refused = fmt.Errorf("twophase: the table holds batch %s of query %s with digest %.12s, this is batch %s with digest %.12s", visible, s.query.ID, digest, p.batch, p.digest)
		return nil
	}
	if _, err := tx.Exec(ctx, "UPDATE twophase_positions SET epoch = $2, batch = $3, digest = $4 WHERE query = $1", string(s.query.ID), int64(s.query.Epoch), int64(p.batch), p.digest); err != nil {
		return err
	}
	for _, part := range b.Parts {
		for chunk, err := range part.Chunks(ctx) {
			if err == nil && chunk.Rows() > 0 {
				err = s.copy(ctx, tx, chunk.Record)
				p.rows += chunk.Rows()
			}
			chunk.Release()
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// copy writes the rows of a record.
func (s *Sink) copy(ctx context.Context, tx pgx.Tx, r arrow.RecordBatch) error {
	ids, names := r.Column(0).(*array.Int64), r.Column(1).(*array.String)
	_, err := tx.CopyFrom(ctx, pgx.Identifier{s.table}, []string{"id", "name"}, pgx.CopyFromSlice(int(r.NumRows()), func(i int) ([]any, error) {
		row := []any{nil, nil}
		if ids.IsValid(i) {
			row[0] = ids.Value(i)
		}
		if names.IsValid(i) {
			row[1] = names.Value(i)
		}
		return row, nil
	}))
	return err
}

// Commit finishes the transaction. If it is not there any more, the position says what became of the batch.
func (s *Sink) Commit(ctx context.Context, staged sinks.Pending) (sinks.Result, error) {
	p := staged.(*pending)
	r := sinks.Result{Outcome: p.outcome, Version: -1, Why: errFenced}
	if p.outcome != 0 || p.refused != nil {
		return r, p.refused
	}
	conn, err := s.connected(ctx)
	if err != nil {
		return sinks.Result{Outcome: sinks.Uncertain, Version: -1, Why: err}, nil
	}
	switch _, err = conn.Exec(ctx, "COMMIT PREPARED "+literal(p.name)); {
	case err == nil:
		r.Outcome = sinks.Committed
		return r, nil
	case !is(err, undefinedObject):
		return sinks.Result{Outcome: sinks.Uncertain, Version: -1, Why: err}, nil
	}
	v, err := s.Visible(ctx, s.query)
	switch {
	case err != nil:
		return sinks.Result{Outcome: sinks.Uncertain, Version: -1, Why: err}, nil
	case v.Batch == p.batch && v.HasDigest && v.Digest == mustParse(p.digest).Stored(p.batch):
		r.Outcome = sinks.AlreadyCommitted
		return r, nil
	case v.Epoch > s.query.Epoch:
		r.Outcome = sinks.Fenced
		return r, nil
	}
	return r, fmt.Errorf("twophase: somebody has ended transaction %s of batch %s, and no newer epoch has claimed the table", p.name, p.batch)
}

// Abort rolls the transaction back.
func (s *Sink) Abort(ctx context.Context, staged sinks.Pending) error {
	p := staged.(*pending)
	if p.name == "" {
		return nil
	}
	conn, err := s.connected(ctx)
	if err != nil {
		return err
	}
	if _, err := conn.Exec(ctx, "ROLLBACK PREPARED "+literal(p.name)); err != nil && !is(err, undefinedObject) {
		return err
	}
	return nil
}

// Guarantee is exactly once.
func (s *Sink) Guarantee() guarantee.Link {
	return guarantee.Link{Name: "two-phase commit into " + s.table, Level: guarantee.ExactlyOnce, Reason: "rows and position are one prepared transaction, and an older epoch can neither prepare nor finish one",
		Visible: "all rows of a batch at once, at COMMIT PREPARED"}
}

// Close ends the connection.
func (s *Sink) Close() error {
	if s.conn == nil || s.conn.IsClosed() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return s.conn.Close(ctx)
}

func literal(text string) string { return "'" + strings.ReplaceAll(text, "'", "''") + "'" }
