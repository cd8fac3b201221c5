//go:build services

package e2e

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"microbatch/internal/events"
	"microbatch/internal/services"
)

//go:embed testdata/read_delta.py
var readDelta string

// produce writes events from..to-1 to the topic, event n to partition n mod 4, about perSecond a second.
func produce(ctx context.Context, broker, topic string, from, to, perSecond int64) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(broker), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(5*time.Millisecond),
		kgo.MaxBufferedRecords(200_000), kgo.ProducerBatchCompression(kgo.SnappyCompression()))
	if err != nil {
		return err
	}
	defer client.Close()
	began := time.Now()
	var failed atomic.Pointer[error]
	for n := from; n < to && failed.Load() == nil; n++ {
		client.Produce(ctx, &kgo.Record{Topic: topic, Partition: int32(n % 4), Value: events.AppendMixed(nil, n)}, func(_ *kgo.Record, err error) {
			if err != nil {
				failed.Store(&err)
			}
		})
		if perSecond > 0 && n%1000 == 0 {
			if ahead := time.Duration(n-from)*time.Second/time.Duration(perSecond) - time.Since(began); ahead > 0 {
				pause := time.NewTimer(ahead)
				<-pause.C
			}
		}
	}
	if err := client.Flush(ctx); err != nil {
		return err
	}
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

func createTopic(t *testing.T, broker, topic string, partitions int32) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(broker))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := kadm.NewClient(client).CreateTopic(t.Context(), partitions, 1, nil, topic); err != nil {
		t.Fatal(err)
	}
}

// recreateTopic deletes the topic if it is there and makes it.
func recreateTopic(t *testing.T, broker, topic string, partitions int32) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(broker))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	if _, err := admin.DeleteTopic(t.Context(), topic); err != nil && !errors.Is(err, kerr.UnknownTopicOrPartition) {
		t.Fatal(err)
	}
	// The broker forgets the topic a moment after it has answered.
	for deadline := time.Now().Add(30 * time.Second); ; {
		_, err := admin.CreateTopic(t.Context(), partitions, 1, nil, topic)
		if err == nil {
			return
		}
		if !errors.Is(err, kerr.TopicAlreadyExists) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// TestKafkaToDeltaOnMinIOSurvivesTwentyKills is the whole promise on Kafka and S3: two million records in four partitions, one in a thousand malformed and one in a
// thousand with a misfit, produced while the query runs; killed twenty times; read by deltalake and by DuckDB's delta_scan.
func TestKafkaToDeltaOnMinIOSurvivesTwentyKills(t *testing.T) {
	const records = 2_000_000
	broker, minio := services.Kafka(t, services.KafkaOptions{}), services.MinIO(t)
	bucket := minio.NewBucket(t)
	createTopic(t, broker.Addr, "events", 4)
	dir := t.TempDir()
	yaml, env := s3Config(minio)
	file := write(t, dir, "microbatch.yaml", `
name: events
source:
  kafka: {brokers: ["`+broker.Addr+`"], topics: [events], start: earliest}
  format: json
  schema: `+events.DDL+`
sink:
  table: {path: "s3://`+bucket+`/lake/events", format: delta}
checkpoint: s3://`+bucket+`/checkpoints/events
trigger: {max_rows: 20000}
`+yaml)
	produced := make(chan error, 1)
	go func() { produced <- produce(t.Context(), broker.Addr, "events", 0, records, 40_000) }()
	k := killing{file: file, env: env, args: []string{"--trigger", "0s"}, kills: 20, rng: newRand(t)}
	if n := k.run(t); n < 5 {
		t.Errorf("%d kills between commit and record", n)
	}
	if err := <-produced; err != nil {
		t.Fatal(err)
	}
	last := start(t, env, file, "--once")
	last.wait(10 * time.Minute)
	if last.batches == 0 {
		t.Error("no work was left after the last kill")
	}
	var good, bad, sum int64
	for n := range int64(records) {
		if malformed, misfit := events.Bad(n); malformed || misfit {
			bad++
		} else {
			good, sum = good+1, sum+n
		}
	}
	expected := dir + "/expected.ndjson"
	writeExpected(t, expected, records)
	got := services.RunPython(t, services.Python(t), readDelta, 10*time.Minute,
		"s3://"+bucket+"/lake/events", "s3://"+bucket+"/lake/events_rejected", expected, minio.Endpoint, minio.AccessKey, minio.SecretKey)
	want := fmt.Sprintf(`deltalake: %d rows, %d ids, sum %d
delta_scan: %d rows, %d ids, sum %d
rows that differ from the input: 0
rejected: %d rows at %d positions
`, good, good, sum, good, good, sum, bad, bad)
	if got != want {
		t.Errorf("readers say\n%swant\n%s", got, want)
	}
}
