//go:build services

package twophase

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"microbatch/internal/services"
	"microbatch/internal/services/proxy"
	"microbatch/sinks"
	"microbatch/sinks/sinktest"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// place is a database of its own, reached by way of a proxy.
type place struct {
	url     string
	conn    *pgx.Conn // past the proxy
	network *proxy.Proxy
}

func newPlace(t *testing.T) place {
	t.Helper()
	server := services.Postgres(t)
	name := server.NewDatabase(t)
	server.Exec(t, name, "CREATE TABLE items (id bigint, name text)")
	network, err := proxy.Listen(server.Addr)
	must(t, err)
	t.Cleanup(func() { _ = network.Close() }) // a test may have closed it
	return place{services.PostgresURL(network.Addr(), server.User, server.Password, name), server.Connect(t, name), network}
}

func (p place) harness() sinktest.Harness {
	return sinktest.Harness{
		Open: func(*testing.T) sinks.Sink { return New(p.url, "items") },
		Rows: func(t *testing.T) []int64 {
			rows, err := p.conn.Query(t.Context(), "SELECT id FROM items")
			must(t, err)
			ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
			must(t, err)
			return ids
		},
		State: func(t *testing.T) string {
			var text string
			must(t, p.conn.QueryRow(t.Context(), `SELECT coalesce((SELECT string_agg(id || name, ',' ORDER BY id) FROM items), '')
				|| '; ' || (SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database())
				|| '; ' || coalesce(query_to_xml('SELECT * FROM information_schema.tables WHERE table_schema = ''public''', true, false, '')::text, '')`).Scan(&text))
			return text
		},
	}
}

// TestTwoPhaseConforms: this is all that is needed to hold a sink of one's own against the contract.
func TestTwoPhaseConforms(t *testing.T) {
	sinktest.Run(t, func(t *testing.T) sinktest.Harness { return newPlace(t).harness() })
}

// TestWhatADeadDriverHasPreparedIsRolledBack: and what an older one prepares later is refused.
func TestWhatADeadDriverHasPreparedIsRolledBack(t *testing.T) {
	p := newPlace(t)
	h := p.harness()
	old := sinktest.Start(t, h, sinktest.Query("q", 1), nil)
	prepared := old.Prepare(0, "a", []int64{1, 2})
	next := sinktest.Start(t, h, sinktest.Query("q", 2), nil)
	old.Finish(sinks.Fenced, prepared)
	old.Finish(sinks.Fenced, old.Prepare(0, "a", []int64{1, 2}))
	next.Commit(sinks.Committed, 0, "a", []int64{1, 2})
	old.Finish(sinks.AlreadyCommitted, old.Prepare(0, "a", []int64{1, 2}))
	var left int
	must(t, p.conn.QueryRow(t.Context(), "SELECT count(*) FROM pg_prepared_xacts WHERE database = current_database()").Scan(&left))
	if left != 0 {
		t.Error("prepared transactions are left:", left)
	}
	if ids := h.Rows(t); len(ids) != 2 {
		t.Error(ids)
	}
}

// TestACommitWithoutAnAnswerIsUncertain: the next driver reads from the position what became of it.
func TestACommitWithoutAnAnswerIsUncertain(t *testing.T) {
	p := newPlace(t)
	h := p.harness()
	d := sinktest.Start(t, h, sinktest.Query("q", 1), nil)
	prepared := d.Prepare(0, "a", []int64{1})
	must(t, p.network.Close())
	d.Finish(sinks.Uncertain, prepared)
}

// TestAnAttemptThatWasPreparedUnheard: it holds the position, so the next attempt fails instead of waiting for ever, and a start rolls it back.
func TestAnAttemptThatWasPreparedUnheard(t *testing.T) {
	p := newPlace(t)
	h := p.harness()
	d := sinktest.Start(t, h, sinktest.Query("q", 1), nil)
	d.Prepare(0, "a", []int64{1}) // as if the answer had been lost
	_, err := d.Sink.Prepare(t.Context(), sinktest.Batch(0, "a", d.Alloc, []int64{1}))
	if !is(err, lockTimeout) {
		t.Error(err)
	}
	sinktest.Start(t, h, sinktest.Query("q", 2), nil).Commit(sinks.Committed, 0, "a", []int64{1})
	if ids := h.Rows(t); len(ids) != 1 {
		t.Error(ids)
	}
}
