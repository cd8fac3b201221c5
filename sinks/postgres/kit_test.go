//go:build services

package postgres

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/jackc/pgx/v5"

	"microbatch/codec/json"
	"microbatch/internal/failpoint"
	"microbatch/internal/secret"
	"microbatch/internal/services"
	"microbatch/internal/services/proxy"
	"microbatch/sinks"
	"microbatch/sinks/sinktest"
)

// place is a database of its own on the shared server, reached by way of a proxy.
type place struct {
	t       *testing.T
	server  *services.PostgresServer
	name    string // of the database
	network *proxy.Proxy
	conn    *pgx.Conn
	config  Config
}

func newPlace(t *testing.T, c Config) *place {
	t.Helper()
	p := &place{t: t, server: services.Postgres(t), config: c}
	p.name = p.server.NewDatabase(t)
	p.conn = p.server.Connect(t, p.name)
	var err error
	p.network, err = proxy.Listen(p.server.Addr)
	must(t, err)
	t.Cleanup(func() { must(t, p.network.Close()) })
	p.config.URL = services.PostgresURL(p.network.Addr(), p.server.User, "", p.name)
	p.config.Password = secret.Of(p.server.Password)
	p.config.JSON = json.NewEncoder
	if p.config.Table == "" {
		p.config.Table = "orders"
	}
	return p
}

func (p *place) open(t *testing.T) *Sink {
	t.Helper()
	s, err := New(p.config)
	must(t, err)
	return s
}

// start opens the sink and goes through the start of a driver.
func (p *place) start(rows *arrow.Schema) *Sink {
	p.t.Helper()
	s := p.open(p.t)
	p.t.Cleanup(func() { must(p.t, s.Close()) })
	must(p.t, s.Check(p.t.Context(), rows))
	must(p.t, s.Recover(p.t.Context(), sinktest.Query("q", 1), nil))
	return s
}

// harness is the place for the conformance suite.
func (p *place) harness() sinktest.Harness {
	return sinktest.Harness{
		Open: func(t *testing.T) sinks.Sink { return p.open(t) },
		Rows: func(t *testing.T) []int64 {
			rows, err := p.conn.Query(t.Context(), "SELECT id FROM "+quote(p.config.Table))
			must(t, err)
			ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
			if sqlState(err) == "42P01" {
				return nil
			}
			must(t, err)
			return ids
		},
		State: func(*testing.T) string { return p.dump() },
		LoseAnswer: func(t *testing.T, landed bool) {
			kind := proxy.CutRequest
			if landed {
				kind = proxy.EatAnswer
			}
			var remove func()
			remove = failpoint.Set("postgres.before-commit", func(int) error {
				p.network.Break(kind)
				go remove() // it holds the points' lock just now
				return nil
			})
		},
	}
}

// dump is all rows of all tables, but for when they were written.
func (p *place) dump() string {
	p.t.Helper()
	ctx := context.WithoutCancel(p.t.Context())
	rows, err := p.conn.Query(ctx, `SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) FROM pg_tables
		WHERE schemaname NOT LIKE 'pg\_%' AND schemaname <> 'information_schema' ORDER BY 1`)
	must(p.t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(p.t, err)
	var b strings.Builder
	for _, table := range tables {
		rows, err := p.conn.Query(ctx, "SELECT (to_jsonb(t) - 'written_at')::text FROM "+table+" t ORDER BY 1")
		must(p.t, err)
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		must(p.t, err)
		fmt.Fprintf(&b, "%s\n%s\n", table, strings.Join(lines, "\n"))
	}
	return b.String()
}

// text is the one value of a query, as text.
func (p *place) text(sql string, args ...any) string {
	p.t.Helper()
	var text string
	must(p.t, p.conn.QueryRow(p.t.Context(), sql, args...).Scan(&text))
	return text
}

func (p *place) exec(statements ...string) {
	p.t.Helper()
	for _, s := range statements {
		if _, err := p.conn.Exec(p.t.Context(), s); err != nil {
			p.t.Fatalf("%s: %v", s, err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
