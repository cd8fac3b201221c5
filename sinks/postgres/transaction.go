package postgres

import (
	"context"
	"errors"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"microbatch/ident"
	"microbatch/internal/errcode"
)

// transaction is one of the session's connection. It holds the session's lock from Begin to its end.
type transaction struct {
	*session
	conn *pgx.Conn
}

// Begin begins a transaction.
func (s *session) Begin(ctx context.Context) (Transaction, error) {
	s.mu.Lock()
	conn, err := s.connected(ctx)
	if err == nil {
		_, err = conn.Exec(ctx, "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
	}
	if err != nil {
		s.mu.Unlock()
		return nil, s.explain(err, "begin a transaction")
	}
	return &transaction{s, conn}, nil
}

// Lock locks the row of a position.
func (t *transaction) Lock(ctx context.Context, k Key, create bool) (p Position, found bool, err error) {
	if create {
		_, err = t.conn.Exec(ctx, "INSERT INTO "+t.positions()+" (target, query, shard, pipeline, epoch, batch, digest, entry, offsets, rows)"+
			" VALUES ($1, $2, $3, $4, 0, -1, '', '', '', 0) ON CONFLICT DO NOTHING", append(t.id(k), k.Pipeline)...)
	}
	if err == nil {
		p, found, err = scanPosition(t.conn.QueryRow(ctx, selectPosition+t.positions()+wherePosition+" FOR UPDATE", t.id(k)...))
	}
	return p, found, t.explain(err, "lock the position")
}

// Apply does what the staged rows say.
func (t *transaction) Apply(ctx context.Context, st Stage, w *Work, k Key, batch ident.BatchID) (written int64, err error) {
	if err := t.standing(st); err != nil {
		return 0, err
	}
	if w.Mode == SQL {
		return 0, t.run(ctx, w, k, batch)
	}
	sql, args := w.applySQL(t.target, k, batch)
	tag, err := t.conn.Exec(ctx, sql, args...)
	return tag.RowsAffected(), t.explain(err, "apply the rows")
}

// Write writes the position.
func (t *transaction) Write(ctx context.Context, k Key, p Position) error {
	_, err := t.conn.Exec(ctx, "UPDATE "+t.positions()+" SET pipeline = $4, epoch = $5, batch = $6, digest = $7, entry = $8, offsets = $9, rows = $10, written_at = clock_timestamp()"+
		wherePosition, append(t.id(k), k.Pipeline, int64(p.Epoch), int64(p.Batch), p.Digest, p.Entry, p.Offsets, p.Rows)...)
	return t.explain(err, "write the position")
}

// Commit sends COMMIT. Only the server's own word that it failed is certain (G5).
func (t *transaction) Commit(ctx context.Context) error {
	defer t.mu.Unlock()
	tag, err := t.conn.Exec(ctx, "COMMIT")
	refused, answered := errors.AsType[*pgconn.PgError](err)
	switch {
	case err == nil && tag.String() == "COMMIT":
		return nil
	case err == nil:
		return errcode.PostgresRefused.New(t.place, "the transaction had failed before: the server answered COMMIT with %s", tag)
	case answered && strings.EqualFold(refused.SeverityUnlocalized, "ERROR"):
		return t.explain(err, "commit")
	}
	t.hangUp(t.conn) // it may not have been sent: then the server ends the transaction
	return errcode.PostgresUncertain.Wrap(err, t.place, "COMMIT")
}

// Rollback ends the transaction. If that cannot be said, the connection ends, and the server ends the transaction.
func (t *transaction) Rollback(ctx context.Context) {
	defer t.mu.Unlock()
	if t.conn.IsClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), goodbye)
	defer cancel()
	if _, err := t.conn.Exec(ctx, "ROLLBACK"); err != nil {
		t.hangUp(t.conn)
	}
}
