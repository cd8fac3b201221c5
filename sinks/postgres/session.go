package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/internal/retry"
)

// What the server does with a transaction of ours that waits: for the network (G4), and for a lock. The second is longer, so that one wait for an older driver's
// transaction is enough.
const (
	idleTimeout = 30 * time.Second
	lockTimeout = 40 * time.Second
)

// goodbye bounds what is said to a server at the end: nothing depends on its being heard.
const goodbye = 5 * time.Second

// session is a Database: one connection, made when it is needed and again when it is gone.
type session struct {
	config   *pgx.ConnConfig
	place    string // of messages
	retryFor time.Duration

	mu     sync.Mutex
	target Name // with its schema once it is known
	conn   *pgx.Conn
	stage  Stage  // the newest; its rows are in conn's temporary table
	shape  string // of conn's temporary table, as SQL; "" if there is none
}

// newSession reads the settings. It connects to nothing.
func newSession(c Config) (*session, error) {
	config, err := pgx.ParseConfig(c.URL)
	if err != nil {
		return nil, fmt.Errorf("url: %w", err) // pgx leaves the password out
	}
	if !c.Password.IsZero() {
		config.Password = c.Password.Expose()
	}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = "microbatch"
	}
	target, err := parseName(c.Table)
	place := fmt.Sprintf("PostgreSQL %s:%d/%s, table %s", config.Host, config.Port, config.Database, c.Table)
	return &session{config: config, place: place, retryFor: c.RetryFor, target: target}, err
}

// connected is the connection, which is made if there is none.
func (s *session) connected(ctx context.Context) (*pgx.Conn, error) {
	if s.conn != nil && !s.conn.IsClosed() {
		return s.conn, nil
	}
	s.conn, s.shape, s.stage = nil, "", s.stage+1 // what was staged went with the connection
	err := retry.Do(ctx, retry.Policy{Budget: s.retryFor}, isRetry, func(ctx context.Context) error {
		conn, err := s.connect(ctx)
		s.conn = conn
		return s.explain(err, "connect")
	})
	return s.conn, err
}

// connect makes a connection and sets what our transactions rest on.
func (s *session) connect(ctx context.Context) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, s.config)
	if err != nil {
		return nil, err
	}
	settings := fmt.Sprintf("SET client_encoding = 'UTF8'; SET jit = off; SET lock_timeout = %d; SET idle_in_transaction_session_timeout = %d;"+
		" SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
		lockTimeout.Milliseconds(), idleTimeout.Milliseconds())
	if _, err = conn.Exec(ctx, settings); err == nil && s.target.Schema == "" {
		var schema *string
		if err = conn.QueryRow(ctx, "SELECT current_schema()").Scan(&schema); err == nil && schema == nil {
			err = errcode.PostgresTable.New(s.place, "no schema of the user's search_path exists; name it: schema.table")
		} else if err == nil {
			s.target.Schema = *schema
		}
	}
	if err != nil {
		s.hangUp(conn)
		return nil, err
	}
	return conn, nil
}

// on runs an operation on the connection, alone. Its error gets a code.
func (s *session) on(ctx context.Context, what string, op func(*pgx.Conn) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	conn, err := s.connected(ctx)
	if err != nil {
		return err
	}
	return s.explain(op(conn), what)
}

// Look reads a position without a lock.
func (s *session) Look(ctx context.Context, k Key) (l Look, err error) {
	l.Position = nowhere
	err = s.on(ctx, "read the position", func(conn *pgx.Conn) error {
		row := conn.QueryRow(ctx, selectPosition+s.positions()+wherePosition, s.id(k)...)
		if l.Position, l.Found, err = scanPosition(row); err != nil {
			if sqlState(err) == "42P01" || sqlState(err) == "3F000" { // no such table, no such schema
				return nil
			}
			return err
		}
		rows, err := conn.Query(ctx, "SELECT query FROM "+s.positions()+
			" WHERE target = $1 AND shard = $2 AND pipeline = $3 AND query <> $4 AND batch >= 0 ORDER BY query COLLATE \"C\"",
			s.target.Table, k.Shard.String(), k.Pipeline, string(k.Query))
		if err != nil {
			return err
		}
		l.Others, err = pgx.AppendRows(l.Others, rows, pgx.RowTo[ident.QueryID])
		return err
	})
	return l, err
}

