package pgmodel

import (
	"context"
	"errors"
	"maps"
	"slices"

	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/sinks/postgres"
)

// Fate is what becomes of an operation.
type Fate int

// The fates.
const (
	Happens    Fate = iota
	FailsFirst      // the connection breaks before the operation has an effect; a new one may be made
	FailsAfter      // the connection breaks after it; a commit has happened, and nobody knows
	DiesFirst       // the process dies before it: it never does anything again
	DiesAfter       // the process dies after it
)

// ErrDied ends a process.
var ErrDied = errors.New("the process has died")

// Script decides about an operation, by its name.
type Script func(op string) Fate

// Connection is the connection of one process to the server: a postgres.Database.
type Connection struct {
	server *Server
	script Script
	dead   bool
	stage  postgres.Stage
	rows   []Row
	tx     *transaction
}

var _ postgres.Database = (*Connection)(nil)

// Connect makes a connection. The script nil lets everything happen.
func (s *Server) Connect(script Script) *Connection {
	if script == nil {
		script = func(string) Fate { return Happens }
	}
	return &Connection{server: s, script: script}
}

// do runs an operation as the script says. broken is what a connection that breaks answers.
func (c *Connection) do(op string, broken errcode.Code, effect func() error) error {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	if c.dead {
		return ErrDied
	}
	fate := c.script(op)
	var err error
	if fate != FailsFirst && fate != DiesFirst {
		err = effect()
	}
	switch fate {
	case FailsFirst, FailsAfter:
		c.breaks()
		return broken.New("model", "%s", op)
	case DiesFirst, DiesAfter:
		c.breaks()
		c.dead = true
		return ErrDied
	}
	return err
}

// breaks ends the transaction and the stage (D3).
func (c *Connection) breaks() {
	c.stage++
	c.rows = nil
	if c.tx != nil {
		c.tx.end()
	}
}

// Inspect says what is there.
func (c *Connection) Inspect(context.Context) (p postgres.Place, err error) {
	err = c.do("inspect", errcode.PostgresUnreachable, func() error {
		p = postgres.Place{Server: 150000, Encoding: "UTF8", MayCreate: true, MayStage: true}
		if c.server.made {
			t := &postgres.Table{Kind: "r", Persistence: "p", Select: true, Insert: true, Update: true, Delete: true}
			p.Positions, p.Applied = t, t
			target := *t
			target.Columns, target.Unique = c.server.columns, c.server.unique
			p.Target = &target
		}
		return nil
	})
	return p, err
}

// Create makes the tables.
func (c *Connection) Create(context.Context, string, bool) error {
	return c.do("create", errcode.PostgresUnreachable, func() error {
		c.server.made = true
		return nil
	})
}

// Look reads a position without a lock.
func (c *Connection) Look(_ context.Context, k postgres.Key) (l postgres.Look, err error) {
	err = c.do("look", errcode.PostgresUnreachable, func() error {
		l.Position, l.Found = c.server.positions[k]
		l.Others = c.server.others(k)
		return nil
	})
	if !l.Found {
		l.Position.Batch = ident.NoBatch
	}
	return l, err
}

// Stage empties the stage.
func (c *Connection) Stage(context.Context, *postgres.Work) (st postgres.Stage, err error) {
	err = c.do("stage", errcode.PostgresUnreachable, func() error {
		c.stage++
		c.rows, st = nil, c.stage
		return nil
	})
	return st, err
}

// Copy adds rows.
func (c *Connection) Copy(_ context.Context, st postgres.Stage, rows []byte) error {
	return c.do("copy", errcode.PostgresUnreachable, func() error {
		if st != c.stage {
			return errcode.PostgresUnreachable.New("model", "the stage is gone")
		}
		c.rows = append(c.rows, decode(rows)...)
		return nil
	})
}

// Settle finds nothing wrong.
func (c *Connection) Settle(context.Context, postgres.Stage, *postgres.Work) error {
	return c.do("settle", errcode.PostgresUnreachable, func() error { return nil })
}

// Clear empties the stage.
func (c *Connection) Clear(context.Context, postgres.Stage) error { return nil }

// Close ends the connection.
func (c *Connection) Close() error {
	c.server.mu.Lock()
	defer c.server.mu.Unlock()
	c.breaks()
	return nil
}

// transaction is what will be if it commits.
type transaction struct {
	c        *Connection
	locks    []postgres.Key
	written  map[postgres.Key]postgres.Position
	work     *postgres.Work
	rows     []Row
	finished bool
}

// Begin begins a transaction.
func (c *Connection) Begin(context.Context) (postgres.Transaction, error) {
	err := c.do("begin", errcode.PostgresUnreachable, func() error {
		c.tx = &transaction{c: c, written: map[postgres.Key]postgres.Position{}}
		return nil
	})
	return c.tx, err
}

// end gives the locks back.
func (t *transaction) end() {
	t.finished = true
	for _, k := range t.locks {
		delete(t.c.server.locked, k)
	}
	t.c.tx = nil
}

// do runs an operation of the transaction, if it still exists.
func (t *transaction) do(op string, broken errcode.Code, effect func() error) error {
	return t.c.do(op, broken, func() error {
		if t.finished {
			return errcode.PostgresUnreachable.New("model", "the transaction is gone")
		}
		return effect()
	})
}

// Lock locks a position (D2).
func (t *transaction) Lock(_ context.Context, k postgres.Key, create bool) (p postgres.Position, found bool, err error) {
	err = t.do("lock", errcode.PostgresUnreachable, func() error {
		if other := t.c.server.locked[k]; other != nil && other != t {
			return errcode.PostgresBusy.New("model", "the position is locked")
		}
		if p, found = t.c.server.positions[k]; !found {
			p.Batch = ident.NoBatch
		}
		found = found || create
		t.c.server.locked[k] = t
		t.locks = append(t.locks, k)
		return nil
	})
	return p, found, err
}

// Apply notes what the rows will be.
func (t *transaction) Apply(_ context.Context, st postgres.Stage, w *postgres.Work, _ postgres.Key, _ ident.BatchID) error {
	return t.do("apply", errcode.PostgresUnreachable, func() error {
		if st != t.c.stage {
			return errcode.PostgresUnreachable.New("model", "the stage is gone")
		}
		t.work, t.rows = w, slices.Clone(t.c.rows)
		return nil
	})
}

// Write notes what the position will be.
func (t *transaction) Write(_ context.Context, k postgres.Key, p postgres.Position) error {
	return t.do("write", errcode.PostgresUnreachable, func() error {
		t.written[k] = p
		return nil
	})
}

// Commit makes it so (D1).
func (t *transaction) Commit(context.Context) error {
	return t.do("commit", errcode.PostgresUncertain, func() error {
		maps.Copy(t.c.server.positions, t.written)
		if t.work != nil {
			t.c.server.apply(t.work, t.rows)
		}
		t.end()
		return nil
	})
}

// Rollback makes nothing of it.
func (t *transaction) Rollback(context.Context) {
	t.c.server.mu.Lock()
	defer t.c.server.mu.Unlock()
	if !t.finished {
		t.end()
	}
}
