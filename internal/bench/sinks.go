package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"microbatch/internal/bench/report"
	"microbatch/internal/services"
)

// sinkWorkloads are those of sinks other than an appended table.
func sinkWorkloads() []workload {
	const group = "Other sinks"
	return []workload{
		{Section: report.Section{Name: "Kafka to Kafka", Group: group, About: "JSON of 200 bytes from one topic to another (4 partitions each), one transaction a batch; against a program that produces the same values from memory in transactions of the same size. Both wait for all replicas and use snappy, the default of the client library and of the sink; a record batch has up to 1 MB before it is compressed on either side. The broker shares the processors with both. To PostgreSQL on the same machine: the NDJSON file, against a COPY of the same rows from memory in text form.", Rows: []report.Row{
			{Name: "Kafka to Kafka, against the bare transactional producer", Unit: "rows/s", Ratio: report.OursByPeer, Required: report.AtLeast(0.6)},
			{Name: "Kafka to Kafka, peak memory", Unit: "MB", Required: report.AtMost(500)},
		}}, measure: measureKafkaToKafka},
		{Section: report.Section{Name: "PostgreSQL", Group: group, Rows: []report.Row{
			{Name: "PostgreSQL append, against a bare COPY", Unit: "rows/s", Ratio: report.OursByPeer, Required: report.AtLeast(0.6)},
			{Name: "PostgreSQL append", Unit: "rows/s", Required: report.AtLeast(100_000)},
			{Name: "PostgreSQL upsert", Unit: "rows/s", Required: report.AtLeast(30_000)},
		}}, measure: measurePostgres},
		{Section: report.Section{Name: "Table upsert", Group: "Table upsert", About: "A batch of 10,000 keys, half of them new, into a Delta table of 10,000,000 rows in order of the key: keys that lie together, and keys from everywhere.", Rows: []report.Row{
			{Name: "upsert of 10,000 keys that lie together into 10 M rows", Unit: "s"},
			{Name: "upsert of 10,000 keys that lie together, bytes rewritten", Unit: "MB"},
			{Name: "upsert of 10,000 keys from everywhere into 10 M rows", Unit: "s"},
			{Name: "upsert of 10,000 keys from everywhere, bytes rewritten", Unit: "MB"},
			{Name: "upsert, peak memory", Unit: "MB", Required: report.AtMost(1000)},
		}}, measure: measureUpsert},
		{Section: report.Section{Name: "Files and SQL", Group: group, Rows: []report.Row{
			{Name: "files sink, JSON lines", Unit: "rows/s"},
			{Name: "foreachbatch, INSERT in DuckDB", Unit: "rows/s"},
		}}, measure: measureFilesAndSQL},
	}
}

// rate is rows a second from the begin of the first batch to the end of the last.
func rate(rows int, done []progress) float64 { return float64(rows) / steady(done) }

// bareProduceCommand is the hidden command that produces a topic's rows from memory, in transactions.
const bareProduceCommand = "bare-produce"

// transactionRows is how many rows the bare producer puts into a transaction: as many as a batch has.
const transactionRows = 1_000_000

