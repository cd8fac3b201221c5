package kafka

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"microbatch/internal/errcode"
	"microbatch/sources"
)

// holes is a partition of committed and aborted stretches of 100 rows each; every stretch ends with a marker.
func (k *kit) holes(topic, pattern string) (want []int) {
	for i, c := range pattern {
		from, end := i*1000, kgo.TryAbort
		if c == 'c' {
			end = kgo.TryCommit
			want = append(want, Numbers(from, from+100)...)
		}
		k.transaction("t", topic, 0, from, from+100, end)
	}
	return want
}

func TestHolesOfTransactionsAreCoveredAndTheirRecordsNeverSeen(t *testing.T) {
	for _, pattern := range []string{"ac", "cac", "ca", "aaa", "aacaacaa"} {
		k := newKit(t)
		k.topic("orders", 1)
		want := k.holes("orders", pattern)
		s := k.open(k.config("orders"))
		began := time.Now()
		for _, rows := range []int64{0, 1, 7, 150} {
			if pattern == "aacaacaa" && rows == 1 {
				continue // 800 batches
			}
			if d := cmp.Diff(want, readAll(k, s, "", rows)); d != "" {
				t.Errorf("%s, %d rows a batch: %s", pattern, rows, d)
			}
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("%s took %s", pattern, took)
		}
	}
}

func TestReadUncommittedSeesAbortedRecords(t *testing.T) {
	k := newKit(t)
	k.topic("orders", 1)
	k.holes("orders", "a")
	config := k.config("orders")
	config.Isolation = ReadUncommitted
	if d := cmp.Diff(Numbers(0, 100), readAll(k, k.open(config), "", 0)); d != "" {
		t.Error(d)
	}
}

func TestCompactionLeavesHolesThatAreCovered(t *testing.T) {
	k := newKit(t)
	k.topic("orders", 1, "cleanup.policy", "compact", "min.cleanable.dirty.ratio", "0.0", "segment.bytes", "1024")
	k.produce("orders", 0, 1000, 1001) // stays: the log of this broker begins at the first record that is left
	for range 3 {
		k.produce("orders", 0, 0, 300) // the same keys each time
	}
	s := k.open(k.config("orders"))
	p := k.plan(s, "", 450)
	q := k.plan(s, p.To, 0)
	k.Compact()
	first, second := k.read(s, "", p), k.read(s, p.To, q)
	if have := append(first, second...); len(have) < 301 || len(have) >= 901 {
		t.Errorf("%d and %d rows after compaction", len(first), len(second))
	}
	if d := cmp.Diff(first, k.read(k.open(k.config("orders")), "", p)); d != "" {
		t.Errorf("read again: %s", d)
	}
}

func TestALeaderThatMovesAndBrokersThatFailForAMomentAreFollowed(t *testing.T) {
	k := newKit(t, kfake.NumBrokers(3))
	k.topic("orders", 3)
	for p := range int32(3) {
		k.produce("orders", p, int(p)*1000, int(p)*1000+500)
	}
	want := append(append(Numbers(0, 500), Numbers(1000, 1500)...), Numbers(2000, 2500)...)
	config := k.config("orders")
	config.FetchBytes = 2000 // many fetches
	for what, disturb := range map[string]func(){
		"leaders move":  k.ShufflePartitionLeaders,
		"not leader":    func() { k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.NotLeaderForPartition, Count: 3}) },
		"fenced epoch":  func() { k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.FencedLeaderEpoch, Count: 3}) },
		"storage error": func() { k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.KafkaStorageError, Count: 3}) },
		"list offsets fails": func() {
			k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Err: kerr.LeaderNotAvailable, Count: 2})
		},
		"metadata fails":      func() { k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Err: kerr.LeaderNotAvailable, Count: 2}) },
		"a connection breaks": func() { k.breakOne(kmsg.Fetch) },
	} {
		s := k.open(config)
		disturb()
		p := k.plan(s, "", 0)
		disturb()
		if d := cmp.Diff(want, k.read(s, "", p)); d != "" {
			t.Errorf("%s: %s", what, d)
		}
	}
}

// breakOne closes the connection at the next request of a kind.
func (k *kit) breakOne(key kmsg.Key) {
	k.ControlKey(int16(key), func(kmsg.Request) (kmsg.Response, error, bool) { return nil, fmt.Errorf("cut"), true })
}

