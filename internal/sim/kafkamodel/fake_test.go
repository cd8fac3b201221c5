package kafkamodel_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"microbatch/internal/sim/kafkamodel"
)

// seen is what a client sees of a partition from an offset on.
type seen struct {
	Err                int16
	Begin, Stable, End int64
	Aborted            map[[2]int64]bool // producer, first offset
	Batches            []header
	Records            []string
}

// header is what a batch says of itself.
type header struct {
	Base       int64
	LastDelta  int32
	Attributes int16
	Producer   int64
	Count      int32
}

func look(ctx context.Context, t *testing.T, broker kmsg.Requestor, id [16]byte, from int64, most int32, isolation int8) (seen, int64) {
	t.Helper()
	req := kmsg.NewPtrFetchRequest()
	req.MaxBytes, req.IsolationLevel, req.MinBytes, req.MaxWaitMillis = 1<<30, isolation, 0, 0
	rt, rp := kmsg.NewFetchRequestTopic(), kmsg.NewFetchRequestTopicPartition()
	rt.Topic, rt.TopicID, rp.FetchOffset, rp.PartitionMaxBytes = "orders", id, from, most
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(ctx, broker)
	if err != nil {
		t.Fatal(err)
	}
	p := &resp.Topics[0].Partitions[0]
	s := seen{Err: p.ErrorCode, Begin: p.LogStartOffset, Stable: p.LastStableOffset, End: p.HighWatermark, Aborted: map[[2]int64]bool{}}
	if p.ErrorCode != 0 {
		return seen{Err: p.ErrorCode}, from
	}
	for _, a := range p.AbortedTransactions {
		s.Aborted[[2]int64{a.ProducerID, a.FirstOffset}] = true
	}
	s.Batches = headers(p.RecordBatches)
	o := kgo.ProcessFetchPartitionOpts{Offset: from, Topic: "orders", IsolationLevel: kgo.ReadUncommitted(), KeepControlRecords: false}
	if isolation == 1 {
		o.IsolationLevel = kgo.ReadCommitted()
	}
	found, next := kgo.ProcessFetchPartition(o, p, kgo.DefaultDecompressor(), nil)
	if found.Err != nil {
		t.Fatalf("from %d: %v", from, found.Err)
	}
	for _, r := range found.Records {
		s.Records = append(s.Records, fmt.Sprintf("%d %q %q %d", r.Offset, r.Key, r.Value, r.Timestamp.UnixMilli()))
	}
	return s, next
}

func headers(b []byte) (all []header) {
	for len(b) > 61 {
		size := int(binary.BigEndian.Uint32(b[8:])) + 12
		if size > len(b) {
			break
		}
		all = append(all, header{
			int64(binary.BigEndian.Uint64(b)), int32(binary.BigEndian.Uint32(b[23:])), int16(binary.BigEndian.Uint16(b[21:])),
			int64(binary.BigEndian.Uint64(b[43:])), int32(binary.BigEndian.Uint32(b[57:])),
		})
		b = b[size:]
	}
	return all
}

func offsets(ctx context.Context, t *testing.T, client kmsg.Requestor, at int64, isolation int8) (int64, int16) {
	t.Helper()
	req := kmsg.NewPtrListOffsetsRequest()
	req.IsolationLevel = isolation
	rt, rp := kmsg.NewListOffsetsRequestTopic(), kmsg.NewListOffsetsRequestTopicPartition()
	rt.Topic, rp.Timestamp = "orders", at
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(ctx, client)
	if err != nil {
		t.Fatal(err)
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			return p.Offset, p.ErrorCode
		}
	}
	t.Fatal("no answer")
	return 0, 0
}

