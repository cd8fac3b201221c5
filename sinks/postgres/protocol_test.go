//go:build services

package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/internal/failpoint"
	"microbatch/internal/secret"
	"microbatch/internal/services"
	"microbatch/internal/services/proxy"
	"microbatch/sinks"
	"microbatch/sinks/sinktest"
)

// An older driver sleeps with its transaction open, between the lock and COMMIT. Its successor waits for the lock, no longer than the server lets the sleeper
// wait; then the older one's COMMIT fails, or it was first: in no case are rows there twice.
func TestASuccessorWaitsForTheTransactionThatIsOpen(t *testing.T) {
	for _, c := range []struct {
		name   string
		wakes  bool // before the server ends its transaction
		commit func(t *testing.T, next *sinktest.Driver)
	}{
		{"and it commits", true, func(t *testing.T, next *sinktest.Driver) { next.Commit(sinks.AlreadyCommitted, 0, "a", []int64{1, 2}) }},
		{"and the server ends it", false, func(t *testing.T, next *sinktest.Driver) { next.Commit(sinks.Committed, 0, "a", []int64{1, 2}) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t, Config{})
			old := sinktest.Start(t, p.harness(), sinktest.Query("q", 1), nil)
			staged := old.Prepare(0, "a", []int64{1, 2})
			asleep, wake, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
			remove := failpoint.Set("postgres.before-commit", func(hit int) error {
				if hit == 1 {
					close(asleep)
					<-wake
				}
				return nil
			})
			defer remove()
			go func() {
				r, err := old.Sink.Commit(context.WithoutCancel(t.Context()), staged)
				ended <- errors.Join(err, r.Why)
			}()
			<-asleep
			if !c.wakes { // what the server does after idleTimeout
				p.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction' AND datname = current_database()")
			}
			next := make(chan *sinktest.Driver, 1)
			go func() {
				s := p.open(t)
				d := &sinktest.Driver{T: t, Sink: s, Query: sinktest.Query("q", 2), Alloc: old.Alloc}
				if err := errors.Join(s.Check(t.Context(), sinktest.Schema()), s.Recover(t.Context(), d.Query, nil)); err != nil {
					t.Error(err)
				}
				next <- d
			}()
			if c.wakes {
				for p.text("SELECT count(*)::text FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()") == "0" {
					<-time.After(time.Millisecond)
				}
				close(wake)
			}
			d := <-next
			defer d.Sink.Close()
			c.commit(t, d)
			if !c.wakes {
				close(wake)
			}
			if err := <-ended; (err == nil) != c.wakes {
				t.Errorf("the older driver: %v", err)
			}
			if got := p.text("SELECT string_agg(id::text, ',' ORDER BY id) FROM orders"); got != "1,2" {
				t.Errorf("the table holds %s", got)
			}
		})
	}
}

// The position is believed under the lock alone: rows that somebody removed or put back are noticed at the next commit.
func TestAPositionThatIsGoneOrWentBackStopsTheQuery(t *testing.T) {
	for _, damage := range []string{"DELETE FROM microbatch_positions", "UPDATE microbatch_positions SET batch = 0"} {
		p := newPlace(t, Config{})
		d := sinktest.Start(t, p.harness(), sinktest.Query("q", 1), nil)
		d.Commit(sinks.Committed, 0, "a", []int64{1})
		d.Commit(sinks.Committed, 1, "a", []int64{2})
		p.exec(damage)
		if _, err := d.Sink.Commit(t.Context(), d.Prepare(2, "a", []int64{3})); !errcode.Has(err, errcode.PostgresPosition) {
			t.Errorf("%s: %v", damage, err)
		}
		if got := p.text("SELECT count(*)::text FROM orders"); got != "2" {
			t.Errorf("%s: %s rows", damage, got)
		}
	}
}

// The staged rows go with their connection: the commit says so, nothing has happened, and another attempt works.
func TestACommitWithoutItsConnectionIsTriedAgain(t *testing.T) {
	p := newPlace(t, Config{})
	d := sinktest.Start(t, p.harness(), sinktest.Query("q", 1), nil)
	staged := d.Prepare(0, "a", []int64{1})
	p.exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'microbatch' AND datname = current_database()")
	for range 2 { // the first one finds the connection broken, the second makes another, which has no stage
		if _, err := d.Sink.Commit(t.Context(), staged); !errcode.Has(err, errcode.PostgresUnreachable) {
			t.Fatalf("commit: %v", err)
		}
	}
	d.Commit(sinks.Committed, 0, "a", []int64{1})
	if got := p.text("SELECT string_agg(id::text, ',') FROM orders"); got != "1" {
		t.Errorf("the table holds %s", got)
	}
}