func measureKafkaToKafka(ctx context.Context, b *bench) ([]report.Samples, error) {
	rows := b.rows
	addr, topic, err := b.topic(ctx, rows)
	if err != nil {
		return nil, err
	}
	var rates, peak report.Samples
	for round := range b.rounds {
		dir, err := b.fresh("kafka-kafka")
		if err != nil {
			return nil, err
		}
		out := fmt.Sprintf("out-%d-%d", round, os.Getpid())
		if err := makeTopics(ctx, addr, out, out+"-bare"); err != nil {
			return nil, err
		}
		p := pipeline{source: kafka(addr, topic), format: "json", schema: eventsDDL, into: fmt.Sprintf("kafka: {brokers: [%q], topic: %s}", addr, out), checkpoint: dir + "/checkpoint"}
		u, done, err := b.start(ctx, dir, p, int64(rows))
		if err != nil {
			return nil, err
		}
		bare, err := b.child(ctx, dir, b.self, bareProduceCommand, addr, out+"-bare", strconv.Itoa(rows))
		if err != nil {
			return nil, err
		}
		seconds, err := strconv.ParseFloat(strings.TrimSpace(string(bare.stdout)), 64)
		if err != nil {
			return nil, err
		}
		b.say("  round %d: %.0f rows/s, bare %.0f rows/s", round+1, rate(rows, done), float64(rows)/seconds)
		rates.Add(rate(rows, done), float64(rows)/seconds)
		peak.Ours = append(peak.Ours, float64(u.peak)/1e6)
		if err := dropTopics(ctx, addr, out, out+"-bare"); err != nil {
			return nil, err
		}
	}
	return []report.Samples{rates, peak}, b.removeAll("kafka-kafka")
}

func makeTopics(ctx context.Context, addr string, topics ...string) error {
	return admin(addr, func(a *kadm.Client) error {
		made, err := a.CreateTopics(ctx, kafkaPartitions, 1, nil, topics...)
		if err == nil {
			err = made.Error()
		}
		return err
	})
}

func dropTopics(ctx context.Context, addr string, topics ...string) error {
	return admin(addr, func(a *kadm.Client) error {
		gone, err := a.DeleteTopics(ctx, topics...)
		if err == nil {
			err = gone.Error()
		}
		return err
	})
}

func admin(addr string, do func(*kadm.Client) error) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		return fmt.Errorf("kafka: %w", err)
	}
	defer client.Close()
	if err := do(kadm.NewClient(client)); err != nil {
		return fmt.Errorf("kafka: %w", err)
	}
	return nil
}

// bareProduceMain produces rows from memory and prints the seconds that took, from the begin of the first transaction to the end of the last.
func bareProduceMain(ctx context.Context, args []string) error {
	rows, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	values, ends := bareValues(rows)
	client, err := kgo.NewClient(kgo.SeedBrokers(args[0]), kgo.DefaultProduceTopic(args[1]), kgo.TransactionalID("bare-"+args[1]), kgo.MaxBufferedRecords(100_000))
	if err != nil {
		return err
	}
	defer client.Close()
	seconds, err := timed(func() error { return produceAll(ctx, client, values, ends) })
	if err != nil {
		return err
	}
	_, err = fmt.Println(seconds)
	return err
}

func produceAll(ctx context.Context, client *kgo.Client, values []byte, ends []int) error {
	for from := 0; from < len(ends); from += transactionRows {
		if err := client.BeginTransaction(); err != nil {
			return err
		}
		var failed error
		for i := from; i < min(from+transactionRows, len(ends)); i++ {
			begin := 0
			if i > 0 {
				begin = ends[i-1]
			}
			client.Produce(ctx, &kgo.Record{Value: values[begin:ends[i]]}, func(_ *kgo.Record, err error) {
				if err != nil && failed == nil { // promises are called one after the other
					failed = err
				}
			})
		}
		if err := client.Flush(ctx); err != nil {
			return err
		}
		if failed != nil {
			return failed
		}
		if err := client.EndTransaction(ctx, kgo.TryCommit); err != nil {
			return err
		}
	}
	return nil
}

// postgresShare is how many of a hundred rows go to PostgreSQL, which is slower than the rest.
const postgresShare = 25

const eventsPostgres = "id bigint, ts timestamptz, user_id bigint, event text, country text, amount double precision, url text, session text"

