package kafka

import (
	"context"
	"errors"
	"fmt"
	"math/rand"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// producer is a producer of small blocks, whose connections are the wire's.
func (k *kit) producer(w *wire, id string) *producing {
	k.Helper()
	c := k.config("unused").withDefaults()
	c.RetryFor = 30 * time.Second
	b, err := newBrokers(c, kgo.Dialer(w.dial))
	if err != nil {
		k.Fatal(err)
	}
	k.Cleanup(b.Close)
	p, err := b.Producer(k.Context(), id)
	if err != nil {
		k.Fatal(err)
	}
	k.Cleanup(p.Close)
	own := p.(*producing)
	own.limit = func(string) int32 { return 400 }
	return own
}

// transaction produces records in parts that take turns, and ends the transaction.
func (k *kit) transaction(p Producer, commit bool, parts ...[]Record) {
	k.Helper()
	if err := p.Begin(); err != nil {
		k.Fatal(err)
	}
	var wait sync.WaitGroup
	for _, part := range parts {
		wait.Go(func() {
			for len(part) > 0 {
				n := min(len(part), 30)
				if err := p.Produce(k.Context(), part[:n]); err != nil {
					k.Error(err)
				}
				part = part[n:]
			}
		})
	}
	wait.Wait()
	if err := errors.Join(p.Flush(k.Context()), p.End(k.Context(), commit)); err != nil {
		k.Fatal(err)
	}
}

// numbered are records of ten keys, or without, with the numbers from one to another.
func numbered(topic string, keyed bool, from, to int) (out []Record) {
	for n := from; n < to; n++ {
		r := Record{Topic: topic, Partition: ByKey, Value: fmt.Appendf(nil, "%06d", n)}
		if keyed {
			r.Key = fmt.Appendf(nil, "k%d", n%10)
		}
		out = append(out, r)
	}
	return out
}

// exactly says that the committed records of a topic are those numbers that are wanted, each once, and those of a key in order.
func (k *kit) exactly(topic string, wanted func(n int) bool, to int) {
	k.Helper()
	all := 0
	for n := range to {
		if wanted(n) {
			all++
		}
	}
	k.settle()
	records := k.records(topic, kgo.ReadCommitted())
	for deadline := time.Now().Add(10 * time.Second); len(records) < all && time.Now().Before(deadline); records = k.records(topic, kgo.ReadCommitted()) {
		time.Sleep(20 * time.Millisecond) // the fake cluster shows the end of a transaction late to some
	}
	seen, last := map[string]int{}, map[string]string{}
	for _, r := range records {
		seen[string(r.Value)]++
		if r.Key != nil {
			if last[string(r.Key)] >= string(r.Value) {
				k.Fatalf("%s: key %s: %s behind %s", topic, r.Key, r.Value, last[string(r.Key)])
			}
			last[string(r.Key)] = string(r.Value)
		}
	}
	for n := range to {
		want := 0
		if wanted(n) {
			want = 1
		}
		if got := seen[fmt.Sprintf("%06d", n)]; got != want {
			k.Fatalf("%s: %d stands there %d times, want %d", topic, n, got, want)
		}
	}
}

// TestEachRecordStandsOnceWhateverBreaks: connections break before and after requests with records, and leaders change, while transactions are committed and aborted.
func TestEachRecordStandsOnceWhateverBreaks(t *testing.T) {
	k := fakeOf(t, 3)
	broken(k, func() (stop func()) {
		done := make(chan struct{})
		var moving sync.WaitGroup
		moving.Go(func() {
			for {
				select {
				case <-done:
					return
				case <-time.After(30 * time.Millisecond):
					k.cluster.ShufflePartitionLeaders()
				}
			}
		})
		return func() { close(done); moving.Wait() }
	})
}

// broken writes, by connections that break, to what is disturbed meanwhile.
func broken(k *kit, disturb func() (stop func())) {
	rng, mu := rand.New(rand.NewSource(1)), sync.Mutex{}
	w := &wire{}
	p := k.producer(w, "transactions")
	w.breakAt(kmsg.Produce, func() (bool, bool) {
		mu.Lock()
		defer mu.Unlock()
		return rng.Intn(3) == 0, rng.Intn(2) == 0
	})
	keyed, loose := k.topic(4), k.topic(3)
	const each = 300
	stop := disturb()
	for n := range 6 {
		from := n * each
		k.transaction(p, n != 2, append(numbered(keyed, true, from, from+each), numbered(loose, false, from, from+each/2)...), numbered(loose, false, from+each/2, from+each))
	}
	stop()
	written := func(n int) bool { return n/each != 2 }
	k.exactly(keyed, written, 6*each)
	k.exactly(loose, written, 6*each)
	if w.broken() == 0 {
		k.Error("no connection was broken")
	}
	w.mend()
	plain := k.producer(w, "")
	w.breakAt(kmsg.Produce, func() (bool, bool) {
		mu.Lock()
		defer mu.Unlock()
		return rng.Intn(3) == 0, rng.Intn(2) == 0
	})
	once := k.topic(2)
	if err := errors.Join(plain.Produce(k.Context(), numbered(once, true, 0, each)), plain.Flush(k.Context())); err != nil {
		k.Fatal(err)
	}
	k.exactly(once, func(int) bool { return true }, each)
}

// answer has so many requests with records answered with an error, unwritten, from the next one on; 0: all. It tells of each.
func (k *kit) answer(why *kerr.Error, times int) (answered chan struct{}) {
	answered = make(chan struct{}, 1000)
	k.cluster.ControlKey(int16(kmsg.Produce), func(req kmsg.Request) (kmsg.Response, error, bool) {
		k.cluster.KeepControl()
		if times--; times == 0 {
			k.cluster.DropControl()
		}
		in := req.(*kmsg.ProduceRequest)
		resp := in.ResponseKind().(*kmsg.ProduceResponse)
		for _, t := range in.Topics {
			to := kmsg.NewProduceResponseTopic()
			to.Topic, to.TopicID = t.Topic, t.TopicID
			for _, at := range t.Partitions {
				partition := kmsg.NewProduceResponseTopicPartition()
				partition.Partition, partition.ErrorCode = at.Partition, why.Code
				to.Partitions = append(to.Partitions, partition)
			}
			resp.Topics = append(resp.Topics, to)
		}
		answered <- struct{}{}
		return resp, nil, true
	})
	return answered
}

func TestWhatPassesIsSentAgain(t *testing.T) {
	k := fake(t)
	topic := k.topic(2)
	p := k.producer(&wire{}, "id")
	passing := []*kerr.Error{kerr.NotLeaderForPartition, kerr.NotEnoughReplicas, kerr.RequestTimedOut, kerr.UnknownTopicOrPartition, kerr.ConcurrentTransactions}
	for n, why := range passing {
		answered := k.answer(why, 2)
		k.transaction(p, true, numbered(topic, true, 20*n, 20*n+20))
		if len(answered) != 2 {
			t.Errorf("%v: answered %d times", why, len(answered))
		}
	}
	k.exactly(topic, func(int) bool { return true }, 20*len(passing))
}

func TestAnErrorOfARecordEndsTheProducer(t *testing.T) {
	for _, why := range []*kerr.Error{kerr.InvalidProducerEpoch, kerr.OutOfOrderSequenceNumber, kerr.TopicAuthorizationFailed, kerr.InvalidTxnState} {
		k := fake(t)
		topic := k.topic(2)
		p := k.producer(&wire{}, "id")
		k.answer(why, 0)
		err := errors.Join(p.Begin(), p.Produce(t.Context(), numbered(topic, true, 0, 100)))
		if err == nil {
			err = p.Flush(t.Context())
		}
		if !errors.Is(err, why) || !strings.Contains(err.Error(), topic) {
			t.Errorf("%v: %v", why, err)
		}
		for what, err := range map[string]error{
			"commit": p.End(t.Context(), true), "abort": p.End(t.Context(), false), "begin": p.Begin(), "flush": p.Flush(t.Context()), "more": p.Produce(t.Context(), numbered(topic, true, 0, 100)),
		} {
			if !errors.Is(err, why) {
				t.Errorf("%v, then %s: %v", why, what, err)
			}
		}
	}
}

// An abort waits for what was sent, and forgets what was not; if it cannot know what became of something, the producer is of no use any more.
func TestAnAbortDoesNotGuess(t *testing.T) {
	k := fake(t)
	topic := k.topic(1)
	p := k.producer(&wire{}, "id")
	k.transaction(p, true, numbered(topic, true, 0, 50))
	began, mend := make(chan struct{}, 100), make(chan struct{})
	k.cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		k.cluster.KeepControl()
		began <- struct{}{}
		k.cluster.SleepControl(func() { <-mend })
		return nil, nil, false
	})
	if err := errors.Join(p.Begin(), p.Produce(t.Context(), numbered(topic, true, 50, 300))); err != nil {
		t.Fatal(err)
	}
	<-began
	short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := p.Flush(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("flush: %v", err)
	}
	if err := p.End(short, false); err == nil {
		t.Error("an abort beside a request without an answer")
	}
	close(mend)
	if err := p.End(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	k.transaction(p, true, numbered(topic, true, 300, 400))
	k.exactly(topic, func(n int) bool { return n < 50 || n >= 300 }, 400)
}