// TestTheModelAnswersAsAnotherBrokerDoes plays the same random script on the model and, by a real producer, on kfake, and compares what both say.
func TestTheModelAnswersAsAnotherBrokerDoes(t *testing.T) {
	for seed := range uint64(3) {
		fake, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "orders"))
		if err != nil {
			t.Fatal(err)
		}
		defer fake.Close()
		producers := []*kgo.Client{newProducer(t, fake)}
		for i := range 3 {
			producers = append(producers, newProducer(t, fake, kgo.TransactionalID(fmt.Sprint("t", i))))
		}
		admin := kadm.NewClient(producers[0])
		model := kafkamodel.New(kafkamodel.Config{})
		model.Create("orders", 1)
		client := model.Client("", nil)
		ctx := t.Context()

		ids := map[string][16]byte{}
		for what, c := range map[string]kmsg.Requestor{"fake": producers[0], "model": client} {
			req := kmsg.NewPtrMetadataRequest()
			rt := kmsg.NewMetadataRequestTopic()
			rt.Topic = kmsg.StringPtr("orders")
			req.Topics = append(req.Topics, rt)
			resp, err := req.RequestWith(ctx, c)
			if err != nil {
				t.Fatal(err)
			}
			ids[what] = resp.Topics[0].TopicID
		}

		chance := rand.New(rand.NewPCG(seed, 0))
		txns := make([]*kafkamodel.Txn, 4)
		at := time.UnixMilli(1_700_000_000_000)
		n := 0
		for step := range 60 {
			who := chance.IntN(4)
			producer := producers[who]
			if who > 0 && txns[who] != nil && chance.IntN(3) == 0 {
				end := kgo.TransactionEndTry(chance.IntN(2) == 0)
				if err := producer.EndTransaction(ctx, end); err != nil {
					t.Fatal(err)
				}
				if end {
					txns[who].Commit()
				} else {
					txns[who].Abort()
				}
				txns[who] = nil
			} else {
				var records []*kgo.Record
				var same []kafkamodel.Record
				for range 1 + chance.IntN(5) {
					n++
					at = at.Add(time.Second)
					key, value := fmt.Appendf(nil, "k%d", n%5), fmt.Appendf(nil, "v%d", n)
					if n%7 == 0 {
						value = nil
					}
					records = append(records, &kgo.Record{Topic: "orders", Key: key, Value: value, Timestamp: at})
					same = append(same, kafkamodel.Record{Key: key, Value: value, Time: at})
				}
				if who > 0 && txns[who] == nil {
					if err := producer.BeginTransaction(); err != nil {
						t.Fatal(err)
					}
				}
				if err := producer.ProduceSync(ctx, records...).FirstErr(); err != nil {
					t.Fatal(err)
				}
				if who > 0 && txns[who] == nil {
					id, _, err := producer.ProducerID(ctx)
					if err != nil {
						t.Fatal(err)
					}
					txns[who] = model.Begin(id)
				}
				model.Produce("orders", 0, txns[who], same...)
			}
			if step%20 == 19 {
				begin, stable, _ := model.Offsets("orders", 0)
				before := begin + chance.Int64N(max(1, stable-begin))
				model.DeleteRecords("orders", 0, before)
				if _, err := admin.DeleteRecords(ctx, kadm.Offsets{"orders": {0: {Topic: "orders", At: before}}}); err != nil {
					t.Fatal(err)
				}
			}
			_, _, end := model.Offsets("orders", 0)
			for isolation := range int8(2) {
				for _, from := range []int64{0, chance.Int64N(end + 1), chance.Int64N(end + 1), end, end + 1} {
					want, _ := look(ctx, t, producers[0].Broker(0), ids["fake"], from, 1<<30, isolation)
					have, _ := look(ctx, t, client.Broker(1), ids["model"], from, 1<<30, isolation)
					for i := range want.Batches {
						if want.Batches[i].Attributes&16 == 0 {
							want.Batches[i].Producer = -1 // a real one is idempotent
						}
					}
					if d := cmp.Diff(want, have); d != "" {
						t.Fatalf("seed %d, step %d, isolation %d, from %d (-kfake +model): %s", seed, step, isolation, from, d)
					}
				}
				for _, when := range []int64{-2, -1} { // the offset of a time: kfake goes by batches, Kafka by records
					want, code := offsets(ctx, t, producers[0], when, isolation)
					have, too := offsets(ctx, t, client, when, isolation)
					if want != have || code != too {
						t.Fatalf("seed %d, step %d, isolation %d: the offset of %d: kfake says %d (%d), the model %d (%d)", seed, step, isolation, when, want, code, have, too)
					}
				}
			}
		}
	}
}

func newProducer(t *testing.T, fake *kfake.Cluster, opts ...kgo.Opt) *kgo.Client {
	t.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(fake.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.ProducerLinger(20 * time.Millisecond), kgo.DisableClientMetrics(),
	}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}
