//go:build services

package kafka

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
	segmentio "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"microbatch/internal/errcode"
	"microbatch/internal/secret"
	"microbatch/internal/services"
	"microbatch/objstore/mem"
	"microbatch/sources"
	"microbatch/sources/sourcetest"
)

// realKit is a kit on a real broker; what needs the fake cluster is not called on it.
func realKit(t *testing.T, broker *services.KafkaBroker) *kit {
	t.Helper()
	k := &kit{T: t, alloc: memory.NewCheckedAllocator(memory.DefaultAllocator), own: mem.New(), addrs: []string{broker.Addr}}
	k.client = k.newClient()
	k.admin = kadm.NewClient(k.client)
	t.Cleanup(func() { k.alloc.AssertSize(t, 0) })
	return k
}

func (k *kit) realTopic(name string, partitions int32, configs map[string]*string) {
	k.Helper()
	if _, err := k.admin.CreateTopic(k.Context(), partitions, 1, configs, name); err != nil {
		k.Fatal(err)
	}
}

// until waits for a condition.
func (k *kit) until(what string, met func(context.Context) bool) {
	k.Helper()
	ctx, cancel := context.WithTimeout(k.Context(), time.Minute)
	defer cancel()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !met(ctx) {
		select {
		case <-ctx.Done():
			k.Fatalf("%s: not within a minute", what)
		case <-tick.C:
		}
	}
}

func TestOnARealBroker(t *testing.T) {
	broker := services.Kafka(t, services.KafkaOptions{Secure: true, Properties: map[string]string{
		"log.retention.check.interval.ms": "500", "log.initial.task.delay.ms": "500", "log.cleaner.backoff.ms": "200",
	}})
	for name, test := range map[string]func(*testing.T, *kit){
		"the source conforms":                                conformsOnReal,
		"holes of transactions are covered":                  realHoles,
		"a compacted topic is read":                          realCompaction,
		"retention loss stops with the exact range":          realRetention,
		"a topic created again is noticed":                   realRecreation,
		"a foreign producer and a foreign reader":            realForeigners,
		"progress is shown to lag tools":                     realGroup,
		"a reader by TLS and SCRAM":                          func(t *testing.T, k *kit) { realSecure(t, k, broker) },
		"a large topic is read at once by several splits":    realLarge,
		"a hanging transaction holds the range, and is told": realHanging,
	} {
		t.Run(name, func(t *testing.T) { test(t, realKit(t, broker)) })
	}
}

func conformsOnReal(t *testing.T, k *kit) {
	topic, fed, n := "", 0, 0
	sourcetest.Run(t, sourcetest.Subject{
		New: func(t *testing.T, alloc memory.Allocator) sources.Source {
			c := k.config(topic)
			c.Alloc, c.Metadata = alloc, []string{"topic", "partition", "offset", "timestamp", "key", "headers"}
			return k.new(c)
		},
		Feed: func(t *testing.T, n int) {
			k.produce(topic, 0, fed, fed+n/2)
			k.transaction("t", topic, 1, fed+n/2, fed+n, kgo.TryCommit)
			k.transaction("t", topic, 1, 0, n/4, kgo.TryAbort)
			fed += n
		},
		Reset: func(*testing.T) {
			n++
			topic, fed = "conforms-"+strconv.Itoa(n), 0
			k.realTopic(topic, 2, nil)
		},
	})
}

func realHoles(t *testing.T, k *kit) {
	for i, pattern := range []string{"ac", "ca", "aaa", "cacaa"} {
		topic := fmt.Sprint("holes-", i)
		k.realTopic(topic, 1, nil)
		want := k.holes(topic, pattern)
		for _, rows := range []int64{0, 7, 150} {
			began := time.Now()
			if d := cmp.Diff(want, readAll(k, k.open(k.config(topic)), "", rows)); d != "" {
				t.Errorf("%s, %d rows a batch: %s", pattern, rows, d)
			}
			if took := time.Since(began); took > 15*time.Second {
				t.Errorf("%s, %d rows a batch: %s", pattern, rows, took)
			}
			k.own = mem.New()
		}
	}
}

