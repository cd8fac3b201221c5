package pgmodel

import (
	"context"
	"errors"
	"time"

	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/internal/sim/gate"
	"microbatch/internal/sim/world"
	"microbatch/sinks/postgres"
)

// Connection is the connection of one process to the server: a postgres.Database. It is made when it is needed, and again when it is gone.
type Connection struct {
	server  *Server
	process *gate.Process
	session *session       // nil: none
	stages  postgres.Stage // that were made
}

var _ postgres.Database = (*Connection)(nil)

// Connect is a process's connection.
func (s *Server) Connect(p *gate.Process) *Connection { return &Connection{server: s, process: p} }

// ask is a request to the server, and arrives is what it does there. An error that is not the server's own answer breaks the connection.
func (c *Connection) ask(ctx context.Context, kind, key string, arrives func() error) error {
	var answer error
	err := c.process.Do(ctx, world.Output, kind, key, func() error {
		c.server.mu.Lock()
		defer c.server.mu.Unlock()
		answer = arrives()
		return answer
	})
	if err == nil || err == answer && !errcode.Has(err, errcode.PostgresUnreachable) {
		return err
	}
	c.breaks()
	if kind == "commit" && !errors.Is(err, gate.ErrGone) {
		return errcode.PostgresUncertain.Wrap(err, "model", "COMMIT")
	}
	if errors.Is(err, gate.ErrGone) || errors.Is(err, context.Canceled) || err == answer {
		return err
	}
	return errcode.PostgresUnreachable.Wrap(err, "model", "%s", kind)
}

// breaks ends the session.
func (c *Connection) breaks() {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if c.session != nil {
		c.session.end()
		c.session = nil
	}
}

// on is a request outside of a transaction.
func (c *Connection) on(ctx context.Context, kind, key string, arrives func(*session) error) error {
	if c.session == nil {
		var x *session
		if err := c.ask(ctx, "connect", "", func() error { x = c.server.open(c.process.Name); return nil }); err != nil {
			return err
		}
		c.session = x
	}
	x := c.session
	return c.ask(ctx, kind, key, func() error {
		if x.ended && kind != "put" { // a statement that is one transaction is run to its end
			return gone("the session has ended")
		}
		return arrives(x)
	})
}

// Inspect says what is there.
func (c *Connection) Inspect(ctx context.Context) (p postgres.Place, err error) {
	err = c.on(ctx, "inspect", "", func(*session) error { p = c.server.inspect(); return nil })
	return p, err
}

// Create makes the tables.
func (c *Connection) Create(ctx context.Context, definition string, ledger bool) error {
	return c.on(ctx, "put", "tables", func(*session) error { c.server.create(definition, ledger); return nil })
}

// Look reads a position without a lock.
func (c *Connection) Look(ctx context.Context, k postgres.Key) (l postgres.Look, err error) {
	l.Position.Batch = ident.NoBatch
	err = c.on(ctx, "look", "position", func(*session) error { l = c.server.look(k); return nil })
	return l, err
}

// Stage empties the stage.
func (c *Connection) Stage(ctx context.Context, w *postgres.Work) (postgres.Stage, error) {
	c.stages++
	n := c.stages
	return n, c.on(ctx, "stage", "", func(x *session) error {
		x.number, x.stage = n, &stage{work: w, types: c.server.typesOf(w)}
		return nil
	})
}

// staged is a request that is about a stage.
func (c *Connection) staged(ctx context.Context, kind string, st postgres.Stage, arrives func(*stage) error) error {
	return c.on(ctx, kind, "", func(x *session) error {
		if x.number != st {
			return gone("the stage is gone")
		}
		return arrives(x.stage)
	})
}

// Copy adds rows.
func (c *Connection) Copy(ctx context.Context, st postgres.Stage, rows []byte) error {
	return c.staged(ctx, "copy", st, func(st *stage) error {
		st.rows = append(st.rows, decode(rows, st.types)...)
		return nil
	})
}

