//go:build services

package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"microbatch/internal/services"
)

// produceAvro writes orders with Confluent's serializer: half of them by a schema, half by the next version of it, which has a field more and the fields in another order.
const produceAvro = `
import sys, datetime, decimal
from confluent_kafka import Producer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import SerializationContext, MessageField
broker, registry, topic = sys.argv[1:4]
client = SchemaRegistryClient({"url": registry})
fields = ['{"name":"id","type":"long"}', '{"name":"name","type":["null","string"],"default":null}', '{"name":"amount","type":{"type":"bytes","logicalType":"decimal","precision":10,"scale":2}}',
  '{"name":"at","type":{"type":"long","logicalType":"timestamp-millis"}}', '{"name":"tags","type":{"type":"array","items":"string"}}',
  '{"name":"place","type":["null",{"type":"record","name":"Place","fields":[{"name":"city","type":"string"}]}],"default":null}']
more = fields[::-1] + ['{"name":"note","type":["null","string"],"default":null}']
producer = Producer({"bootstrap.servers": broker})
for version, schema in enumerate([fields, more]):
    serialize = AvroSerializer(client, '{"type":"record","name":"Order","namespace":"shop","fields":[%s]}' % ",".join(schema))
    for i in range(version * 50, version * 50 + 50):
        row = {"id": i, "name": None if i % 5 == 0 else "n%d" % i, "amount": decimal.Decimal(i * 137) / 100, "at": datetime.datetime(2026, 1, 5, 8, 0, i % 60, 123000, tzinfo=datetime.timezone.utc),
          "tags": ["t%d" % k for k in range(i % 3)], "place": {"city": "Bern"} if i % 2 else None}
        if version:
            row["note"] = "later"
        producer.produce(topic, serialize(row, SerializationContext(topic, MessageField.VALUE)))
producer.flush()
`

// consumeAvro reads a topic with Confluent's deserializer and prints a line of JSON for each record.
const consumeAvro = `
import sys, json
from confluent_kafka import Consumer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import SerializationContext, MessageField
broker, registry, topic, want = sys.argv[1:5]
read = AvroDeserializer(SchemaRegistryClient({"url": registry}))
consumer = Consumer({"bootstrap.servers": broker, "group.id": "foreign", "auto.offset.reset": "earliest", "isolation.level": "read_committed"})
consumer.subscribe([topic])
rows = 0
while rows < int(want):
    m = consumer.poll(20)
    if m is None: raise SystemExit("only %d records" % rows)
    if m.error(): raise SystemExit(str(m.error()))
    print(json.dumps(read(m.value(), SerializationContext(topic, MessageField.VALUE)), default=str, sort_keys=True))
    rows += 1
consumer.close()
`