// Errors have codes, by which they are repeated or not; none prints the password.
func TestErrorsOfTheServerHaveCodes(t *testing.T) {
	p := newPlace(t, Config{})
	open := func(change func(c *Config)) error {
		c := p.config
		c.RetryFor = time.Second
		change(&c)
		s, err := New(c)
		must(t, err)
		defer s.Close()
		return s.Check(t.Context(), sinktest.Schema())
	}
	password := p.server.Password
	p.exec("DROP ROLE IF EXISTS nobody", "CREATE ROLE nobody LOGIN PASSWORD '"+password+"'")
	url := func(user, database, rest string) string {
		return "postgres://" + user + "@" + p.server.Addr + "/" + database + "?" + rest
	}
	for _, c := range []struct {
		name   string
		change func(c *Config)
		want   errcode.Code
	}{
		{"wrong password", func(c *Config) { c.Password = secret.Of("canary-1") }, errcode.PostgresLogin},
		{"no such database", func(c *Config) { c.URL = url("postgres", "nowhere", "sslmode=disable") }, errcode.PostgresLogin},
		{"nobody listens", func(c *Config) { c.URL = services.PostgresURL("127.0.0.1:1", "postgres", "", "x") }, errcode.PostgresUnreachable},
		{"a certificate that nobody vouches for", func(c *Config) {
			c.URL = url("postgres", p.name, "sslmode=verify-full&sslrootcert=/etc/ssl/certs/ca-certificates.crt")
		}, errcode.PostgresLogin},
		{"no rights", func(c *Config) { c.URL = url("nobody", p.name, "sslmode=disable") }, errcode.PostgresDenied},
		{"no such schema", func(c *Config) { c.Table = "nowhere.orders" }, errcode.PostgresDenied},
		{"create: off", func(c *Config) { c.CreateOff = true }, errcode.PostgresTable},
		{"a view", func(c *Config) { c.Table = "pg_catalog.pg_tables" }, errcode.PostgresTable},
	} {
		err := open(c.change)
		if !errcode.Has(err, c.want) || strings.Contains(fmt.Sprintf("%+v", err), password) || strings.Contains(fmt.Sprint(err), "canary") {
			t.Errorf("%s: %v, want %s", c.name, err, c.want.ID)
		}
	}
	if err := open(func(c *Config) { c.URL = url("postgres", p.name, "sslmode=verify-full&sslrootcert="+p.server.CA) }); err != nil {
		t.Errorf("by TLS: %v", err)
	}
	for state, want := range map[string]errcode.Code{
		"40P01": errcode.PostgresBusy, "55P03": errcode.PostgresBusy, "53300": errcode.PostgresBusy, "57014": errcode.PostgresBusy, "57P01": errcode.PostgresUnreachable,
		"25P03": errcode.PostgresUnreachable, "53100": errcode.PostgresFull, "23505": errcode.PostgresRefused, "P0001": errcode.PostgresRefused, "XX000": errcode.PostgresError,
	} {
		s := &session{}
		if err := s.explain(&pgconn.PgError{Code: state}, "x"); !errcode.Has(err, want) {
			t.Errorf("%s: %v, want %s", state, err, want.ID)
		}
	}
}

