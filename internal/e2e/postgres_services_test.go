//go:build services

package e2e

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"microbatch/internal/events"
	"microbatch/internal/figures"
	"microbatch/internal/services"
	"microbatch/internal/services/proxy"
)

// database is a world whose sink is a table of a PostgreSQL database of its own.
type database struct {
	*world
	server *services.PostgresServer
	name   string
}

// toPostgres is a query from source (lines of the pipeline file) to PostgreSQL, reached at addr.
func toPostgres(t *testing.T, server *services.PostgresServer, addr, source, sink string) *database {
	t.Helper()
	d := &database{world: &world{t: t, dir: t.TempDir(), env: []string{"PG_PASSWORD=" + server.Password}}, server: server, name: server.NewDatabase(t)}
	d.root = d.dir
	d.file = write(t, d.dir, "p.yaml", `name: p
`+source+`
sink:
  postgres: {url: "`+services.PostgresURL(addr, server.User, "", d.name)+`", password: "env:PG_PASSWORD", table: orders`+sink+`}
rejected: {table: rejected}
checkpoint: checkpoint
`)
	return d
}

// fromFiles is the input of a world: a good row and a bad line in each file, a batch for each file.
const fromFiles = "source: {files: {path: in}, schema: id BIGINT}\ntrigger: {max_files: 1}"

// sees is the one value of a query, as text.
func (d *database) sees(sql string) string {
	d.t.Helper()
	conn, err := pgx.Connect(d.t.Context(), d.server.URL(d.name, d.server.Password))
	if err != nil {
		d.t.Fatal(err)
	}
	defer conn.Close(d.t.Context())
	var text string
	if err := conn.QueryRow(d.t.Context(), sql).Scan(&text); err != nil {
		d.t.Fatal(err)
	}
	return text
}

// whole says that a reader sees whole batches, whatever has just crashed: the rows and the position say the same.
func (d *database) whole() {
	d.t.Helper()
	if d.sees("SELECT (to_regclass('orders') IS NULL OR to_regclass('microbatch_positions') IS NULL)::text") == "true" {
		return // not yet
	}
	got := d.sees("SELECT concat_ws(' ', count(*), count(DISTINCT id), coalesce(max(id) + 1, 0), (SELECT coalesce(max(batch) + 1, 0) FROM microbatch_positions)) FROM orders")
	if rows, _, _ := strings.Cut(got, " "); got != strings.Join([]string{rows, rows, rows, rows}, " ") {
		d.t.Errorf("after the crash a reader sees rows, ids, highest id and position %s", got)
	}
}

// exact says that the table holds each row of the files once, and the checkpoint is in order.
func (d *database) exact() {
	d.t.Helper()
	want := fmt.Sprintf("%d %d %d %d", d.files, d.files, d.files*(d.files-1)/2, d.files-1)
	if got := d.sees("SELECT concat_ws(' ', count(*), count(DISTINCT id), sum(id), (SELECT max(batch) FROM microbatch_positions)) FROM orders"); got != want {
		d.t.Errorf("the table holds %s, want %s", got, want)
	}
	if got := d.sees("SELECT count(*)::text FROM pg_stat_activity WHERE application_name = 'microbatch' AND state LIKE 'idle in transaction%' AND datname = current_database()"); got != "0" {
		d.t.Errorf("%s transactions are open", got)
	}
	d.tableInOrder("rejected")
	d.checkpointInOrder()
}

// pointsOfPostgres are those of the sink, and those of the engine around its commit.
func pointsOfPostgres(t *testing.T) []string {
	t.Helper()
	out := slices.DeleteFunc(points(t), func(p string) bool { return !strings.HasPrefix(p, "postgres.") })
	if len(out) < 4 {
		t.Fatalf("fault points: %v", out)
	}
	return append(out, "start.claimed", "start.recovered", "intend.after", "transform.chunk", "prepare.after", "commit.before", "commit.rejected", "commit.after", "record.after")
}

