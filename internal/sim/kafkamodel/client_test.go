package kafkamodel_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"microbatch/internal/sim/kafkamodel"
)

var firstID = [16]byte{0: 0x6d, 6: 0x40, 8: 0x80, 15: 1}

// fetchRequest asks for one partition of the first topic made.
func fetchRequest(partition int32, from int64, epoch int32) *kmsg.FetchRequest {
	req := kmsg.NewPtrFetchRequest()
	req.MaxBytes, req.MinBytes, req.MaxWaitMillis = 1<<20, 1, 500
	rt, rp := kmsg.NewFetchRequestTopic(), kmsg.NewFetchRequestTopicPartition()
	rt.TopicID, rp.Partition, rp.FetchOffset, rp.CurrentLeaderEpoch, rp.PartitionMaxBytes = firstID, partition, from, epoch, 1<<20
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	return req
}

func records(values ...string) (all []kafkamodel.Record) {
	for _, v := range values {
		all = append(all, kafkamodel.Record{Value: []byte(v)})
	}
	return all
}

func TestAFetchIsRefusedWithTheReason(t *testing.T) {
	c := kafkamodel.New(kafkamodel.Config{Brokers: 2})
	c.Create("orders", 1)
	c.Produce("orders", 0, nil, records("a", "b")...)
	c.MoveLeader("orders", 0, 1)
	c.MoveLeader("orders", 0, 1) // now epoch 2
	client := c.Client("", nil)
	unknown := fetchRequest(0, 0, 2)
	unknown.Topics[0].TopicID[0] = 99
	for _, f := range []struct {
		name   string
		broker int
		req    *kmsg.FetchRequest
		want   *kerr.Error
	}{
		{"all is well", 1, fetchRequest(0, 0, 2), nil},
		{"no epoch said", 1, fetchRequest(0, 0, -1), nil},
		{"another broker leads", 2, fetchRequest(0, 0, 2), kerr.NotLeaderForPartition},
		{"an old epoch", 1, fetchRequest(0, 0, 1), kerr.FencedLeaderEpoch},
		{"an epoch to come", 1, fetchRequest(0, 0, 3), kerr.UnknownLeaderEpoch},
		{"no such partition", 1, fetchRequest(1, 0, -1), kerr.UnknownTopicOrPartition},
		{"no such topic", 1, unknown, kerr.UnknownTopicID},
		{"after the end", 1, fetchRequest(0, 3, 2), kerr.OffsetOutOfRange},
	} {
		resp, err := f.req.RequestWith(t.Context(), client.Broker(f.broker))
		if err != nil {
			t.Fatal(err)
		}
		if have := kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode); !errors.Is(have, error(f.want)) && (have != nil || f.want != nil) {
			t.Errorf("%s: %v, want %v", f.name, have, f.want)
		}
	}
	c.Recreate("orders", 1)
	resp, err := fetchRequest(0, 0, -1).RequestWith(t.Context(), client.Broker(1))
	if err != nil || resp.Topics[0].Partitions[0].ErrorCode != kerr.UnknownTopicID.Code {
		t.Errorf("by the id of the former topic: %+v, %v", resp, err)
	}
}

