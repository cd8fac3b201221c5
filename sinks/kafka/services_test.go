//go:build services

package kafka

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
	segmentio "github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/internal/secret"
	"microbatch/internal/services"
	"microbatch/sinks"
	"microbatch/sinks/sinktest"
)

func TestOnARealBroker(t *testing.T) {
	broker := services.Kafka(t, services.KafkaOptions{Secure: true})
	k := newKit(t, broker.Addr)
	for name, test := range map[string]func(*kit){
		"the sink conforms":                                 conforms,
		"three readers see what was committed":              readers,
		"an unknown end is found in the marker":             doubts,
		"a dead driver's transaction does not hold up":      dangling,
		"a batch that takes too long is told":               tooLong,
		"a marker that was deleted is told":                 forgotten,
		"settings are compared with the broker's":           brokerLimits,
		"a writer by TLS and SCRAM":                         func(k *kit) { secure(k, broker) },
		"columns make the record":                           func(k *kit) { columnsOnReal(k) },
		"each record stands once whatever breaks":           func(k *kit) { broken(k, func() func() { return func() {} }) },
		"the fake cluster's tests of producers and markers": func(k *kit) { failuresOnReal(k) },
	} {
		t.Run(name, func(t *testing.T) {
			own := *k
			own.T = t
			test(&own)
			k.n = own.n
		})
	}
}

func conforms(k *kit) {
	sinktest.Run(k.T, func(t *testing.T) sinktest.Harness { return k.harness(t) })
}

// driver is a sink of an epoch that has taken over.
func (k *kit) driver(c Config, q sinks.QueryInfo) *Sink {
	k.Helper()
	s := k.sink(c)
	k.Cleanup(func() { s.Close() })
	if err := errors.Join(s.Check(k.Context(), sinktest.Schema()), s.Recover(k.Context(), q, nil)); err != nil {
		k.Fatal(err)
	}
	return s
}

func (k *kit) commit(s *Sink, id ident.BatchID, ids ...int64) {
	k.Helper()
	p, err := s.Prepare(k.Context(), sinktest.Batch(id, "a", memory.DefaultAllocator, ids))
	if err != nil {
		k.Fatal(err)
	}
	if r, err := s.Commit(k.Context(), p); err != nil || r.Outcome != sinks.Committed {
		k.Fatalf("batch %s: %v, %v, %v", id, r.Outcome, r.Why, err)
	}
}

func (k *kit) query(epoch ident.Epoch) sinks.QueryInfo {
	return sinktest.Query(ident.QueryID(strings.ReplaceAll(k.Name(), "/", ".")), epoch)
}

// readers: records of committed, aborted and open transactions, as franz-go, kafka-go and Kafka's own console consumer see them under read_committed.
func readers(k *kit) {
	topic, clean := k.topic(1), k.topic(1)
	for _, target := range []string{topic, clean} {
		s := k.driver(k.config(target), k.query(1))
		k.commit(s, 0, 1, 2, 3)
		if target == topic {
			p, err := s.Prepare(k.Context(), sinktest.Batch(1, "a", memory.DefaultAllocator, []int64{100, 101}))
			if err != nil {
				k.Fatal(err)
			}
			if err := s.Abort(k.Context(), p); err != nil {
				k.Fatal(err)
			}
		}
		k.commit(s, 1, 4, 5)
		if target == topic {
			if _, err := s.Prepare(k.Context(), sinktest.Batch(2, "a", memory.DefaultAllocator, []int64{200})); err != nil {
				k.Fatal(err)
			}
		}
	}
	want := []int64{1, 2, 3, 4, 5}
	if d := cmp.Diff(want, k.ids(topic)); d != "" {
		k.Errorf("franz-go: %s", d)
	}
	if n := len(k.records(topic, kgo.ReadUncommitted())); n != 8 {
		k.Errorf("a reader of uncommitted records sees %d, want 8", n)
	}
	values := []string{`{"id":1,"name":"row 1"}`, `{"id":2,"name":"row 2"}`, `{"id":3,"name":"row 3"}`, `{"id":4,"name":"row 4"}`, `{"id":5,"name":"row 5"}`}
	out := services.KafkaTool(k, 2*time.Minute, "org.apache.kafka.tools.consumer.ConsoleConsumer", "--bootstrap-server", k.addr, "--topic", topic, "--from-beginning",
		"--isolation-level", "read_committed", "--max-messages", "5", "--timeout-ms", "60000")
	if lines := strings.Split(strings.TrimSpace(out), "\n"); !slices.Equal(lines, values) {
		k.Errorf("the console consumer: %q", out)
	}
	if got := k.segmentio(clean, 5); !slices.Equal(got, values) {
		k.Errorf("kafka-go: %q", got)
	}
	// kafka-go hands out records of aborted transactions although it was asked not to (its issue 1332): so it reads a topic that has none. That it still does is shown
	// here, so that this test says when it no longer has to be spared.
	if got := k.segmentio(topic, 5); slices.Equal(got, values) {
		k.Error("kafka-go leaves out aborted records now: compare it on this topic too")
	}
}