func realCompaction(t *testing.T, k *kit) {
	k.realTopic("compacted", 1, map[string]*string{"cleanup.policy": kadm.StringPtr("compact"), "segment.bytes": kadm.StringPtr("1048576"), "segment.ms": kadm.StringPtr("500"),
		"min.cleanable.dirty.ratio": kadm.StringPtr("0.01"), "max.compaction.lag.ms": kadm.StringPtr("500")})
	for range 3 {
		k.produce("compacted", 0, 0, 300)
	}
	s := k.open(k.config("compacted"))
	p := k.plan(s, "", 450)
	q := k.plan(s, p.To, 0)
	k.until("compaction", func(context.Context) bool {
		k.produce("compacted", 0, 5000, 5001) // rolls the segment
		return len(k.read(k.open(k.config("compacted")), "", p)) < 450
	})
	first, second := k.read(s, "", p), k.read(s, p.To, q)
	if len(first) >= 450 || len(first)+len(second) < 1 {
		t.Errorf("%d and %d rows", len(first), len(second))
	}
}

func realRetention(t *testing.T, k *kit) {
	k.realTopic("retained", 1, map[string]*string{"retention.bytes": kadm.StringPtr("2000000"), "segment.bytes": kadm.StringPtr("1048576")})
	k.produce("retained", 0, 0, 100)
	config := k.config("retained")
	s := k.open(config)
	from := k.plan(s, "", 50).To
	pending := k.plan(s, from, 0)
	var first int64
	k.until("retention", func(ctx context.Context) bool {
		filler := make([]byte, 500_000)
		for i := range filler {
			filler[i] = byte(i * i >> 3)
		}
		k.client.ProduceSync(ctx, &kgo.Record{Topic: "retained", Value: filler})
		o, err := k.admin.ListStartOffsets(ctx, "retained")
		if at, ok := o.Lookup("retained", 0); err == nil && ok {
			first = at.Offset
		}
		return first > 60
	})
	_, err := s.Plan(t.Context(), from, sources.Limit{})
	if !errcode.Has(err, errcode.KafkaDataLost) || !Contains(err, "retained-0: ") || !Contains(err, "[50, ") {
		t.Error(err)
	}
	if _, err := k.tryRead(t.Context(), k.open(config), from, pending); !errcode.Has(err, errcode.KafkaRangeLost) {
		t.Errorf("a pending range: %v", err)
	}
	config.OnDataLoss = Skip
	skips := k.open(config)
	p := k.plan(skips, from, 0)
	if !k.Noticed("retained-0", "[50, ") {
		t.Error(k.Said())
	}
	if _, err := k.tryRead(t.Context(), skips, from, p); err != nil {
		t.Error(err)
	}
}

func realRecreation(t *testing.T, k *kit) {
	k.realTopic("again", 1, nil)
	k.produce("again", 0, 0, 100)
	s := k.open(k.config("again"))
	p := k.plan(s, "", 50)
	q := k.plan(s, p.To, 0)
	if _, err := k.admin.DeleteTopic(t.Context(), "again"); err != nil {
		t.Fatal(err)
	}
	k.until("the topic's deletion", func(ctx context.Context) bool {
		_, err := k.admin.CreateTopic(ctx, 1, 1, nil, "again")
		return err == nil
	})
	fresh := k.newClient()
	k.produceWith(fresh, "again", 0, 0, 500)
	if _, err := s.Plan(t.Context(), p.To, sources.Limit{}); !errcode.Has(err, errcode.KafkaTopicRecreated) {
		t.Errorf("plan: %v", err)
	}
	if _, err := k.tryRead(t.Context(), k.open(k.config("again")), p.To, q); !errcode.Has(err, errcode.KafkaTopicRecreated) {
		t.Errorf("rerun in another process: %v", err)
	}
}