// TestAvroWithARealRegistry: records of Confluent's client are read by their writers' schemas, written again under a schema that is made of the columns, read by Confluent's
// client and by ourselves; what is not compatible, not registered or not reachable is told and leaves nothing behind.
func TestAvroWithARealRegistry(t *testing.T) {
	broker, registry := services.Kafka(t, services.KafkaOptions{}).Addr, services.SchemaRegistry(t)
	python := services.ConfluentPython(t)
	dir := t.TempDir()
	createTopic(t, broker, "orders", 2)
	createTopic(t, broker, "out", 1)
	services.RunPython(t, python, produceAvro, time.Minute, broker, registry, "orders")
	produceRaw(t, broker, "orders", `{"id": 1}`)

	source := "source:\n  kafka: {brokers: [\"" + broker + "\"], topics: [orders], schema_registry: {url: \"" + registry + "\"}}\n  format: avro\n"
	sink := "sink:\n  kafka:\n    brokers: [\"" + broker + "\"]\n    topic: out\n    key: id\n    format: avro\n    schema_registry: {url: \"" + registry + "\"}\n"
	head := "rejected: {table: " + filepath.Join(dir, "rejected") + "}\n"
	relay := write(t, dir, "relay.yaml", "name: relay\n"+source+sink+"    avro: {record: shop.Cleaned}\n"+head+"checkpoint: relay\n")
	if code, out := exitOf(t, "validate", relay); code != 0 || !strings.Contains(out, "kafka orders as avro -> kafka out as avro") || !strings.Contains(out, "note STRING") {
		t.Fatalf("validate: %d: %s", code, out)
	}
	if subjects := ask(t, http.MethodGet, registry+"/subjects", ""); strings.Contains(subjects, "out-value") {
		t.Errorf("validate has registered a schema: %s", subjects)
	}
	if code, out := exitOf(t, "start", relay, "--once"); code != 0 {
		t.Fatalf("start: %d: %s", code, out)
	}
	if code, out := exitOf(t, "rejected", "show", relay); code != 0 || !strings.Contains(out, "MB3001 malformed Avro: the message does not begin") {
		t.Errorf("rejected rows: %d: %s", code, out)
	}

	t.Run("Confluent's client reads what was written", func(t *testing.T) {
		var rows []map[string]any
		for line := range strings.Lines(services.RunPython(t, python, consumeAvro, time.Minute, broker, registry, "out", "100")) {
			var row map[string]any
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			rows = append(rows, row)
		}
		byID := map[float64]map[string]any{}
		for _, row := range rows {
			byID[row["id"].(float64)] = row
		}
		want := map[string]any{"id": 53.0, "name": "n53", "amount": "72.61", "at": "2026-01-05 08:00:53.123000+00:00", "tags": []any{"t0", "t1"}, "place": map[string]any{"city": "Bern"}, "note": "later"}
		if diff := cmp.Diff(want, byID[53]); diff != "" || len(byID) != 100 {
			t.Errorf("%d orders (-want +got):\n%s", len(byID), diff)
		}
		want = map[string]any{"id": 10.0, "name": nil, "amount": "13.70", "at": "2026-01-05 08:00:10.123000+00:00", "tags": []any{"t0"}, "place": nil, "note": nil}
		if diff := cmp.Diff(want, byID[10]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if latest := ask(t, http.MethodGet, registry+"/subjects/out-value/versions/latest", ""); !strings.Contains(latest, `\"name\":\"Cleaned\",\"namespace\":\"shop\"`) {
			t.Errorf("registered: %s", latest)
		}
	})
	t.Run("we read it too", func(t *testing.T) {
		table := write(t, dir, "table.yaml", "name: cleaned\n"+strings.Replace(source, "[orders]", "[out]", 1)+"sink: {table: {path: "+filepath.Join(dir, "t")+"}}\n")
		if code, out := exitOf(t, "start", table, "--once"); code != 0 {
			t.Fatalf("start: %d: %s", code, out)
		}
		code, out := exitOf(t, "query", "SELECT count(*) AS n, sum(amount) AS total, count(name) AS named, count(place.city) AS placed, count(note) AS noted, sum(len(tags)) AS tags FROM '"+filepath.Join(dir, "t")+"'", "--format", "csv")
		if want := "100,6781.5,80,50,50,99"; code != 0 || !strings.Contains(out, want) {
			t.Errorf("query: %d: %s, want %s", code, out, want)
		}
	})
	t.Run("a schema that is not compatible", func(t *testing.T) {
		ask(t, http.MethodPut, registry+"/config/out-value", `{"compatibility":"FULL"}`)
		other := write(t, dir, "other.yaml", "name: other\n"+source+"transform: [{sql: \"SELECT id, amount::DOUBLE AS amount, 1 AS fresh FROM batch\"}]\n"+sink+head+"checkpoint: other\n")
		refused(t, other, "MB3215")
		if _, err := os.Stat(filepath.Join(dir, "other")); err == nil {
			t.Error("a start that was refused has made a checkpoint")
		}
	})
	t.Run("a schema that nobody has registered", func(t *testing.T) {
		ask(t, http.MethodDelete, registry+"/config/out-value", "")
		strict := write(t, dir, "strict.yaml", "name: strict\n"+source+"transform: [{select: [id]}]\n"+sink+"    avro: {auto_register: off}\n"+head+"checkpoint: strict\n")
		refused(t, strict, "MB3214")
	})
	t.Run("a registry that is not there", func(t *testing.T) {
		gone := write(t, dir, "gone.yaml", "name: gone\n"+source+strings.Replace(sink, registry, "http://127.0.0.1:1", 1)+head+"checkpoint: gone\n")
		refused(t, gone, "MB3211")
	})
}

// refused says that a pipeline is refused by validate, with a code.
func refused(t *testing.T, file, code string) {
	t.Helper()
	if exit, out := exitOf(t, "validate", file); exit == 0 || !strings.Contains(out, code) {
		t.Errorf("validate: %d: %s, want %s", exit, out, code)
	}
}

// produceRaw writes one value to a topic.
func produceRaw(t *testing.T, broker, topic, value string) {
	t.Helper()
	client, err := kgo.NewClient(kgo.SeedBrokers(broker))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: []byte(value)}).FirstErr(); err != nil {
		t.Fatal(err)
	}
}

// ask sends a request to the registry and gives what it answers.
func ask(t *testing.T, method, url, body string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/vnd.schemaregistry.v1+json")
	answer, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