const (
	selectPosition = "SELECT epoch, batch, digest, entry, offsets, rows FROM "
	wherePosition  = " WHERE target = $1 AND query = $2 AND shard = $3"
)

func scanPosition(row pgx.Row) (p Position, found bool, err error) {
	err = row.Scan(&p.Epoch, &p.Batch, &p.Digest, &p.Entry, &p.Offsets, &p.Rows)
	if errors.Is(err, pgx.ErrNoRows) {
		return nowhere, false, nil
	}
	if err != nil {
		return nowhere, false, err
	}
	return p, true, nil
}

// Create makes what is missing. Two drivers that do so at once wait for each other: CREATE TABLE IF NOT EXISTS may fail beside itself.
func (s *session) Create(ctx context.Context, definition string, ledger bool) error {
	return s.on(ctx, "create tables", func(conn *pgx.Conn) error {
		statements := []string{"SELECT pg_advisory_xact_lock(hashtext('" + positionsTable + "'))", positionsSQL(s.target.beside(positionsTable))}
		if ledger {
			statements = append(statements, appliedSQL(s.target.beside(appliedTable)))
		}
		if definition != "" {
			statements = append(statements, "CREATE TABLE IF NOT EXISTS "+s.target.String()+" "+definition)
		}
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			for _, statement := range statements {
				if _, err := tx.Exec(ctx, statement); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// Stage empties the connection's temporary table, or makes it.
func (s *session) Stage(ctx context.Context, w *Work) (st Stage, err error) {
	err = s.on(ctx, "make the stage", func(conn *pgx.Conn) error {
		statement, shape := "TRUNCATE "+stageTable, w.stageSQL()
		if shape != s.shape {
			statement = "DROP TABLE IF EXISTS " + stageTable + "; " + shape
		}
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
		s.shape = shape
		s.stage++
		st = s.stage
		return nil
	})
	return st, err
}

// Copy adds rows to the stage.
func (s *session) Copy(ctx context.Context, st Stage, rows []byte) error {
	return s.on(ctx, "copy rows to the stage", func(conn *pgx.Conn) error {
		if err := s.standing(st); err != nil {
			return err
		}
		_, err := conn.PgConn().CopyFrom(ctx, bytes.NewReader(rows), "COPY "+stageTable+" FROM STDIN (FORMAT binary)")
		return err
	})
}

// Settle looks for rows of one key that nothing orders, and tells the server what is in the stage, which plans by it.
func (s *session) Settle(ctx context.Context, st Stage, w *Work) error {
	if w.Mode == Append || w.Mode == SQL {
		return nil
	}
	return s.on(ctx, "look through the stage", func(conn *pgx.Conn) error {
		if err := s.standing(st); err != nil {
			return err
		}
		if _, err := conn.Exec(ctx, "ANALYZE "+stageTable); err != nil {
			return err
		}
		var key string
		err := conn.QueryRow(ctx, w.tiesSQL()).Scan(&key)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		return errcode.TableNoOrder.New(s.place, "rows of the key %s differ, and order_by does not say which counts", key)
	})
}

// Clear empties the stage. That of a connection that is gone is gone with it.
func (s *session) Clear(ctx context.Context, st Stage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil || s.conn.IsClosed() || s.stage != st {
		return nil
	}
	if _, err := s.conn.Exec(ctx, "TRUNCATE "+stageTable); err != nil && !s.conn.IsClosed() {
		return s.explain(err, "empty the stage")
	}
	return nil
}

// standing says that the staged rows are still there.
func (s *session) standing(st Stage) error {
	if st != s.stage {
		return errcode.PostgresUnreachable.New(s.place, "the connection that had staged the rows is gone, and they with it")
	}
	return nil
}

// Close ends the connection.
func (s *session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == nil {
		return nil
	}
	s.hangUp(s.conn)
	s.conn = nil
	return nil
}

// hangUp ends a connection, whether the server hears it or not.
func (s *session) hangUp(conn *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	_ = conn.Close(ctx)
}

func (s *session) positions() string { return s.target.beside(positionsTable).String() }

// id are the parameters of wherePosition.
func (s *session) id(k Key) []any { return []any{s.target.Table, string(k.Query), k.Shard.String()} }