func realForeigners(t *testing.T, k *kit) {
	k.realTopic("foreign", 1, nil)
	w := &segmentio.Writer{Addr: segmentio.TCP(k.addrs...), Topic: "foreign", BatchTimeout: 5 * time.Millisecond, Compression: segmentio.Lz4}
	defer w.Close()
	for i := range 200 {
		if err := w.WriteMessages(t.Context(), segmentio.Message{Value: row(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff(Numbers(0, 200), readAll(k, k.open(k.config("foreign")), "", 70)); d != "" {
		t.Error(d)
	}
	r := segmentio.NewReader(segmentio.ReaderConfig{Brokers: k.addrs, Topic: "foreign", Partition: 0, MaxWait: 50 * time.Millisecond})
	defer r.Close()
	for i := range 200 {
		if m, err := r.ReadMessage(t.Context()); err != nil || !slices.Equal(m.Value, row(i)) {
			t.Fatalf("message %d: %s %v", i, m.Value, err)
		}
	}
}

func realGroup(t *testing.T, k *kit) {
	k.realTopic("lagging", 1, nil)
	k.produce("lagging", 0, 0, 100)
	config := k.config("lagging")
	config.GroupID = "lag"
	s := k.open(config)
	if err := s.Release(t.Context(), k.plan(s, "", 60).To); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	lag, err := k.admin.FetchOffsets(t.Context(), "lag")
	if o, ok := lag.Lookup("lagging", 0); err != nil || !ok || o.At != 60 || len(k.Said()) > 0 {
		t.Errorf("committed %v, %v, notices %q", lag, err, k.Said())
	}
}

func realSecure(t *testing.T, k *kit, broker *services.KafkaBroker) {
	k.realTopic("secure", 1, nil)
	k.produce("secure", 0, 0, 100)
	config := k.config("secure")
	config.Brokers = []string{broker.SecureAddr}
	config.TLS = &TLS{CA: broker.CA}
	config.SASL = &SASL{Mechanism: "SCRAM-SHA-512", User: broker.User, Password: secret.Of(broker.Password)}
	if d := cmp.Diff(Numbers(0, 100), readAll(k, k.open(config), "", 0)); d != "" {
		t.Error(d)
	}
	wrong := config
	wrong.SASL = &SASL{Mechanism: "SCRAM-SHA-512", User: broker.User, Password: secret.Of("wrong-canary")}
	if err := k.new(wrong).Open(t.Context(), k.own); !errcode.Has(err, errcode.KafkaAuthFailed) || Contains(err, "canary") {
		t.Errorf("wrong password: %v", err)
	}
	wrong = config
	wrong.TLS = &TLS{} // the system's authorities do not know the test's
	if err := k.new(wrong).Open(t.Context(), k.own); !errcode.Has(err, errcode.KafkaAuthFailed) {
		t.Errorf("unknown authority: %v", err)
	}
	wrong = config
	wrong.SASL, wrong.RetryFor = nil, 500*time.Millisecond
	if err := k.new(wrong).Open(t.Context(), k.own); !errcode.Has(err, errcode.KafkaUnreachable) && !errcode.Has(err, errcode.KafkaAuthFailed) {
		t.Errorf("no login: %v", err)
	}
}

func realLarge(t *testing.T, k *kit) {
	k.realTopic("large", 4, nil)
	for p := range int32(4) {
		k.produce("large", p, int(p)*10_000, int(p)*10_000+5000)
	}
	config := k.config("large")
	config.FetchBytes, config.BufferBytes = 20_000, 100_000
	want := 20_000
	s := k.open(config)
	if got := k.read(s, "", k.plan(s, "", 0)); len(got) != want || len(slices.Compact(got)) != want {
		t.Errorf("%d rows", len(got))
	}
	if got := readAll(k, s, "", 3000); len(got) != want {
		t.Errorf("%d rows in limited batches", len(got))
	}
}

func realHanging(t *testing.T, k *kit) {
	k.realTopic("hangs", 1, nil)
	k.produce("hangs", 0, 0, 10)
	cl := k.newClient(kgo.TransactionalID("hangs"))
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	k.produceWith(cl, "hangs", 0, 10, 20)
	s := k.open(k.config("hangs"))
	now := time.Now()
	s.now = func() time.Time { return now }
	p := k.plan(s, "", 0)
	if d := cmp.Diff(Numbers(0, 10), k.read(s, "", p)); d != "" {
		t.Error(d)
	}
	for range 8 {
		now = now.Add(stallCheck)
		k.plan(s, p.To, 0)
	}
	if !k.Noticed("hangs-0", "stable offset at 10", "producer id") {
		t.Errorf("notices %q", k.Said())
	}
	if err := cl.EndTransaction(t.Context(), kgo.TryAbort); err != nil {
		t.Fatal(err)
	}
}