// segmentio are the first n values that kafka-go reads under read_committed. It also hands out the markers that end transactions, whose values are six bytes of zero
// and more: they are left out here.
func (k *kit) segmentio(topic string, n int) (values []string) {
	k.Helper()
	r := segmentio.NewReader(segmentio.ReaderConfig{Brokers: []string{k.addr}, Topic: topic, IsolationLevel: segmentio.ReadCommitted, MaxWait: 100 * time.Millisecond})
	defer r.Close()
	ctx, cancel := context.WithTimeout(k.Context(), 30*time.Second)
	defer cancel()
	for len(values) < n {
		m, err := r.ReadMessage(ctx)
		if err != nil {
			k.Fatal(err)
		}
		if !strings.HasPrefix(string(m.Value), "\x00\x00") {
			values = append(values, string(m.Value))
		}
	}
	return values
}

// doubts: the answer to EndTxn is lost on its way, by a connection that breaks, before or after the broker has it.
func doubts(k *kit) {
	for _, landed := range []bool{true, false} {
		topic := k.topic(1)
		wire := &wire{}
		c := k.config(topic).withDefaults()
		cluster, err := newBrokers(c, kgo.Dialer(wire.dial))
		if err != nil {
			k.Fatal(err)
		}
		c.Cluster, c.RetryFor = cluster, 5*time.Second
		q := k.query(1)
		q.ID += ident.QueryID(fmt.Sprint(landed))
		s := k.driver(c, q)
		k.commit(s, 0, 1)
		p, err := s.Prepare(k.Context(), sinktest.Batch(1, "a", memory.DefaultAllocator, []int64{2, 3}))
		if err != nil {
			k.Fatal(err)
		}
		wire.breakEnds(landed)
		r, err := s.Commit(k.Context(), p)
		wire.mend()
		if want := map[bool]sinks.Outcome{true: sinks.Committed, false: sinks.Uncertain}[landed]; err != nil || r.Outcome != want {
			k.Errorf("landed %v: %s, %v, %v", landed, r.Outcome, r.Why, err)
		}
		if wire.broken() == 0 {
			k.Errorf("landed %v: no connection was broken", landed)
		}
		q.Epoch = 2
		q.Newest = func(context.Context) (ident.Epoch, error) { return 2, nil }
		next := k.driver(k.config(topic), q)
		p, err = next.Prepare(k.Context(), sinktest.Batch(1, "a", memory.DefaultAllocator, []int64{2, 3}))
		if err != nil {
			k.Fatal(err)
		}
		r, err = next.Commit(k.Context(), p)
		if want := map[bool]sinks.Outcome{true: sinks.AlreadyCommitted, false: sinks.Committed}[landed]; err != nil || r.Outcome != want {
			k.Errorf("landed %v, the next driver: %s, %v, %v", landed, r.Outcome, r.Why, err)
		}
		if d := cmp.Diff([]int64{1, 2, 3}, k.ids(topic)); d != "" {
			k.Error(d)
		}
	}
}

