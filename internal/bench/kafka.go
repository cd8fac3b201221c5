package main

import (
	"context"
	"fmt"
	"os"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"microbatch/internal/services"
)

const kafkaPartitions = 4

// measureKafka takes rows from a real broker to a table. The broker's processor time is not counted, but it takes part of the same processors.
func measureKafka(ctx context.Context, b *bench) ([]Result, error) {
	broker, err := services.LaunchKafka(services.KafkaOptions{})
	if err != nil {
		return nil, err
	}
	defer broker.Stop()
	if err := produceEvents(ctx, broker.Addr, "events", b.rows); err != nil {
		return nil, err
	}
	var perSecond, perCPU, peak []float64
	for range b.rounds {
		dir, err := b.fresh("kafka-out")
		if err != nil {
			return nil, err
		}
		u, batches, err := b.start(ctx, dir, kafkaToTable(broker.Addr, "events", dir), int64(b.rows))
		if err != nil {
			return nil, err
		}
		var ms float64
		for _, p := range batches {
			ms += p.total()
		}
		perSecond = append(perSecond, float64(b.rows)/(ms/1000))
		perCPU = append(perCPU, float64(b.rows)/u.cpu.Seconds())
		peak = append(peak, float64(u.peak)/1e6)
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
	}
	return []Result{
		alone("Kafka to table", "rows/s", perSecond, atLeast(200_000)),
		alone("Kafka to table, per processor second", "rows/CPU s", perCPU, nil),
		alone("Kafka to table, peak memory", "MB", peak, atMost(300)),
	}, nil
}

// produceEvents writes rows to a topic of 4 partitions: row i to partition i mod 4.
func produceEvents(ctx context.Context, addr, topic string, rows int) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.DefaultProduceTopic(topic), kgo.MaxBufferedRecords(100_000))
	if err != nil {
		return fmt.Errorf("kafka: %w", err)
	}
	defer client.Close()
	if _, err := kadm.NewClient(client).CreateTopic(ctx, kafkaPartitions, 1, nil, topic); err != nil {
		return fmt.Errorf("kafka: create topic: %w", err)
	}
	g := newGenerator(3)
	var failed error
	for i := range rows {
		line := g.append(nil)
		client.Produce(ctx, &kgo.Record{Value: line[:len(line)-1], Partition: int32(i % kafkaPartitions)}, func(_ *kgo.Record, err error) {
			if err != nil && failed == nil { // promises are called one after the other
				failed = err
			}
		})
	}
	if err := client.Flush(ctx); err != nil {
		return fmt.Errorf("kafka: %w", err)
	}
	if failed != nil {
		return fmt.Errorf("kafka: produce: %w", failed)
	}
	return nil
}

func kafkaToTable(addr, topic, out string) string {
	return fmt.Sprintf("name: bench\nsource:\n  kafka: {brokers: [%s], topics: [%s]}\n  format: json\n  schema: %s\nsink:\n  table: {path: %s}\ntrigger: {every: 0s}\n",
		strconv.Quote(addr), topic, eventsDDL, strconv.Quote(out+"/table"))
}
