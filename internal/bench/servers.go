package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"microbatch/internal/services"
)

// servers are the servers that workloads share; each starts when it is first wanted.
type servers struct {
	broker *services.KafkaBroker
	minio  *services.S3Server
	topics map[string]bool
}

func (s *servers) stop() {
	var err error
	if s.broker != nil {
		err = s.broker.Stop()
	}
	if s.minio != nil {
		err = errors.Join(err, s.minio.Process.Stop())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
}

// topic is a topic of 4 partitions with rows, row i in partition i mod 4, and the address of its broker.
func (b *bench) topic(ctx context.Context, rows int) (addr, topic string, err error) {
	if b.services.broker == nil {
		if b.services.broker, err = services.LaunchKafka(services.KafkaOptions{}); err != nil {
			return "", "", err
		}
		b.services.topics = map[string]bool{}
	}
	addr, topic = b.services.broker.Addr, fmt.Sprintf("events-%d", rows)
	if b.services.topics[topic] {
		return addr, topic, nil
	}
	b.say("producing %s", topic)
	b.services.topics[topic] = true
	return addr, topic, produceEvents(ctx, addr, topic, rows)
}

const kafkaPartitions = 4

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

// bucket is a fresh bucket of a MinIO, which the program reaches by its environment.
func (b *bench) bucket(ctx context.Context) (s services.S3Server, bucket string, err error) {
	if b.services.minio == nil {
		s, err := services.LaunchMinIO()
		if err != nil {
			return s, "", err
		}
		b.services.minio = &s
		b.env = append(b.env, "BENCH_ACCESS_KEY="+s.AccessKey, "BENCH_SECRET_KEY="+s.SecretKey)
	}
	bucket = "bench-" + uuid.NewString()
	return *b.services.minio, bucket, b.services.minio.MakeBucket(ctx, bucket)
}