// dangling: a driver dies between the marker and the end of its transaction. The next one sees what is recorded, at once, and takes over.
func dangling(k *kit) {
	topic := k.topic(1)
	s := k.driver(k.config(topic), k.query(1))
	k.commit(s, 0, 1)
	p, err := s.Prepare(k.Context(), sinktest.Batch(1, "a", memory.DefaultAllocator, []int64{2}))
	if err != nil {
		k.Fatal(err)
	}
	if err := s.addPositions(k.Context(), p.(*pending), markerOf(s.query, 1, ident.Digest{1}, time.Now())); err != nil {
		k.Fatal(err)
	}
	s.discard()
	began := time.Now()
	look := k.sink(k.config(topic))
	defer look.Close()
	v, err := look.Visible(k.Context(), k.query(2))
	if err != nil || v.Batch != 0 || v.Epoch != 1 {
		k.Errorf("beside the open transaction: %+v, %v", v, err)
	}
	next := k.driver(k.config(topic), k.query(2))
	if v, err := next.Visible(k.Context(), k.query(2)); err != nil || v.Batch != 0 {
		k.Errorf("after the take-over: %+v, %v", v, err)
	}
	k.commit(next, 1, 2)
	if took := time.Since(began); took > 15*time.Second {
		k.Errorf("it took %s: the transaction's timeout was waited for", took)
	}
	if d := cmp.Diff([]int64{1, 2}, k.ids(topic)); d != "" {
		k.Error(d)
	}
}

// tooLong: the broker aborts a transaction at its timeout; the batch runs again.
func tooLong(k *kit) {
	topic := k.topic(1)
	c := k.config(topic)
	c.Timeout = time.Second
	s := k.driver(c, k.query(1))
	p, err := s.Prepare(k.Context(), sinktest.Batch(0, "a", memory.DefaultAllocator, []int64{1}))
	if err != nil {
		k.Fatal(err)
	}
	k.until("the broker's abort", func(ctx context.Context) bool {
		list, err := k.admin.DescribeTransactions(ctx, name(s.query))
		return err == nil && list[name(s.query)].State == "CompleteAbort"
	})
	r, err := s.Commit(k.Context(), p)
	if err != nil || r.Outcome != sinks.Uncertain || !errcode.Has(r.Why, errcode.KafkaSinkLost) {
		k.Errorf("%v, %v, %v", r.Outcome, r.Why, err)
	}
	k.commit(s, 0, 1)
	if d := cmp.Diff([]int64{1}, k.ids(topic)); d != "" {
		k.Error(d)
	}
}

