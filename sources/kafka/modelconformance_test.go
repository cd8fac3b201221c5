package kafka_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/internal/sim/kafkamodel"
	"microbatch/sources"
	"microbatch/sources/kafka"
	"microbatch/sources/sourcetest"
)

func TestKafkaSourceConformsOnTheModelInABubble(t *testing.T) {
	var cluster *kafkamodel.Cluster
	fed := 0
	sourcetest.Run(t, sourcetest.Subject{
		Within: synctest.Test,
		Reset: func(*testing.T) {
			cluster, fed = kafkamodel.New(kafkamodel.Config{Brokers: 3, Latency: time.Millisecond, Gzip: true}), 0
			cluster.Create("orders", 3)
		},
		New: func(t *testing.T, alloc memory.Allocator) sources.Source {
			k := kit{T: t, Cluster: cluster}
			c := k.config()
			c.Alloc, c.Metadata = alloc, []string{"topic", "partition", "offset", "timestamp", "key", "headers"}
			s, err := kafka.New(c)
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		Feed: func(t *testing.T, n int) {
			k := kit{T: t, Cluster: cluster}
			k.produce(0, fed, fed+n/2)
			committed, aborted := k.Begin(1), k.Begin(2)
			k.Produce("orders", 1, aborted, rows(0, n/4)...)
			k.Produce("orders", 1, committed, rows(fed+n/2, fed+n/2+n/4)...)
			aborted.Abort()
			committed.Commit()
			k.produce(2, fed+n/2+n/4, fed+n)
			k.Produce("orders", 0, nil, kafkamodel.Record{Value: []byte(`{"id":`)})
			fed += n
		},
	})
}