func measurePostgres(ctx context.Context, b *bench) ([]report.Samples, error) {
	server, err := services.LaunchPostgres()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := server.Stop(); err != nil {
			b.say("%v", err)
		}
	}()
	b.env = append(b.env, "BENCH_PG_PASSWORD="+server.Password)
	in := events("postgres", "events.ndjson", (*generator).append)
	in.rows = postgresShare
	rows := in.count(b)
	from, err := in.make(ctx, b)
	if err != nil {
		return nil, err
	}
	conn, err := pgx.Connect(ctx, server.URL("postgres", server.Password))
	if err != nil {
		return nil, err
	}
	defer conn.Close(ctx)
	text := copyText(rows)
	var appended, alone, upsert report.Samples
	for round := range b.rounds {
		ours, err := b.intoPostgres(ctx, conn, server, from, fmt.Sprintf("appended%d", round), "", rows)
		if err != nil {
			return nil, err
		}
		bare, err := bareCopy(ctx, conn.PgConn(), fmt.Sprintf("bare_%d", round), text)
		if err != nil {
			return nil, err
		}
		merged, err := b.intoPostgres(ctx, conn, server, from, fmt.Sprintf("upsert_%d", round), ", mode: upsert, keys: [id]", rows)
		if err != nil {
			return nil, err
		}
		b.say("  round %d: append %.0f rows/s, bare COPY %.0f rows/s, upsert %.0f rows/s", round+1, ours, float64(rows)/bare, merged)
		appended.Add(ours, float64(rows)/bare)
		alone.Ours = append(alone.Ours, ours)
		upsert.Ours = append(upsert.Ours, merged)
	}
	return []report.Samples{appended, alone, upsert}, b.removeAll("postgres-out")
}

// intoPostgres runs the program into a fresh table and returns the rows a second. Half of the keys of an upsert are there already: the file is taken twice, and the second time counts.
func (b *bench) intoPostgres(ctx context.Context, conn *pgx.Conn, server *services.PostgresServer, from, table, more string, rows int) (float64, error) {
	runs := 1
	if more != "" {
		runs = 2
	}
	var per float64
	for run := range runs {
		dir, err := b.fresh("postgres-out")
		if err != nil {
			return 0, err
		}
		p := pipeline{
			source: files(from), format: "json", schema: eventsDDL, checkpoint: dir + "/checkpoint", name: fmt.Sprintf("run%d", run),
			into: fmt.Sprintf("postgres: {url: %q, password: \"env:BENCH_PG_PASSWORD\", table: %s%s}", server.URL("postgres", ""), table, more),
		}
		_, done, err := b.start(ctx, dir, p, int64(rows))
		if err != nil {
			return 0, err
		}
		per = rate(rows, done)
	}
	var there int
	if err := conn.QueryRow(ctx, "SELECT count(*) FROM "+table).Scan(&there); err != nil {
		return 0, err
	}
	if there != rows {
		return 0, fmt.Errorf("%s has %d rows, not %d", table, there, rows)
	}
	_, err := conn.Exec(ctx, "DROP TABLE "+table)
	return per, err
}

// copyText are the rows as COPY's text form has them.
func copyText(rows int) []byte {
	var text []byte
	g := newGenerator(3)
	for range rows {
		for i, field := range g.next() {
			if i > 0 {
				text = append(text, '\t')
			}
			text = append(text, field...)
		}
		text = append(text, '\n')
	}
	return text
}

// bareCopy copies the text into a fresh table, in one transaction, and returns the seconds.
func bareCopy(ctx context.Context, conn *pgconn.PgConn, table string, text []byte) (float64, error) {
	exec := func(sql string) error {
		_, err := conn.Exec(ctx, sql).ReadAll()
		return err
	}
	if err := exec("CREATE TABLE " + table + " (" + eventsPostgres + ")"); err != nil {
		return 0, err
	}
	seconds, err := timed(func() error {
		_, err := conn.CopyFrom(ctx, bytes.NewReader(text), "COPY "+table+" FROM STDIN")
		return err
	})
	if err != nil {
		return 0, err
	}
	return seconds, exec("DROP TABLE " + table)
}

const upsertDDL = "id BIGINT, name STRING, amount DOUBLE"

