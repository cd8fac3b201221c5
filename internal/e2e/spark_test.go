//go:build services

package e2e

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"microbatch/internal/events"
	"microbatch/internal/services"
)

//go:embed testdata/continue.py
var continueInSpark string

const fixture = "testdata/spark_kafka_delta"

// loadFixture puts the fixture's records into the topic, each at its partition and offset.
func loadFixture(t *testing.T, broker, topic string) {
	t.Helper()
	in, err := os.Open(filepath.Join(fixture, "kafka-input.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var records []*kgo.Record
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var r struct {
			Partition int32
			Offset    int64
			Value     string
		}
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		records = append(records, &kgo.Record{Topic: topic, Partition: r.Partition, Value: []byte(r.Value)})
	}
	send(t, broker, records)
}

// send produces records in order.
func send(t *testing.T, broker string, records []*kgo.Record) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// more is 20 further records, from number n on.
func more(topic string, n int64) (out []*kgo.Record) {
	for i := n; i < n+20; i++ {
		out = append(out, &kgo.Record{Topic: topic, Partition: int32(i % 2), Value: events.Append(nil, i)})
	}
	return out
}

// TestSparkBeginsWeContinueSparkContinuesWeContinue hands a query over and back: each variant of what Spark left is finished here to its expected rows, then Spark
// goes on with new records, and then we do, without a lost or doubled row.
func TestSparkBeginsWeContinueSparkContinuesWeContinue(t *testing.T) {
	broker, spark := services.Kafka(t, services.KafkaOptions{}), services.PySpark(t)
	for _, variant := range []string{"clean", "no_last_commit", "offset_only"} {
		t.Run(variant, func(t *testing.T) {
			dir, topic := t.TempDir(), "fx-events"
			// Each variant needs a topic of its own name, since the checkpoint names it: the topic is made anew.
			recreateTopic(t, broker.Addr, topic, 2)
			loadFixture(t, broker.Addr, topic)
			if err := os.CopyFS(dir, os.DirFS(filepath.Join(fixture, variant))); err != nil {
				t.Fatal(err)
			}
			file := write(t, dir, "microbatch.yaml", `
name: fx
source:
  kafka: {brokers: ["`+broker.Addr+`"], topics: [fx-events], start: earliest, metadata: [partition, offset]}
  format: json
  schema: `+events.DDL+`
transform:
  - select: [id, ts, user_id, event, country, amount, url, session, _partition AS kpartition, _offset AS koffset]
sink:
  table: {path: table, format: delta}
checkpoint: checkpoint
trigger: {max_rows: 10}
`)
			versions := tableVersions(t, dir)
			first := start(t, nil, file, "--once")
			first.wait(2 * time.Minute)
			checkRows(t, dir, filepath.Join(fixture, "expected_80.ndjson"))
			if variant == "no_last_commit" {
				if n := txnVersions(t, dir)[5]; n != 1 {
					t.Errorf("batch 5 was committed %d times", n)
				}
			}
			t.Logf("%s: %d table versions, then %d", variant, versions, tableVersions(t, dir))

			want := int64(80*79/2) + sum(1000, 1020)
			send(t, broker.Addr, more(topic, 1000))
			out := services.RunPython(t, spark.Python, spark.Session()+continueInSpark, 5*time.Minute, filepath.Join(dir, "checkpoint"), filepath.Join(dir, "table"), broker.Addr, topic)
			if wantText := fmt.Sprintf("SPARK 100 rows, 100 ids, sum %d", want); !strings.Contains(out, wantText) {
				t.Fatalf("Spark says %s, want %s", out, wantText)
			}
			send(t, broker.Addr, more(topic, 2000))
			again := start(t, nil, file, "--once")
			again.wait(2 * time.Minute)
			want += sum(2000, 2020)
			got := strings.TrimSpace(run(t, nil, "query", "--format", "csv", "--pipeline", file, "SELECT count(*) || ' ' || count(DISTINCT id) || ' ' || sum(id) AS f FROM fx"))
			if got != fmt.Sprintf("f\n120 120 %d", want) {
				t.Errorf("after the second hand-over: %s, want 120 rows, sum %d", got, want)
			}
		})
	}
}

func sum(from, to int64) (s int64) {
	for n := from; n < to; n++ {
		s += n
	}
	return s
}

// checkRows compares the delta table with the expected rows through DuckDB, row by row, by the files that the log names.
func checkRows(t *testing.T, dir, expected string) {
	t.Helper()
	expected, err := filepath.Abs(expected)
	if err != nil {
		t.Fatal(err)
	}
	python := services.Python(t)
	out := services.RunPython(t, python, `
import sys, duckdb, deltalake
con = duckdb.connect(); con.execute("SET TimeZone = 'UTC'")
t = deltalake.DeltaTable(sys.argv[1]).to_pyarrow_table()
con.execute("CREATE TABLE t AS SELECT id, ts::TIMESTAMP AS ts, user_id, event, country, amount, url, session, kpartition::BIGINT AS kpartition, koffset FROM t")
con.execute(f"CREATE TABLE e AS SELECT id, ts::TIMESTAMP AS ts, user_id, event, country, amount, url, session, kpartition, koffset FROM read_json('{sys.argv[2]}', format = 'newline_delimited')")
print(con.sql("SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM e), (SELECT count(*) FROM (FROM t EXCEPT ALL FROM e))").fetchone())
`, 2*time.Minute, filepath.Join(dir, "table"), expected)
	if strings.TrimSpace(out) != "(80, 80, 0)" {
		t.Errorf("rows of the table, rows expected, rows that differ: %s", out)
	}
}

// tableVersions counts the versions of the table.
func tableVersions(t *testing.T, dir string) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "table/_delta_log/*.json"))
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// txnVersions counts how often each batch of the query was committed.
func txnVersions(t *testing.T, dir string) map[int64]int {
	t.Helper()
	var meta struct{ ID string }
	data, err := os.ReadFile(filepath.Join(dir, "checkpoint/metadata"))
	if err == nil {
		err = json.Unmarshal(data, &meta)
	}
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "table/_delta_log/*.json"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[int64]int{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			var a struct {
				Txn *struct {
					AppID   string `json:"appId"`
					Version int64
				}
			}
			if json.Unmarshal([]byte(line), &a) == nil && a.Txn != nil && a.Txn.AppID == meta.ID {
				out[a.Txn.Version]++
			}
		}
	}
	return out
}