// Settle looks for rows of one key that nothing orders.
func (c *Connection) Settle(ctx context.Context, st postgres.Stage, w *postgres.Work) error {
	if w.Mode == postgres.Append {
		return nil
	}
	return c.staged(ctx, "settle", st, func(st *stage) error {
		if st.tied() {
			return errcode.TableNoOrder.New("model", "rows of one key differ")
		}
		return nil
	})
}

// Clear empties the stage. That of a session that has ended is gone with it.
func (c *Connection) Clear(ctx context.Context, st postgres.Stage) error {
	if c.session == nil || c.session.number != st {
		return nil
	}
	err := c.staged(ctx, "clear", st, func(st *stage) error { st.rows = nil; return nil })
	if c.session == nil {
		return nil
	}
	return err
}

// Close ends the connection.
func (c *Connection) Close() error {
	c.breaks()
	return nil
}

// lockTimeout is lock_timeout of the sink's sessions: longer than a transaction may wait for its client.
func (c *Connection) lockTimeout() time.Duration { return c.server.idle * 4 / 3 }

// clientTransaction is a transaction as its client has it.
type clientTransaction struct {
	*transaction
	c *Connection
}

// Begin begins a transaction.
func (c *Connection) Begin(ctx context.Context) (postgres.Transaction, error) {
	t := &clientTransaction{c: c}
	err := c.on(ctx, "begin", "", func(x *session) error { t.transaction = x.begin(); return nil })
	if err != nil {
		return nil, err
	}
	return t, nil
}

// ask is a request in the transaction.
func (t *clientTransaction) ask(ctx context.Context, kind, key string, arrives func() error) error {
	return t.c.ask(ctx, kind, key, func() error {
		if err := t.heard(); err != nil {
			return err
		}
		return arrives()
	})
}

// Lock locks a position, and waits for who has it.
func (t *clientTransaction) Lock(ctx context.Context, k postgres.Key, create bool) (p postgres.Position, found bool, err error) {
	for deadline := time.Now().Add(t.c.lockTimeout()); ; {
		busy := false
		err = t.ask(ctx, "lock", "position", func() error {
			if busy = t.lock(k); !busy {
				p, found = t.c.server.position(k)
				found = found || create
			}
			return nil
		})
		if err != nil || !busy {
			return p, found, err
		}
		if time.Now().After(deadline) {
			return p, false, errcode.PostgresBusy.New("model", "canceling statement due to lock timeout")
		}
		select {
		case <-time.After(t.c.server.idle / 10):
		case <-ctx.Done():
			t.c.breaks()
			return p, false, context.Cause(ctx)
		}
	}
}

// Apply notes what the rows will be.
func (t *clientTransaction) Apply(ctx context.Context, st postgres.Stage, _ *postgres.Work, _ postgres.Key, _ ident.BatchID) (written int64, err error) {
	err = t.ask(ctx, "apply", "", func() error {
		x := t.transaction.session
		if x.number != st {
			return gone("the stage is gone")
		}
		t.transaction.stage = x.stage
		written = t.c.server.puts(x.stage)
		return nil
	})
	return written, err
}

// Write notes what the position will be.
func (t *clientTransaction) Write(ctx context.Context, k postgres.Key, p postgres.Position) error {
	return t.ask(ctx, "write", "position", func() error {
		t.written[k] = p
		return nil
	})
}

// Commit sends COMMIT, which may arrive when the connection has broken (D3).
func (t *clientTransaction) Commit(ctx context.Context) error {
	t.c.server.mu.Lock()
	t.sent = true
	t.c.server.mu.Unlock()
	return t.ask(ctx, "commit", "", func() error { t.commit(); return nil })
}

// Rollback makes nothing of it; if that cannot be said, the connection ends.
func (t *clientTransaction) Rollback(ctx context.Context) {
	if t.c.session == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_ = t.ask(ctx, "abort", "", func() error { t.end(); return nil }) // an error has broken the connection
}