func TestABrokerThatStaysAwayEndsTheBatchAfterTheBudget(t *testing.T) {
	k := newKit(t)
	k.topic("orders", 1)
	k.produce("orders", 0, 0, 10)
	config := k.config("orders")
	config.RetryFor = 300 * time.Millisecond
	s := k.open(config)
	p := k.plan(s, "", 0)
	k.Cluster.Close()
	_, err := k.tryRead(t.Context(), s, "", p)
	if errcode.ClassOf(err) != errcode.Retry || !Contains(err, config.Brokers[0]) {
		t.Errorf("read: %v", err)
	}
	if _, err := s.Plan(t.Context(), p.To, sources.Limit{}); !errcode.Has(err, errcode.KafkaUnreachable) || !Contains(err, config.Brokers[0]) {
		t.Errorf("plan: %v", err)
	}
	dead := k.new(config)
	if err := dead.Open(t.Context(), k.own); !errcode.Has(err, errcode.KafkaUnreachable) {
		t.Errorf("open: %v", err)
	}
}

func TestABrokerThatAnswersWithAnErrorIsAskedAgainUntilTheBudgetIsSpent(t *testing.T) {
	k := newKit(t)
	k.topic("orders", 1)
	config := k.config("orders")
	config.RetryFor = 300 * time.Millisecond
	s := k.open(config)
	k.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.ListOffsets}, Err: kerr.UnknownServerError, Count: -1})
	if _, err := s.Plan(t.Context(), "", sources.Limit{}); !errcode.Has(err, errcode.KafkaBrokerError) || !Contains(err, "orders-0") {
		t.Error(err)
	}
}

func TestOneDeadBootstrapBrokerOfTwoIsNoError(t *testing.T) {
	k := newKit(t)
	k.topic("orders", 1)
	k.produce("orders", 0, 0, 10)
	config := k.config("orders")
	config.Brokers = append([]string{"127.0.0.1:1"}, config.Brokers...)
	if n := len(readAll(k, k.open(config), "", 0)); n != 10 {
		t.Errorf("%d rows", n)
	}
}

func TestARecordLargerThanAFetchAndThanTheBufferComesWhole(t *testing.T) {
	k := newKit(t)
	k.topic("orders", 2, "max.message.bytes", "20000000")
	cl := k.newClient(kgo.ProducerBatchMaxBytes(16<<20), kgo.ProducerBatchCompression(kgo.NoCompression()))
	large := fmt.Appendf(nil, `{"id":1,"name":%q}`, bytes.Repeat([]byte("x"), 3<<20))
	for range 3 {
		if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "orders", Value: large}).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	k.produce("orders", 1, 2, 50)
	config := k.config("orders")
	config.FetchBytes, config.BufferBytes = 1000, 10_000
	want := append([]int{1, 1, 1}, Numbers(2, 50)...)
	for _, rows := range []int64{0, 5} {
		got := readAll(k, k.open(config), "", rows)
		if len(got) != len(want) {
			t.Errorf("%d rows a batch: %d rows, want %d", rows, len(got), len(want))
		}
	}
}

func TestADecompressionBombIsRefusedAndNoOffsetAdvances(t *testing.T) {
	for _, codec := range []kgo.CompressionCodec{kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()} {
		k := newKit(t)
		k.topic("orders", 1, "max.message.bytes", "20000000")
		cl := k.newClient(kgo.ProducerBatchMaxBytes(16<<20), kgo.ProducerBatchCompression(codec))
		for _, value := range [][]byte{row(0), bytes.Repeat([]byte(" "), 4<<20)} {
			if err := cl.ProduceSync(t.Context(), &kgo.Record{Topic: "orders", Value: value}).FirstErr(); err != nil {
				t.Fatal(err)
			}
		}
		config := k.config("orders")
		config.MaxDecompressed = 1 << 20
		s := k.open(config)
		_, err := k.tryRead(t.Context(), s, "", k.plan(s, "", 0))
		if !errcode.Has(err, errcode.KafkaBatchTooLarge) || !Contains(err, "orders-0-1") {
			t.Errorf("%v: %v", codec, err)
		}
	}
}

func TestEveryCompressionIsRead(t *testing.T) {
	for _, codec := range []kgo.CompressionCodec{kgo.NoCompression(), kgo.GzipCompression(), kgo.SnappyCompression(), kgo.Lz4Compression(), kgo.ZstdCompression()} {
		k := newKit(t)
		k.topic("orders", 1)
		k.produceWith(k.newClient(kgo.ProducerBatchCompression(codec)), "orders", 0, 0, 1000)
		if d := cmp.Diff(Numbers(0, 1000), readAll(k, k.open(k.config("orders")), "", 333)); d != "" {
			t.Errorf("%v: %s", codec, d)
		}
	}
}

func TestALastStableOffsetThatGoesBackIsWaitedForAndThenAnError(t *testing.T) {
	k := newKit(t)
	k.topic("orders", 1)
	k.produce("orders", 0, 0, 10)
	config := k.config("orders")
	config.RetryFor = 300 * time.Millisecond
	s := k.open(config)
	p := k.plan(s, "", 0)
	p.To = `{"orders":{"0":15}}` // as if planned by a leader that knew more
	_, err := k.tryRead(t.Context(), s, "", p)
	if !errcode.Has(err, errcode.KafkaNoProgress) || !Contains(err, "up to offset 15, but the broker serves up to 10") {
		t.Errorf("%v", err)
	}
	k.produce("orders", 0, 10, 20)
	if d := cmp.Diff(Numbers(0, 15), k.read(k.open(config), "", p)); d != "" {
		t.Error(d)
	}
}

