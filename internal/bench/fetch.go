package main

import (
	"context"
	"encoding/binary"
	"fmt"

	"github.com/klauspost/compress/s2"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"
)

// fetchAll fetches all record batches of a topic and looks at nothing but their headers: what a broker of one node can deliver to this machine. With unpack
// it decompresses them too, which is the least that any consumer has to do.
func fetchAll(ctx context.Context, addr, topic string, rows int64, unpack bool) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(addr))
	if err != nil {
		return err
	}
	defer client.Close()
	meta, err := kadm.NewClient(client).Metadata(ctx, topic)
	if err != nil {
		return err
	}
	var group errgroup.Group
	for half := range int32(2) {
		group.Go(func() error {
			f := fetcher{broker: client.Broker(int(meta.Brokers[0].NodeID)), topic: topic, id: meta.Topics[topic].ID, unpack: unpack}
			for p := half; p < kafkaPartitions; p += 2 {
				ends := rows/kafkaPartitions + min(1, max(0, rows%kafkaPartitions-int64(p)))
				f.parts = append(f.parts, fetchPart{partition: p, end: ends})
			}
			return f.run(ctx)
		})
	}
	return group.Wait()
}

// A fetcher asks for some partitions until their ends.
type fetcher struct {
	broker *kgo.Broker
	topic  string
	id     kadm.TopicID
	parts  []fetchPart
	unpack bool
	buf    []byte // of what was unpacked last
}

type fetchPart struct {
	partition int32
	next, end int64
}

func (f *fetcher) run(ctx context.Context) error {
	for {
		req, more := f.request()
		if !more {
			return nil
		}
		answer, err := f.broker.Request(ctx, req)
		if err != nil {
			return fmt.Errorf("fetch: %w", err)
		}
		for _, t := range answer.(*kmsg.FetchResponse).Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					return fmt.Errorf("fetch: partition %d: %w", p.Partition, err)
				}
				if err := f.accept(p.Partition, p.RecordBatches); err != nil {
					return fmt.Errorf("fetch: partition %d: %w", p.Partition, err)
				}
			}
		}
	}
}

func (f *fetcher) request() (req *kmsg.FetchRequest, more bool) {
	r := kmsg.NewPtrFetchRequest()
	r.MaxWaitMillis, r.MinBytes, r.MaxBytes = 500, 1, 32<<20
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = f.topic, f.id
	for _, p := range f.parts {
		if p.next >= p.end {
			continue
		}
		part := kmsg.NewFetchRequestTopicPartition()
		part.Partition, part.FetchOffset, part.PartitionMaxBytes = p.partition, p.next, 8<<20
		t.Partitions = append(t.Partitions, part)
	}
	r.Topics = append(r.Topics, t)
	return r, len(t.Partitions) > 0
}

// headerBytes is the length of a record batch without its records (Kafka protocol: RecordBatch, magic 2).
const headerBytes = 61

// accept walks whole record batches.
func (f *fetcher) accept(partition int32, data []byte) error {
	for len(data) >= headerBytes {
		size := 12 + int(binary.BigEndian.Uint32(data[8:]))
		if size > len(data) {
			return nil
		}
		if f.unpack {
			if err := f.decompress(data[:size]); err != nil {
				return err
			}
		}
		next := int64(binary.BigEndian.Uint64(data)) + int64(binary.BigEndian.Uint32(data[23:])) + 1
		for i := range f.parts {
			if f.parts[i].partition == partition {
				f.parts[i].next = next
			}
		}
		data = data[size:]
	}
	return nil
}

// decompress unpacks the records of a batch, which are as they are or in snappy: the producer is ours.
func (f *fetcher) decompress(recordBatch []byte) (err error) {
	switch codec := recordBatch[22] & 7; codec {
	case 0:
	case 2:
		f.buf, err = s2.Decode(f.buf[:cap(f.buf)], recordBatch[headerBytes:])
	default:
		err = fmt.Errorf("compression %d", codec)
	}
	return err
}