// TestPostgresKilledAtEachPoint kills the real program by SIGKILL before, inside and after the transaction of each batch, then its recovery at the same point.
func TestPostgresKilledAtEachPoint(t *testing.T) {
	server := services.Postgres(t)
	var kills tally
	t.Run("points", func(t *testing.T) {
		slots := make(chan struct{}, max(2, runtime.GOMAXPROCS(0)))
		for _, mode := range []string{"", ", mode: upsert, keys: [id]", ", mode: ledger, keys: [id]"} {
			for _, point := range pointsOfPostgres(t) {
				t.Run(point+mode, func(t *testing.T) {
					t.Parallel()
					slots <- struct{}{}
					defer func() { <-slots }()
					d := toPostgres(t, server, server.Addr, fromFiles, mode)
					d.feed(7)
					n := 0
					for _, hit := range []int{3, 1, 1} {
						if d.killedAt(point, hit, "start", d.file, "--once", "--progress", "none") {
							n++
							d.whole()
						}
					}
					if n == 0 {
						t.Errorf("the fault point %s is not passed", point)
					}
					d.feed(1)
					d.catchUp()
					d.exact()
					kills.add("at "+point, n)
				})
			}
		}
	})
	kills.report(t, "kills with PostgreSQL")
}

// A driver sleeps before, inside or after its transaction, its lock gets lost, another driver finishes the work, and the first wakes up: it stops as fenced, and
// every row is there once. If it sleeps with the transaction open, the other one waits until the server has ended that.
func TestAPostgresDriverThatWakesUpAfterItsSuccessor(t *testing.T) {
	server := services.Postgres(t)
	for _, point := range []string{"prepare.before", "postgres.staged", "commit.before", "postgres.locked", "postgres.before-commit", "postgres.after-commit", "record.before"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			d := toPostgres(t, server, server.Addr, fromFiles, "")
			d.feed(12)
			zombie := start(t, append(d.env, "MICROBATCH_FAILPOINT="+point+":stop:5"), d.file)
			waitStopped(t, zombie.cmd.Process.Pid)
			loseLock(t, d.dir+"/checkpoint/_engine")
			d.catchUp()
			if err := zombie.cmd.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			if code := zombie.exit(); code != 4 {
				t.Errorf("exit code %d: %s", code, zombie.stderr.String())
			}
			d.exact()
		})
	}
}

// TestPostgresBehindABadNetwork breaks most connections somewhere, and kills the server under load.
func TestPostgresBehindABadNetwork(t *testing.T) {
	server := services.OwnPostgres(t)
	network, seed := badNetwork(t, server.Addr, 80, 6_000)
	d := toPostgres(t, server, network.Addr(), fromFiles, "")
	retries := 0
	for range 4 {
		d.feed(10)
		retries += d.tries()
	}
	d.exact()
	reportNetwork(t, network, seed, "PostgreSQL", retries)
	network.Schedule(func(int) proxy.Fault { return proxy.Fault{} })
	const kills = 3
	for range kills {
		c := start(t, d.env, d.file, "--trigger", "0s")
		d.feed(20)
		for range 5 {
			c.batch(time.Minute)
		}
		if err := errors.Join(server.Kill(), server.Again()); err != nil {
			t.Fatal(err)
		}
		for range 10 {
			c.batch(time.Minute)
		}
		if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if code := c.exit(); code != 0 {
			t.Errorf("exit code %d: %s", code, c.stderr.String())
		}
	}
	d.catchUp()
	d.exact()
	figures.Add(t, "restarts of PostgreSQL under load", kills)
}

// TestKafkaToPostgresSurvivesKills is the whole promise from a topic of four partitions to a table of keyed rows, killed at random.
func TestKafkaToPostgresSurvivesKills(t *testing.T) {
	const records = 300_000
	broker, server := services.Kafka(t, services.KafkaOptions{}), services.Postgres(t)
	createTopic(t, broker.Addr, "events", 4)
	d := toPostgres(t, server, server.Addr, `source:
  kafka: {brokers: ["`+broker.Addr+`"], topics: [events], start: earliest, metadata: [partition, offset]}
  format: json
  schema: `+events.DDL+`
trigger: {max_rows: 10000}`, ", mode: upsert, keys: [_partition, _offset]")
	produced := make(chan error, 1)
	go func() { produced <- produce(t.Context(), broker.Addr, "events", 0, records, 20_000) }()
	k := killing{file: d.file, env: d.env, args: []string{"--trigger", "0s"}, kills: 8, rng: newRand(t)}
	k.run(t)
	if err := <-produced; err != nil {
		t.Fatal(err)
	}
	d.catchUp()
	good, bad, sum := topicFigures(t, broker.Addr, "events")
	want := fmt.Sprintf("%d %d %d", good, good, sum)
	if got := d.sees("SELECT concat_ws(' ', count(*), count(DISTINCT id), sum(id)) FROM orders"); got != want {
		t.Errorf("the table holds %s, want %s", got, want)
	}
	t.Logf("%d rows, %d rejected", good, bad)
	d.tableInOrder("rejected")
	d.checkpointInOrder()
}