func (k *kit) until(what string, met func(context.Context) bool) {
	k.Helper()
	ctx, cancel := context.WithTimeout(k.Context(), time.Minute)
	defer cancel()
	for !met(ctx) {
		select {
		case <-ctx.Done():
			k.Fatalf("%s: not within a minute", what)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// forgotten: as if the broker had forgotten the marker.
func forgotten(k *kit) {
	topic := k.topic(1)
	s := k.driver(k.config(topic), k.query(1))
	k.commit(s, 0, 1)
	k.settle()
	if _, err := k.admin.DeleteGroup(k.Context(), name(s.query)); err != nil {
		k.Fatal(err)
	}
	v, err := s.Visible(k.Context(), s.query)
	if err != nil || v.Batch != ident.NoBatch || !strings.Contains(v.Behind, "offsets.retention.minutes") {
		k.Errorf("%+v, %v", v, err)
	}
}

func brokerLimits(k *kit) {
	c := k.config(k.topic(1))
	c.Timeout = 16 * time.Minute
	s := k.sink(c)
	defer s.Close()
	if err := s.Check(k.Context(), sinktest.Schema()); !errcode.Has(err, errcode.KafkaSinkTimeout) || !strings.Contains(err.Error(), "16m0s") || !strings.Contains(err.Error(), "15m0s") {
		k.Error(err)
	}
	s.cfg.Timeout = time.Minute
	if err := s.Check(k.Context(), sinktest.Schema()); err != nil || s.limits.Retention != 7*24*time.Hour || s.topic.Partitions != 1 || s.topic.MaxBytes != 1048588 {
		k.Errorf("%v, %+v, %+v", err, s.limits, s.topic)
	}
}

func secure(k *kit, broker *services.KafkaBroker) {
	topic := k.topic(1)
	c := k.config(topic)
	c.Brokers = []string{broker.SecureAddr}
	c.TLS = &TLS{CA: broker.CA}
	c.SASL = &SASL{Mechanism: "SCRAM-SHA-512", User: broker.User, Password: secret.Of(broker.Password)}
	k.commit(k.driver(c, k.query(1)), 0, 1, 2)
	if d := cmp.Diff([]int64{1, 2}, k.ids(topic)); d != "" {
		k.Error(d)
	}
	c.SASL = &SASL{Mechanism: "SCRAM-SHA-512", User: broker.User, Password: secret.Of("wrong")}
	s := k.sink(c)
	defer s.Close()
	if err := s.Check(k.Context(), sinktest.Schema()); !errcode.Has(err, errcode.KafkaAuthFailed) || strings.Contains(err.Error(), "wrong") {
		k.Error(err)
	}
}

func columnsOnReal(k *kit) {
	topic := k.topic(3)
	for n, compression := range Compressions() {
		c := k.config(topic)
		c.Key, c.Operation, c.Compression = "k", "op", compression
		if err := k.write(c, sinktest.Query(ident.QueryID("columns"+compression), 1), "k STRING, op STRING, v BIGINT", []any{"a", "u", n}, []any{"b", "d", n}); err != nil {
			k.Fatal(err)
		}
	}
	got := map[string]int{}
	for _, r := range k.records(topic, kgo.ReadCommitted()) {
		got[fmt.Sprintf("%s=%s", r.Key, r.Value)]++
	}
	want := map[string]int{"b=": 5}
	for n := range Compressions() {
		want[fmt.Sprintf(`a={"k":"a","v":%d}`, n)] = 1
	}
	if d := cmp.Diff(want, got); d != "" {
		k.Error(d)
	}
}

// failuresOnReal: a transaction without records, an epoch alone, an abort, and records after them, by one producer.
func failuresOnReal(k *kit) {
	topic := k.topic(2)
	s := k.driver(k.config(topic), k.query(1))
	k.commit(s, 0)
	k.commit(s, 1, 1, 2)
	p, err := s.Prepare(k.Context(), sinktest.Batch(2, "a", memory.DefaultAllocator, []int64{9}))
	if err != nil {
		k.Fatal(err)
	}
	if err := s.Abort(k.Context(), p); err != nil || s.producer == nil {
		k.Fatalf("abort: %v, kept %v", err, s.producer != nil)
	}
	k.commit(s, 2)
	if err := s.mark(k.Context()); err != nil {
		k.Fatal(err)
	}
	k.commit(s, 3, 3)
	if s.producer == nil {
		k.Error("the producer was given up")
	}
	if d := cmp.Diff([]int64{1, 2, 3}, sorted(k.ids(topic))); d != "" {
		k.Error(d)
	}
	var o kadm.OffsetResponses
	if o, err = k.admin.FetchOffsets(k.Context(), name(s.query)); err != nil || o[topic][0].At != 4 {
		k.Errorf("%v, %v", o, err)
	}
}

func sorted(ids []int64) []int64 {
	slices.Sort(ids)
	return ids
}
