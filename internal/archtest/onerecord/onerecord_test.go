// Package onerecord runs one Kafka record from the broker into a table. docs/architecture.md follows the same record; the test beside the page looks at what
// this run has covered.
package onerecord

import (
	"context"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"microbatch/codec/json"
	"microbatch/engine"
	"microbatch/objstore"
	"microbatch/objstore/localfs"
	"microbatch/schema"
	"microbatch/sinks"
	"microbatch/sinks/lakehouse"
	"microbatch/sources"
	"microbatch/sources/kafka"
	"microbatch/table"
	"microbatch/transforms"
	"microbatch/transforms/project"
)

// TestOneKafkaRecord: the record is in the table when the query has caught up.
func TestOneKafkaRecord(t *testing.T) {
	broker := produce(t, `{"id": 7, "name": "Ada", "amount": 12.5}`)
	place, checkpoint := disk(t), disk(t)
	if err := query(t, broker, place, checkpoint).Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	tbl, err := table.Open(t.Context(), place, table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for rec, err := range tbl.Snapshot().Read(t.Context(), []string{"name"}, memory.DefaultAllocator) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, rec.Column(0).(*array.String).Value(0))
		rec.Release()
	}
	if len(names) != 1 || names[0] != "Ada" {
		t.Errorf("the table holds %q", names)
	}
	if _, err := checkpoint.Get(t.Context(), "commits/0"); err != nil {
		t.Error(err)
	}
}

// produce starts a broker with one record in the topic "events" and returns its address.
func produce(t *testing.T, value string) string {
	t.Helper()
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "events"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(cluster.ListenAddrs()...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.ProduceSync(context.Background(), &kgo.Record{Topic: "events", Value: []byte(value)}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	return cluster.ListenAddrs()[0]
}

func disk(t *testing.T) objstore.Store {
	t.Helper()
	s, err := localfs.New(t.TempDir(), localfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// query is what package pipeline makes of a pipeline file.
func query(t *testing.T, broker string, place, checkpoint objstore.Store) engine.Query {
	t.Helper()
	rows, err := schema.ParseDDL("id BIGINT, name STRING, amount DOUBLE")
	if err != nil {
		t.Fatal(err)
	}
	source, err := kafka.New(kafka.Config{Brokers: []string{broker}, Topics: []string{"events"}, Format: json.New(json.Options{}), Schema: rows})
	if err != nil {
		t.Fatal(err)
	}
	sink, err := lakehouse.New(lakehouse.Config{Store: place})
	if err != nil {
		t.Fatal(err)
	}
	return engine.Query{
		Name: "events", Sources: []sources.Source{source}, Transforms: []transforms.Operator{project.NewFilter("amount > 10")}, Sink: sinks.Sink(sink),
		OnError: engine.FailQuery, Checkpoint: checkpoint, Trigger: engine.Trigger{Once: true},
	}
}
