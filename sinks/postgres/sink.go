package postgres

import (
	"context"
	"fmt"
	"io/fs"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/guarantee"
	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/sinks"
)

// Sink writes batches to one table.
type Sink struct {
	cfg Config
	db  Database

	mu    sync.Mutex
	rows  *arrow.Schema // of the batches, as it came to Check
	query sinks.QueryInfo
	work  *Work         // since Recover
	last  ident.BatchID // the newest batch of ours that was seen in the table: it may never go down
}

var (
	_ sinks.Sink      = (*Sink)(nil)
	_ sinks.Fencer    = (*Sink)(nil)
	_ sinks.Historian = (*Sink)(nil)
)

// New makes a sink. It connects to nothing. The error lists all that is wrong with the settings.
func New(c Config) (*Sink, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("postgres sink: %w", err)
	}
	db, err := newSession(c)
	if err != nil {
		return nil, fmt.Errorf("postgres sink: %w", err)
	}
	return &Sink{cfg: c, db: db, last: ident.NoBatch}, nil
}

// On makes a sink that works on a database which the caller has: a model of one, for tests. It closes it.
func On(db Database, c Config) (*Sink, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("postgres sink: %w", err)
	}
	return &Sink{cfg: c, db: db, last: ident.NoBatch}, nil
}

// Describe is the configuration. Where the database is reached is none of it: it may move, and takes the positions along.
func (s *Sink) Describe() ident.Description {
	return ident.Description{
		Kind: "postgres", Name: fmt.Sprintf("PostgreSQL[%s, %s]", s.cfg.Table, s.cfg.Mode),
		Identity: map[string]any{
			"table": s.cfg.Table, "mode": s.cfg.Mode, "keys": append([]string{}, s.cfg.Keys...), "order_by": append([]string{}, s.cfg.OrderBy...),
			"operation_column": s.cfg.OperationColumn, "delete_values": append([]string{}, s.cfg.DeleteValues...),
		},
		Evolution: map[string]any{"sql": append([]string{}, s.cfg.SQL...)},
	}
}

// Check compares the rows with the table, or with what a new table may be, and looks at rights and settings. It writes nothing.
func (s *Sink) Check(ctx context.Context, in *arrow.Schema) error {
	s.mu.Lock()
	s.rows = in
	s.mu.Unlock()
	_, _, err := s.examine(ctx, in)
	return err
}

// examine looks at the place and says how rows get in.
func (s *Sink) examine(ctx context.Context, rows *arrow.Schema) (Place, *Work, error) {
	place, err := s.db.Inspect(ctx)
	if err != nil {
		return place, nil, err
	}
	if err := s.cfg.checkPlace(place); err != nil {
		return place, nil, err
	}
	work, err := s.cfg.workFor(rows, place.Target)
	return place, work, err
}

// Visible is the newest batch of the query in the table. What it says is durable (G6).
func (s *Sink) Visible(ctx context.Context, q sinks.QueryInfo) (sinks.Visible, error) {
	v := sinks.Visible{Keeps: true, Batch: ident.NoBatch}
	look, err := s.db.Look(ctx, keyOf(q))
	if err != nil {
		return v, err
	}
	v.Batch, v.Epoch, v.Others = look.Position.Batch, look.Position.Epoch, look.Others
	if v.Batch == ident.NoBatch {
		return v, nil
	}
	digest, err := digestOf(look.Position.Digest)
	if err != nil {
		return v, errcode.PostgresPosition.Wrap(err, s.place(), "the row of query %s in %s", q.ID, positionsTable)
	}
	v.Digest, v.HasDigest = digest.Stored(v.Batch), true
	return v, nil
}

// Recover makes the tables if they are missing, writes the epoch into the position, and remembers who commits.
func (s *Sink) Recover(ctx context.Context, q sinks.QueryInfo, _ *sinks.Intent) error {
	s.mu.Lock()
	rows := s.rows
	s.mu.Unlock()
	if err := s.create(ctx, rows); err != nil {
		return err
	}
	_, work, err := s.examine(ctx, rows)
	if err != nil {
		return err
	}
	at, err := s.claim(ctx, q)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.query, s.work, s.last = q, work, at.Batch
	return nil
}

// create makes what is missing.
func (s *Sink) create(ctx context.Context, rows *arrow.Schema) error {
	place, work, err := s.examine(ctx, rows)
	if err != nil {
		return err
	}
	ledger := s.cfg.Mode == Ledger
	made := place.Target != nil || s.cfg.Mode == SQL
	if made && place.Positions != nil && (place.Applied != nil || !ledger) {
		return nil
	}
	definition := ""
	if !made {
		definition = s.cfg.definition(rows, work)
	}
	return s.db.Create(ctx, definition, ledger)
}

// ownTables makes the table of positions if it is missing.
func (s *Sink) ownTables(ctx context.Context) error {
	place, err := s.db.Inspect(ctx)
	if err != nil || place.Positions != nil {
		return err
	}
	if err := s.cfg.checkPlace(place); err != nil {
		return err
	}
	return s.db.Create(ctx, "", false)
}

// EntryText is the text of the entry of the newest batch; older ones are not kept.
func (s *Sink) EntryText(ctx context.Context, q sinks.QueryInfo, id ident.BatchID) ([]byte, error) {
	look, err := s.db.Look(ctx, keyOf(q))
	if err != nil {
		return nil, err
	}
	text := []byte(look.Position.Offsets)
	if look.Position.Batch != id || ident.DigestOf(text).String() != look.Position.Digest {
		return nil, fs.ErrNotExist
	}
	return text, nil
}

// Guarantee is exactly once.
func (s *Sink) Guarantee() guarantee.Link {
	l := guarantee.Link{
		Name: "appending to the PostgreSQL table " + s.cfg.Table, Level: guarantee.ExactlyOnce,
		Reason:  "rows, batch id, digest and epoch are one transaction, which compares the position under a lock",
		Visible: "all rows of a batch at once, with its COMMIT",
	}
	switch s.cfg.Mode {
	case Upsert:
		l.Name = "upserting into the PostgreSQL table " + s.cfg.Table
	case Ledger:
		l.Name = "inserting each event once into the PostgreSQL table " + s.cfg.Table
		l.Reason += "; an event that was applied before is skipped, whatever batch or query brings it"
	case SQL:
		l.Name = "statements in PostgreSQL"
		l.Reason = "what the statements do, batch id, digest and epoch are one transaction, which compares the position under a lock"
	}
	return l
}

// Close ends the connection.
func (s *Sink) Close() error { return s.db.Close() }

// now is how rows get in, since Recover.
func (s *Sink) now() *Work {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.work
}

// place names the table in messages.
func (s *Sink) place() string { return "table " + s.cfg.Table }
