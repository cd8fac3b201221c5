package kafka

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"microbatch/codec/json"
	"microbatch/ident"
	"microbatch/objstore"
	"microbatch/objstore/mem"
	"microbatch/schema"
	"microbatch/sources"
)

// kit is a fake cluster with a client that feeds it.
type kit struct {
	*testing.T
	*kfake.Cluster
	addrs  []string
	client *kgo.Client
	admin  *kadm.Client
	alloc  *memory.CheckedAllocator
	own    objstore.Store
	Notices
}

func newKit(t *testing.T, opts ...kfake.Opt) *kit {
	t.Helper()
	c, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	k := &kit{T: t, Cluster: c, alloc: memory.NewCheckedAllocator(memory.DefaultAllocator), own: mem.New()}
	k.addrs = c.ListenAddrs()
	k.client = k.newClient()
	k.admin = kadm.NewClient(k.client)
	t.Cleanup(func() { k.alloc.AssertSize(t, 0) })
	return k
}

func (k *kit) newClient(opts ...kgo.Opt) *kgo.Client {
	k.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(k.addrs...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DisableClientMetrics()}, opts...)...)
	if err != nil {
		k.Fatal(err)
	}
	k.Cleanup(cl.Close)
	return cl
}

func (k *kit) topic(name string, partitions int32, configs ...string) {
	k.Helper()
	m := map[string]string{}
	for i := 0; i < len(configs); i += 2 {
		m[configs[i]] = configs[i+1]
	}
	if err := k.CreateTopic(name, partitions, m); err != nil {
		k.Fatal(err)
	}
}

// row is the value of record i.
func row(i int) []byte {
	return fmt.Appendf(nil, `{"id":%d,"name":"n%d"}`, i, i%7)
}

// produce appends rows [from, to) to a partition, each batch of a hundred on its own.
func (k *kit) produce(topic string, partition int32, from, to int) {
	k.Helper()
	k.produceWith(k.client, topic, partition, from, to)
}

func (k *kit) produceWith(cl *kgo.Client, topic string, partition int32, from, to int) {
	k.Helper()
	for ; from < to; from += 100 {
		var records []*kgo.Record
		for i := from; i < min(from+100, to); i++ {
			records = append(records, &kgo.Record{Topic: topic, Partition: partition, Key: fmt.Appendf(nil, "k%d", i), Value: row(i)})
		}
		if err := cl.ProduceSync(k.Context(), records...).FirstErr(); err != nil {
			k.Fatal(err)
		}
	}
}

// transaction appends rows in a transaction and ends it.
func (k *kit) transaction(id, topic string, partition int32, from, to int, end kgo.TransactionEndTry) {
	k.Helper()
	cl := k.newClient(kgo.TransactionalID(id))
	if err := cl.BeginTransaction(); err != nil {
		k.Fatal(err)
	}
	k.produceWith(cl, topic, partition, from, to)
	if err := cl.EndTransaction(k.Context(), end); err != nil {
		k.Fatal(err)
	}
}

var rowSchema = func() *arrow.Schema {
	s, err := schema.ParseDDL("id BIGINT, name STRING")
	if err != nil {
		panic(err)
	}
	return s
}()

func (k *kit) config(topics ...string) Config {
	return Config{
		Brokers: k.addrs, Topics: topics, Format: json.New(json.Options{}), Schema: rowSchema, Alloc: k.alloc, RetryFor: 5 * time.Second,
		Notice: k.Notice,
	}
}

func (k *kit) new(c Config) *Source {
	k.Helper()
	s, err := New(c)
	if err != nil {
		k.Fatal(err)
	}
	s.pause = 10 * time.Millisecond
	return s
}

// open is a source that is open and pinned.
func (k *kit) open(c Config) *Source {
	k.Helper()
	return OpenAndPin(k.T, k.new(c), k.own)
}

func (k *kit) plan(s *Source, from ident.Offset, rows int64) sources.Planned {
	k.Helper()
	return PlanOf(k.T, s, from, rows)
}

// read is the ids of a range, sorted, and how many rows were rejected, after a check that the positions add up.
func (k *kit) read(s *Source, from ident.Offset, p sources.Planned) []int {
	k.Helper()
	ids, err := k.tryRead(k.Context(), s, from, p)
	if err != nil {
		k.Fatal(err)
	}
	return ids
}

func (k *kit) tryRead(ctx context.Context, s *Source, from ident.Offset, p sources.Planned) ([]int, error) {
	return ReadIDs(ctx, s, from, p)
}