func TestAFetchOfNothingAnswersAfterItsWaitOrEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := kafkamodel.New(kafkamodel.Config{})
		c.Create("orders", 1)
		broker := c.Client("", nil).Broker(1)
		began := time.Now()
		time.AfterFunc(300*time.Millisecond, func() { c.Produce("orders", 0, nil, records("a")...) })
		resp, err := fetchRequest(0, 0, -1).RequestWith(t.Context(), broker)
		if took := time.Since(began); err != nil || took != 500*time.Millisecond || len(resp.Topics[0].Partitions[0].RecordBatches) == 0 {
			t.Errorf("after %s: %v, %v", took, resp, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		began = time.Now()
		if _, err := fetchRequest(0, 1, -1).RequestWith(ctx, broker); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 100*time.Millisecond {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}

func TestRequestsOfOneInstantAreServedInOneOrder(t *testing.T) {
	run := func() (order []string) {
		synctest.Test(t, func(t *testing.T) {
			c := kafkamodel.New(kafkamodel.Config{Brokers: 2, Latency: time.Millisecond})
			c.Create("orders", 2)
			var mu sync.Mutex
			var all sync.WaitGroup
			for _, process := range []string{"a", "b", "c"} {
				for offset := range int64(20) {
					all.Go(func() {
						client := c.Client(process, func(_ context.Context, _ int, _ kmsg.Request, serve func() (kmsg.Response, error)) (kmsg.Response, error) {
							resp, err := serve()
							mu.Lock()
							defer mu.Unlock()
							order = append(order, fmt.Sprint(process, offset))
							return resp, err
						})
						if _, err := client.Broker(1).Request(t.Context(), fetchRequest(0, 100+offset, -1)); err != nil {
							t.Error(err)
						}
					})
				}
			}
			all.Wait()
			if took := time.Since(start); took < time.Millisecond || took > 2*time.Millisecond {
				t.Errorf("took %s", took)
			}
		})
		return order
	}
	first := run()
	if slices.IsSorted(first) || len(first) != 60 {
		t.Errorf("order %v", first)
	}
	for range 10 {
		if d := cmp.Diff(first, run()); d != "" {
			t.Fatal(d)
		}
	}
}

// start is when every bubble starts.
var start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func TestEpochsEndWhereTheNextBegan(t *testing.T) {
	c := kafkamodel.New(kafkamodel.Config{Brokers: 2})
	c.Create("orders", 1)
	client := c.Client("", nil)
	ends := func() (all [][2]int64) {
		for epoch := range int32(6) {
			req := kmsg.NewPtrOffsetForLeaderEpochRequest()
			rt, rp := kmsg.NewOffsetForLeaderEpochRequestTopic(), kmsg.NewOffsetForLeaderEpochRequestTopicPartition()
			rt.Topic, rp.LeaderEpoch = "orders", epoch
			rt.Partitions = append(rt.Partitions, rp)
			req.Topics = append(req.Topics, rt)
			resp, err := req.RequestWith(t.Context(), client)
			if err != nil {
				t.Fatal(err)
			}
			p := resp.Topics[0].Partitions[0]
			all = append(all, [2]int64{int64(p.LeaderEpoch), p.EndOffset})
		}
		return all
	}
	unknown := [2]int64{-1, -1}
	check := func(what string, want ...[2]int64) {
		t.Helper()
		for len(want) < 6 {
			want = append(want, unknown)
		}
		if d := cmp.Diff(want, ends()); d != "" {
			t.Errorf("%s: %s", what, d)
		}
	}
	c.Produce("orders", 0, nil, records("0", "1", "2", "3")...)
	check("at first", [2]int64{0, 4})
	c.MoveLeader("orders", 0, 2)
	c.Produce("orders", 0, nil, records("4", "5")...)
	check("after a move", [2]int64{0, 4}, [2]int64{1, 6})
	c.MoveLeader("orders", 0, 1)
	c.MoveLeader("orders", 0, 2) // nothing was written under epoch 2
	c.Produce("orders", 0, nil, records("6")...)
	check("after two more", [2]int64{0, 4}, [2]int64{1, 6}, [2]int64{1, 6}, [2]int64{3, 7})
	if end := c.Truncate("orders", 0, 5); end != 4 {
		t.Errorf("cut to %d: a batch is whole", end)
	}
	c.Produce("orders", 0, nil, records("a", "b", "c", "d")...)
	check("after a cut", [2]int64{0, 4}, [2]int64{0, 4}, [2]int64{0, 4}, [2]int64{0, 4}, [2]int64{4, 8})
}

func TestListOffsetsGoToEachLeaderAndAreJoined(t *testing.T) {
	c := kafkamodel.New(kafkamodel.Config{Brokers: 3})
	c.Create("orders", 4)
	c.MoveLeader("orders", 2, -1)
	var asked []int
	client := c.Client("", func(_ context.Context, broker int, _ kmsg.Request, serve func() (kmsg.Response, error)) (kmsg.Response, error) {
		asked = append(asked, broker)
		return serve()
	})
	req := kmsg.NewPtrListOffsetsRequest()
	rt := kmsg.NewListOffsetsRequestTopic()
	rt.Topic = "orders"
	for p := range int32(5) {
		c := kmsg.NewListOffsetsRequestTopicPartition()
		c.Partition, c.Timestamp = p, -1
		rt.Partitions = append(rt.Partitions, c)
	}
	req.Topics = append(req.Topics, rt)
	resp, err := req.RequestWith(t.Context(), client)
	if err != nil {
		t.Fatal(err)
	}
	codes := map[int32]int16{}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			codes[p.Partition] = p.ErrorCode
		}
	}
	want := map[int32]int16{0: 0, 1: 0, 2: kerr.LeaderNotAvailable.Code, 3: 0, 4: kerr.UnknownTopicOrPartition.Code}
	if d := cmp.Diff(want, codes); d != "" || !slices.Equal(asked, []int{1, 2}) {
		t.Errorf("asked %v: %s", asked, d)
	}
	c.Stop(2)
	if _, err := req.RequestWith(t.Context(), client); !errors.Is(err, kafkamodel.ErrCut) {
		t.Errorf("with one leader stopped: %v", err)
	}
}

func TestMisusePanics(t *testing.T) {
	for name, misuse := range map[string]func(*kafkamodel.Cluster){
		"a topic twice":                func(c *kafkamodel.Cluster) { c.Create("orders", 1) },
		"no such partition":            func(c *kafkamodel.Cluster) { c.Produce("orders", 1, nil, records("a")...) },
		"no such broker":               func(c *kafkamodel.Cluster) { c.MoveLeader("orders", 0, 7) },
		"two transactions at once":     func(c *kafkamodel.Cluster) { c.Begin(1); c.Begin(1) },
		"a transaction that has ended": func(c *kafkamodel.Cluster) { txn := c.Begin(1); txn.Abort(); txn.Commit() },
	} {
		c := kafkamodel.New(kafkamodel.Config{})
		c.Create("orders", 1)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			misuse(c)
		}()
	}
}
