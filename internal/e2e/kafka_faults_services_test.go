//go:build services

package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"microbatch/internal/events"
	"microbatch/internal/figures"
	"microbatch/internal/services"
)

// TestBroker puts a real broker behind a bad network, and kills it under load.
func TestBroker(t *testing.T) {
	t.Parallel()
	network, seed := badNetwork(t, "", 85, 100_000)
	broker := services.Kafka(t, services.KafkaOptions{Behind: network.Addr()})
	network.Target(broker.ProxiedAddr)
	t.Run("behind a bad network", func(t *testing.T) {
		createTopic(t, broker.Addr, "proxied", 4)
		w := fromKafka(t, network.Addr(), "proxied")
		const step = 20_000
		retries := 0
		for from := int64(0); from < 5*step; from += step {
			if err := produce(t.Context(), broker.Addr, "proxied", from, from+step, 0); err != nil {
				t.Fatal(err)
			}
			retries += w.tries()
		}
		w.exactly(broker.Addr, "proxied")
		reportNetwork(t, network, seed, "Kafka", retries)
	})
	t.Run("killed under load", func(t *testing.T) {
		createTopic(t, broker.Addr, "killed", 4)
		w := fromKafka(t, broker.Addr, "killed")
		rng := newRand(t)
		produced := make(chan error, 1)
		go func() { produced <- produce(t.Context(), broker.Addr, "killed", 0, 150_000, 10_000) }()
		c := start(t, nil, w.file, "--trigger", "0s")
		const kills = 2
		for range kills {
			for range 3 + rng.IntN(10) {
				if !c.batch(3 * time.Minute) {
					t.Fatalf("it ended by itself: %s", c.stderr.String())
				}
			}
			if err := errors.Join(broker.Kill(), broker.Again()); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-produced; err != nil {
			t.Fatal(err)
		}
		if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if code := c.exit(); code != 0 {
			t.Errorf("exit code %d: %s", code, c.stderr.String())
		}
		if c.batches == 0 {
			t.Error("it did nothing")
		}
		w.catchUp()
		w.exactly(broker.Addr, "killed")
		figures.Add(t, "restarts of the broker under load", kills)
	})
}

// fromKafka is a world whose input is a topic of events.
func fromKafka(t *testing.T, broker, topic string) *world {
	t.Helper()
	w := &world{t: t, dir: t.TempDir(), format: "delta"}
	w.root = w.dir
	w.file = write(t, w.dir, "p.yaml", `name: p
source:
  kafka: {brokers: ["`+broker+`"], topics: [`+topic+`]}
  format: json
  schema: `+events.DDL+`
sink:
  table: {path: table, format: delta}
checkpoint: checkpoint
trigger: {max_rows: 5000}
`)
	return w
}

// tries runs the query until it has caught up, and returns how often it gave up before.
func (w *world) tries() int {
	w.t.Helper()
	for n := 0; ; n++ {
		e := w.run("start", w.file, "--once", "--progress", "none")
		if e.code == 0 {
			return n
		}
		if !away(e) || n == 20 {
			w.t.Fatalf("exit code %d, signal %v: %s", e.code, e.signal, e.out)
		}
	}
}

// exactly says that the tables hold what the topic holds, which another consumer reads.
func (w *world) exactly(broker, topic string) {
	w.t.Helper()
	good, bad, sum := topicFigures(w.t, broker, topic)
	want := fmt.Sprintf("f\n%d %d %d %d %d", good, good, sum, bad, bad)
	if got := w.query(tableFigures); got != want {
		w.t.Errorf("the tables hold %q, the topic %q", got, want)
	}
	w.tableInOrder("table")
	w.tableInOrder("table_rejected")
	w.checkpointInOrder()
}

// topicFigures reads a topic from end to end.
func topicFigures(t *testing.T, broker, topic string) (good, bad, sum int64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	client, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.ConsumeTopics(topic), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ends, err := kadm.NewClient(client).ListEndOffsets(ctx, topic)
	if err != nil {
		t.Fatal(err)
	}
	left := int64(0)
	ends.Each(func(o kadm.ListedOffset) { left += o.Offset })
	for left > 0 {
		fetched := client.PollFetches(ctx)
		if err := fetched.Err(); err != nil {
			t.Fatal(err)
		}
		fetched.EachRecord(func(r *kgo.Record) {
			left--
			var row struct {
				ID     int64
				Amount json.RawMessage
			}
			if json.Unmarshal(r.Value, &row) != nil || strings.HasPrefix(string(row.Amount), `"`) {
				bad++
			} else {
				good, sum = good+1, sum+row.ID
			}
		})
	}
	return good, bad, sum
}