func TestFetchesRunAheadWithinBoundsAndNothingIsFetchedTwice(t *testing.T) {
	k := newKit(t)
	k.topic("orders", 1)
	k.produce("orders", 0, 0, 2000)
	var fetched atomic.Int64
	k.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) {
		k.KeepControl()
		fetched.Add(1)
		return nil, nil, false
	})
	s := k.open(k.config("orders"))
	if d := cmp.Diff(Numbers(0, 2000), readAll(k, s, "", 100)); d != "" {
		t.Error(d)
	}
	if n := fetched.Load(); n > 5 {
		t.Errorf("%d fetches for 20 ranges of a topic that fits one answer", n)
	}
}

func TestRunsThatLoseTheirFeedGoOnWhereTheyWere(t *testing.T) {
	k := newKit(t)
	k.topic("orders", 1)
	k.produce("orders", 0, 0, 500)
	config := k.config("orders")
	config.FetchBytes = 1000
	s := k.open(config)
	p := k.plan(s, "", 0)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	splits, err := s.Splits(ctx, "", p.To, p.Aux, 1)
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for chunk, err := range splits[0].Records(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		rows += int(chunk.Rows())
		chunk.Release()
		for range 3 { // three others take the place
			if n := len(k.read(s, "", p)); n != 500 {
				t.Fatalf("%d rows", n)
			}
		}
	}
	if rows != 500 {
		t.Errorf("%d rows", rows)
	}
}

func TestFreezeEndsWhatIsReadAndIgnoresLaterPartitions(t *testing.T) {
	k := newKit(t)
	k.topic("orders", 1)
	k.produce("orders", 0, 0, 10)
	s := k.open(k.config("orders"))
	if err := s.Freeze(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.produce("orders", 0, 10, 20)
	if _, err := k.admin.CreatePartitions(t.Context(), 1, "orders"); err != nil {
		t.Fatal(err)
	}
	k.produceWith(k.newClient(), "orders", 1, 20, 30)
	if d := cmp.Diff(Numbers(0, 10), readAll(k, s, "", 3)); d != "" {
		t.Error(d)
	}
}

func TestMaxBytesIsAnEstimateFromTheMeanRecordSizeSoFar(t *testing.T) {
	k := newKit(t)
	k.topic("orders", 1)
	k.produce("orders", 0, 0, 1000)
	s := k.open(k.config("orders"))
	p, err := s.Plan(t.Context(), "", sources.Limit{Bytes: 10 << 10})
	if err != nil || p.Rows != 10 {
		t.Fatalf("before a record was seen: %d rows of a guessed 1 KiB each, %v", p.Rows, err)
	}
	k.read(s, "", p)
	q, err := s.Plan(t.Context(), p.To, sources.Limit{Bytes: 10 << 10})
	if err != nil || q.Rows < 300 || q.Rows > 500 || q.Behind != 990-q.Rows {
		t.Errorf("of about 25 bytes each: %d rows, %d behind, %v", q.Rows, q.Behind, err)
	}
	r, err := s.Plan(t.Context(), p.To, sources.Limit{Bytes: 1})
	if err != nil || r.Rows != 1 {
		t.Errorf("at least one row: %d, %v", r.Rows, err)
	}
}

func TestASplitOfAFinishedRangeTakesNothingOfTheNext(t *testing.T) {
	k := newKit(t)
	k.topic("orders", 1)
	k.produce("orders", 0, 0, 40_000)
	s := k.open(k.config("orders"))
	p := k.plan(s, "", 20_000)
	splits, err := s.Splits(t.Context(), "", p.To, p.Aux, 2)
	if err != nil || len(splits) != 2 {
		t.Fatal(len(splits), err)
	}
	count := func(split sources.Split) (rows int64) {
		for chunk, err := range split.Records(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			rows += chunk.Rows()
			chunk.Release()
		}
		return rows
	}
	if n := count(splits[0]); n != 20_000 {
		t.Fatalf("the first split alone reads %d rows", n)
	}
	q := k.plan(s, p.To, 0)
	next, err := s.Splits(t.Context(), p.To, q.To, q.Aux, 1)
	if err != nil {
		t.Fatal(err)
	}
	if n := count(splits[1]); n != 0 {
		t.Errorf("the second split of the former range reads %d rows", n)
	}
	if n := count(next[0]); n != 20_000 {
		t.Errorf("the next range holds %d rows", n)
	}
}