func measureUpsert(ctx context.Context, b *bench) ([]report.Samples, error) {
	rows := b.size(10_000_000, 20_000)
	keys := b.size(10_000, 100)
	var out [5]report.Samples
	for range min(b.rounds, 3) {
		dir, err := b.fresh("upsert")
		if err != nil {
			return nil, err
		}
		p := pipeline{source: files(dir + "/in"), format: "json", schema: upsertDDL, table: dir + "/table", sink: "format: delta, mode: upsert, keys: [id]", trigger: "max_rows: 20000000"}
		if err := upsertFile(dir, "all", rows, func(i int) int { return 2 * i }); err != nil {
			return nil, err
		}
		if _, _, err := b.start(ctx, dir, p, int64(rows)); err != nil {
			return nil, err
		}
		var peak int64
		for k, keyOf := range []func(int) int{
			func(i int) int { return rows + i }, // every second is there
			func(i int) int { return i*(2*rows/keys) + i%2 },
		} {
			before, err := dataFiles(dir + "/table")
			if err != nil {
				return nil, err
			}
			if err := upsertFile(dir, strconv.Itoa(k), keys, keyOf); err != nil {
				return nil, err
			}
			u, done, err := b.start(ctx, dir, p, int64(keys))
			if err != nil {
				return nil, err
			}
			after, err := dataFiles(dir + "/table")
			if err != nil {
				return nil, err
			}
			var written int64
			for name, size := range after {
				if _, old := before[name]; !old {
					written += size
				}
			}
			b.say("  %d keys: %.3f s, %.1f MB written, %.0f MB", keys, steady(done), float64(written)/1e6, float64(u.peak)/1e6)
			out[2*k].Ours = append(out[2*k].Ours, steady(done))
			out[2*k+1].Ours = append(out[2*k+1].Ours, float64(written)/1e6)
			peak = max(peak, u.peak)
		}
		out[4].Ours = append(out[4].Ours, float64(peak)/1e6)
	}
	return out[:], b.removeAll("upsert")
}

// upsertFile writes rows with keys of a function into a file of the input folder.
func upsertFile(dir, name string, rows int, keyOf func(int) int) error {
	if err := os.MkdirAll(dir+"/in", 0o755); err != nil {
		return err
	}
	var text []byte
	for i := range rows {
		key := keyOf(i)
		text = fmt.Appendf(text, "{\"id\":%d,\"name\":\"%s %x\",\"amount\":%d.5}\n", key, name, key*2654435761&0xffffff, i%1000)
	}
	return os.WriteFile(filepath.Join(dir, "in", name+".ndjson"), text, 0o644)
}

// dataFiles are the sizes of the data files below a folder.
func dataFiles(dir string) (map[string]int64, error) {
	sizes := map[string]int64{}
	names, err := filepath.Glob(dir + "/*.parquet")
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return nil, err
		}
		sizes[name] = info.Size()
	}
	return sizes, err
}

func measureFilesAndSQL(ctx context.Context, b *bench) ([]report.Samples, error) {
	from, err := plain().make(ctx, b)
	if err != nil {
		return nil, err
	}
	var out [2]report.Samples
	for round := range b.rounds {
		for k, into := range []string{
			"files: {path: out}",
			"foreachbatch: {duckdb: out.duckdb, sql: [CREATE TABLE IF NOT EXISTS events AS FROM batch WITH NO DATA, INSERT INTO events FROM batch]}",
		} {
			dir, err := b.fresh("sinks-out")
			if err != nil {
				return nil, err
			}
			p := pipeline{source: files(from), format: "json", schema: eventsDDL, into: into, checkpoint: dir + "/checkpoint"}
			_, done, err := b.start(ctx, dir, p, int64(b.rows))
			if err != nil {
				return nil, err
			}
			out[k].Ours = append(out[k].Ours, rate(b.rows, done))
		}
		b.say("  round %d: files %.0f rows/s, DuckDB %.0f rows/s", round+1, out[0].Ours[round], out[1].Ours[round])
	}
	return out[:], b.removeAll("sinks-out")
}