// The least rights that docs/sinks-postgres.md names are enough, and each one that is missing is named.
func TestTheLeastRightsAreEnough(t *testing.T) {
	p := newPlace(t, Config{Mode: Upsert, Keys: []string{"id"}, OperationColumn: "op", CreateOff: true})
	role := "writer_" + p.name
	p.exec("CREATE ROLE "+role+" LOGIN PASSWORD 'secret'", "CREATE TABLE orders (id bigint PRIMARY KEY, name text)", positionsSQL(Name{"public", positionsTable}))
	p.config.URL, p.config.Password = services.PostgresURL(p.server.Addr, role, "", p.name), secret.Of("secret")
	rows := ddl(t, "id BIGINT, name STRING, op STRING")
	for _, grant := range []struct{ missing, grant string }{
		{"INSERT on orders; SELECT and UPDATE on orders; DELETE on orders", "GRANT SELECT, INSERT, UPDATE, DELETE ON orders TO "},
		{"SELECT, INSERT and UPDATE on microbatch_positions", "GRANT SELECT, INSERT, UPDATE ON microbatch_positions TO "},
	} {
		s := p.open(t)
		if err := s.Check(t.Context(), rows); !errcode.Has(err, errcode.PostgresDenied) || !strings.Contains(err.Error(), grant.missing) {
			t.Errorf("check: %v, want %s", err, grant.missing)
		}
		must(t, s.Close())
		p.exec(grant.grant + role)
	}
	s := p.start(rows)
	put(t, s, rows, 0, `{"id":1,"name":"a"}`)
	put(t, s, rows, 1, `{"id":1,"op":"d"}`)
	must(t, s.Close())
}

// A server that is restarted in the middle of a batch costs that attempt, and nothing else.
func TestTheServerIsRestartedInTheMiddle(t *testing.T) {
	server := services.OwnPostgres(t)
	p := newPlace(t, Config{})
	p.server, p.name = server, server.NewDatabase(t)
	p.config.URL, p.config.Password = services.PostgresURL(server.Addr, server.User, "", p.name), secret.Of(server.Password)
	d := sinktest.Start(t, p.harness(), sinktest.Query("q", 1), nil)
	d.Commit(sinks.Committed, 0, "a", []int64{1})
	staged := d.Prepare(1, "a", []int64{2})
	must(t, errors.Join(server.Kill(), server.Again()))
	if _, err := d.Sink.Commit(t.Context(), staged); !errcode.Has(err, errcode.PostgresUnreachable) {
		t.Fatalf("commit: %v", err)
	}
	if v := d.Visible(); v.Batch != 0 {
		t.Fatalf("visible: %+v", v)
	}
	d.Commit(sinks.Committed, 1, "a", []int64{2})
	p.conn = server.Connect(t, p.name)
	if got := p.text("SELECT string_agg(id::text, ',' ORDER BY id) FROM orders"); got != "1,2" {
		t.Errorf("the table holds %s", got)
	}
}

// The entry of the newest batch can be had again.
func TestTheTextOfTheNewestEntryIsKept(t *testing.T) {
	p := newPlace(t, Config{})
	d := sinktest.Start(t, p.harness(), sinktest.Query("q", 1), nil)
	d.Commit(sinks.Committed, 0, "a", []int64{1})
	h := d.Sink.(sinks.Historian)
	text, err := h.EntryText(t.Context(), d.Query, 0)
	if must(t, err); string(text) != string(sinktest.Entry(0, "a")) {
		t.Errorf("have %q", text)
	}
	if _, err := h.EntryText(t.Context(), d.Query, ident.BatchID(1)); err == nil {
		t.Error("an entry that is not there is had")
	}
}

// The outcomes of a COMMIT that is cut in the middle: what the sink cannot know is Uncertain, and nothing else is.
func TestALostCommitIsUncertain(t *testing.T) {
	p := newPlace(t, Config{})
	for id, kind := range []proxy.Kind{proxy.EatAnswer, proxy.CutRequest} {
		s := sinktest.Start(t, p.harness(), sinktest.Query("q", ident.Epoch(id+1)), nil)
		staged := s.Prepare(ident.BatchID(id), "a", []int64{int64(id)})
		p.harness().LoseAnswer(t, kind == proxy.EatAnswer)
		r, err := s.Sink.Commit(t.Context(), staged)
		if must(t, err); r.Outcome != sinks.Uncertain || !errcode.Has(r.Why, errcode.PostgresUncertain) {
			t.Fatalf("%s: %s, %v", kind, r.Outcome, r.Why)
		}
		if id == 0 {
			continue
		}
		next := sinktest.Start(t, p.harness(), sinktest.Query("q", 9), nil)
		next.Commit(sinks.Committed, 1, "a", []int64{1})
	}
	if got := p.text("SELECT string_agg(id::text, ',' ORDER BY id) FROM orders"); got != "0,1" {
		t.Errorf("the table holds %s", got)
	}
}
