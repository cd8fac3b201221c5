package kafka_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/codec/json"
	"microbatch/ident"
	"microbatch/internal/sim/kafkamodel"
	"microbatch/objstore"
	"microbatch/objstore/mem"
	"microbatch/schema"
	"microbatch/sources"
	"microbatch/sources/kafka"
)

// kit is a cluster of the model in a bubble, and what a test does with a source on it.
type kit struct {
	*testing.T
	*kafkamodel.Cluster
	hook  kafkamodel.Intercept
	alloc *memory.CheckedAllocator
	own   objstore.Store
	kafka.Notices
}

// bubble runs a test on a cluster whose requests take 1 to 2 ms of the bubble's time.
func bubble(t *testing.T, config kafkamodel.Config, test func(*kit)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		if config.Latency == 0 {
			config.Latency = time.Millisecond
		}
		k := &kit{T: t, Cluster: kafkamodel.New(config), alloc: memory.NewCheckedAllocator(memory.DefaultAllocator), own: mem.New()}
		t.Cleanup(func() { k.alloc.AssertSize(t, 0) })
		test(k)
	})
}

// row is the value of record i.
func row(i int) kafkamodel.Record {
	return kafkamodel.Record{Key: fmt.Appendf(nil, "k%d", i), Value: fmt.Appendf(nil, `{"id":%d,"name":"n%d"}`, i, i%7)}
}

func rows(from, to int) (records []kafkamodel.Record) {
	for ; from < to; from++ {
		records = append(records, row(from))
	}
	return records
}

// produce appends rows [from, to) in batches of a hundred.
func (k *kit) produce(partition int32, from, to int) {
	for ; from < to; from += 100 {
		k.Produce("orders", partition, nil, rows(from, min(from+100, to))...)
	}
}

func (k *kit) config() kafka.Config {
	values, err := schema.ParseDDL("id BIGINT, name STRING")
	if err != nil {
		k.Fatal(err)
	}
	return kafka.Config{
		Client: k.Client("a", k.hook), Topics: []string{"orders"}, Format: json.New(json.Options{}), Schema: values, Alloc: k.alloc, RetryFor: 30 * time.Second,
		Notice: k.Notice,
	}
}

// open is a source that is open and pinned.
func (k *kit) open(c kafka.Config) *kafka.Source {
	k.Helper()
	s, err := kafka.New(c)
	if err != nil {
		k.Fatal(err)
	}
	return kafka.OpenAndPin(k.T, s, k.own)
}

func (k *kit) plan(s *kafka.Source, from ident.Offset, most int64) sources.Planned {
	k.Helper()
	return kafka.PlanOf(k.T, s, from, most)
}

// read is the ids of a range, sorted, after a check that the positions add up.
func (k *kit) read(s *kafka.Source, from ident.Offset, p sources.Planned) []int {
	k.Helper()
	ids, err := k.tryRead(s, from, p)
	if err != nil {
		k.Fatal(err)
	}
	return ids
}

func (k *kit) tryRead(s *kafka.Source, from ident.Offset, p sources.Planned) ([]int, error) {
	return kafka.ReadIDs(k.Context(), s, from, p)
}

// readAll reads to the end, in ranges of at most so many rows.
func (k *kit) readAll(s *kafka.Source, from ident.Offset, most int64) (ids []int) {
	k.Helper()
	for {
		p := k.plan(s, from, most)
		if p.To == from {
			return ids
		}
		ids = append(ids, k.read(s, from, p)...)
		from = p.To
	}
}