// What the leader has written and not the others may be there or not.
func TestAnAbortBesideARecordInDoubtEndsTheProducer(t *testing.T) {
	k := fake(t)
	topic := k.topic(1)
	p := k.producer(&wire{}, "id")
	answered := k.answer(kerr.NotEnoughReplicasAfterAppend, 0)
	if err := errors.Join(p.Begin(), p.Produce(t.Context(), numbered(topic, true, 0, 10))); err != nil {
		t.Fatal(err)
	}
	<-answered
	if err := p.End(t.Context(), false); !errors.Is(err, errInDoubt) {
		t.Error(err)
	}
	if err := p.Begin(); !errors.Is(err, errInDoubt) {
		t.Error(err)
	}
}

// Partitions that are added are found within a minute.
func TestPartitionsThatAreAddedAreUsed(t *testing.T) {
	k := fake(t)
	topic := k.topic(1)
	p := k.producer(&wire{}, "id")
	at := func(n int32) []Record { return []Record{{Topic: topic, Partition: n, Value: []byte("v")}} }
	k.transaction(p, true, at(0))
	if _, err := k.admin.UpdatePartitions(t.Context(), 3, topic); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Begin(), p.Produce(t.Context(), at(2))); !errors.Is(err, ErrPartition) {
		t.Errorf("as known before: %v", err)
	}
	p.topics[topic].asked = time.Time{} // a minute later
	k.transaction(p, true, at(2))
	k.transaction(p, true, at(0))
	ends, err := k.admin.ListEndOffsets(t.Context(), topic)
	if err != nil {
		t.Fatal(err)
	}
	got := map[int32]int{}
	for _, r := range k.records(topic, kgo.ReadCommitted()) {
		got[r.Partition]++
	}
	if got[0] != 2 || got[1] != 0 || got[2] != 1 {
		t.Errorf("%v, ends %v", got, ends)
	}
}

func TestRecordsWithoutKeyGoAroundAPartitionWithoutLeader(t *testing.T) {
	to := &target{}
	for n, leader := range []int32{1, -1, 2} {
		to.lanes = append(to.lanes, &lane{to: Partition{"t", int32(n)}, leader: leader})
	}
	p := &producing{}
	got := map[int32]int{}
	for range 30 {
		got[p.next(to).to.Number]++
	}
	if got[0] < 10 || got[1] != 0 || got[2] < 10 {
		t.Errorf("%v", got)
	}
	to.lanes = to.lanes[1:2]
	if l := p.next(to); l.to.Number != 1 { // it waits for the leader
		t.Errorf("%v", l.to)
	}
}
