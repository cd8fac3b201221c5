package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"microbatch/batch"
	"microbatch/guarantee"
	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/internal/secret"
	"microbatch/schema"
	"microbatch/sinks"
	"microbatch/sinks/sinktest"
)

func TestAllThatIsWrongWithTheConfigurationIsListedAtOnce(t *testing.T) {
	_, err := New(Config{
		Compression: "brotli", Mode: "none", Timeout: time.Millisecond, CommitGroup: "microbatch-x", TLS: &TLS{Cert: "c"}, SASL: &SASL{Mechanism: "NONE"}, Longest: -1,
	})
	if !errcode.Has(err, errcode.KafkaSinkOptions) {
		t.Fatal(err)
	}
	for _, part := range []string{"brokers:", "topic:", "exactly one of an encoder", "compression:", "mode:", "transaction_timeout:", "positions go together", "are the markers", "tls:", "sasl.mechanism:", "negative"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q is not in %v", part, err)
		}
	}
	c := Config{Brokers: []string{"a:1"}, Topic: "t", Value: "v", SASL: &SASL{Mechanism: "PLAIN", User: "u", Password: secret.Of("p")}}
	if _, err := New(c); !errcode.Has(err, errcode.KafkaInsecureAuth) {
		t.Error(err)
	}
	c.SASL, c.Timeout, c.Longest = nil, time.Minute, time.Minute
	if _, err := New(c); !errcode.Has(err, errcode.KafkaSinkTimeout) || !strings.Contains(err.Error(), "1m0s") {
		t.Error(err)
	}
}

func TestCheckComparesWithWhatIsThere(t *testing.T) {
	k := fake(t)
	topic := k.topic(3)
	check := func(c Config, in *arrow.Schema) error {
		s := k.sink(c)
		defer s.Close()
		return s.Check(t.Context(), in)
	}
	if err := check(k.config(topic), sinktest.Schema()); err != nil {
		t.Fatal(err)
	}
	if err := check(k.config("none"), sinktest.Schema()); !errcode.Has(err, errcode.KafkaSinkTopic) {
		t.Error(err)
	}
	c := k.config(topic)
	c.Key, c.Headers, c.Partition, c.TopicColumn, c.Operation = "nokey", "name", "name", "id", "id"
	err := check(c, sinktest.Schema())
	if !errcode.Has(err, errcode.KafkaSinkColumns) || strings.Count(err.Error(), ";") < 4 || !strings.Contains(err.Error(), "id, name") {
		t.Error(err)
	}
	c = k.config(topic)
	c.Timeout = time.Hour
	if err := check(c, sinktest.Schema()); !errcode.Has(err, errcode.KafkaSinkTimeout) || !strings.Contains(err.Error(), "1h0m0s") || !strings.Contains(err.Error(), "15m0s") {
		t.Error(err)
	}
}

// rows is a part of one chunk of a schema in DDL, a row for each list of values.
func rows(t *testing.T, alloc memory.Allocator, ddl string, values ...[]any) (*arrow.Schema, batch.Part) {
	t.Helper()
	s, err := schema.ParseDDL(ddl)
	if err != nil {
		t.Fatal(err)
	}
	return s, batch.PartFunc(func(context.Context) batch.Stream {
		return func(yield func(batch.Chunk, error) bool) {
			b := array.NewRecordBuilder(alloc, s)
			defer b.Release()
			for _, row := range values {
				for i, v := range row {
					appendTo(b.Field(i), v)
				}
			}
			yield(batch.Chunk{Record: b.NewRecordBatch()}, nil)
		}
	})
}

func appendTo(b array.Builder, v any) {
	switch b := b.(type) {
	case *array.ListBuilder: // headers: pairs as "k=v"
		pair := b.ValueBuilder().(*array.StructBuilder)
		b.Append(true)
		for h := range strings.FieldsSeq(v.(string)) {
			key, value, _ := strings.Cut(h, "=")
			pair.Append(true)
			pair.FieldBuilder(0).(*array.StringBuilder).Append(key)
			pair.FieldBuilder(1).(*array.BinaryBuilder).Append([]byte(value))
		}
	default:
		if v == nil {
			b.AppendNull()
		} else if err := b.AppendValueFromString(fmt.Sprint(v)); err != nil {
			panic(err)
		}
	}
}

// write writes one batch of rows as a driver does, and returns the error of Prepare.
func (k *kit) write(c Config, q sinks.QueryInfo, ddl string, values ...[]any) error {
	k.Helper()
	alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer alloc.AssertSize(k, 0)
	in, part := rows(k.T, alloc, ddl, values...)
	s := k.sink(c)
	defer s.Close()
	if err := s.Check(k.Context(), in); err != nil {
		return err
	}
	v, err := s.Visible(k.Context(), q)
	if err != nil {
		return err
	}
	if err := s.Recover(k.Context(), q, nil); err != nil {
		return err
	}
	b := sinktest.Batch(v.Batch+1, "a", alloc)
	b.Schema, b.Parts = in, []batch.Part{part}
	p, err := s.Prepare(k.Context(), b)
	if err != nil {
		return err
	}
	r, err := s.Commit(k.Context(), p)
	if err == nil && r.Outcome != sinks.Committed {
		k.Fatalf("%s: %v", r.Outcome, r.Why)
	}
	k.settle()
	return err
}

func TestColumnsMakeTheRecord(t *testing.T) {
	k := fake(t)
	topic, other := k.topic(4), k.topic(1)
	c := k.config(topic)
	c.Key, c.Headers, c.Partition, c.TopicColumn, c.Operation = "k", "h", "p", "t", "op"
	err := k.write(c, sinktest.Query("q", 1), "k BIGINT, h ARRAY<STRUCT<key: STRING, value: BINARY>>, p INT, t STRING, op STRING, v STRING, n INT",
		[]any{7, "a=1 b=", 2, nil, "insert", "x", 1},
		[]any{8, "", 0, other, nil, nil, 2},
		[]any{9, "", 3, nil, "D", "gone", 3},
		[]any{nil, "", 1, nil, "u", "y", nil},
	)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range append(k.records(topic, kgo.ReadCommitted()), k.records(other, kgo.ReadCommitted())...) {
		line := fmt.Sprintf("%s-%d %s=%s", r.Topic, r.Partition, r.Key, r.Value)
		if r.Key == nil {
			line += " no key"
		}
		if r.Value == nil {
			line += " tombstone"
		}
		for _, h := range r.Headers {
			line += fmt.Sprintf(" %s:%s", h.Key, h.Value)
		}
		got = append(got, line)
	}
	want := []string{
		topic + `-1 ={"v":"y"} no key`,
		topic + `-2 7={"k":7,"v":"x","n":1} a:1 b:`,
		topic + `-3 9= tombstone`,
		other + `-0 8={"k":8,"n":2}`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A topic that a column names may take smaller batches of records than the sink's own.
func TestATopicOfAColumnHasItsOwnLimit(t *testing.T) {
	k := fake(t)
	topic, other := k.topic(1), k.topic(1)
	k.takes(other, 2000)
	c := k.config(topic)
	c.TopicColumn, c.Compression = "t", "none"
	var rows [][]any
	for n := range 200 {
		rows = append(rows, []any{other, n})
	}
	if err := k.write(c, sinktest.Query("q", 1), "t STRING, n INT", rows...); err != nil {
		t.Fatal(err)
	}
	if n := len(k.records(other, kgo.ReadCommitted())); n != len(rows) {
		t.Errorf("%d records, want %d", n, len(rows))
	}
}

// The topic takes less than it did: the batch fails, and passes when it runs again, also without the right to ask for the limit.
func TestALimitThatWasLoweredIsLearnt(t *testing.T) {
	for _, told := range []bool{true, false} {
		k := fake(t)
		topic := k.topic(1)
		c := k.config(topic)
		c.Compression = "none"
		s := k.sink(c)
		defer s.Close()
		ids := make([]int64, 200)
		for n := range ids {
			ids[n] = int64(n)
		}
		err := errors.Join(s.Check(t.Context(), sinktest.Schema()), s.Recover(t.Context(), sinktest.Query("q", 1), nil))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Abort(t.Context(), k.prepared(s, 0)); err != nil { // the topic is known
			t.Fatal(err)
		}
		k.takes(topic, 3000)
		if !told {
			k.cluster.ControlKey(int16(kmsg.DescribeConfigs), func(req kmsg.Request) (kmsg.Response, error, bool) {
				k.cluster.KeepControl()
				return req.ResponseKind(), nil, true
			})
		}
		tries := 0
		for ; tries < 5; tries++ {
			var p sinks.Pending
			if p, err = s.Prepare(t.Context(), sinktest.Batch(0, "a", memory.DefaultAllocator, ids)); err == nil {
				_, err = s.Commit(t.Context(), p)
				break
			}
			if !errcode.Has(err, errcode.KafkaBrokerError) || errcode.ClassOf(err) != errcode.Retry || !strings.Contains(err.Error(), "200 records") && tries == 0 {
				t.Fatal(err)
			}
		}
		if err != nil || tries == 0 || told && tries > 1 {
			t.Errorf("told %v, %d failures: %v", told, tries, err)
		}
		if d := cmp.Diff(ids, k.ids(topic)); d != "" {
			t.Error(d)
		}
		if _, err := s.Prepare(t.Context(), sinktest.Batch(1, "a", memory.DefaultAllocator, ids[:1])); err != nil {
			t.Error(err)
		}
	}
}

// takes sets the largest batch of records of a topic.
func (k *kit) takes(topic string, bytes int) {
	k.Helper()
	value := strconv.Itoa(bytes)
	if _, err := k.admin.AlterTopicConfigs(k.Context(), []kadm.AlterConfig{{Name: "max.message.bytes", Value: &value}}, topic); err != nil {
		k.Fatal(err)
	}
}

func TestANameThatIsNoTopicsIsSaid(t *testing.T) {
	k := fake(t)
	c := k.config(k.topic(1))
	c.TopicColumn = "t"
	k.cluster.ControlKey(int16(kmsg.Metadata), func(req kmsg.Request) (kmsg.Response, error, bool) {
		k.cluster.KeepControl()
		in := req.(*kmsg.MetadataRequest)
		if len(in.Topics) != 1 || in.Topics[0].Topic == nil || *in.Topics[0].Topic != "a b" {
			return nil, nil, false
		}
		resp := in.ResponseKind().(*kmsg.MetadataResponse)
		of := kmsg.NewMetadataResponseTopic()
		of.Topic, of.ErrorCode = in.Topics[0].Topic, kerr.InvalidTopicException.Code
		resp.Topics = append(resp.Topics, of)
		return resp, nil, true
	})
	err := k.write(c, sinktest.Query("q", 1), "t STRING, n INT", []any{"a b", 1})
	if !errcode.Has(err, errcode.KafkaSinkTopic) || !strings.Contains(err.Error(), `topic "a b"`) {
		t.Error(err)
	}
}

func TestRawValuesAndNullsAreTombstones(t *testing.T) {
	k := fake(t)
	topic := k.topic(1)
	c := k.config(topic)
	c.Encoder, c.Value, c.Key, c.Compression = nil, "v", "k", "zstd"
	if err := k.write(c, sinktest.Query("q", 1), "k STRING, v STRING", []any{"a", "one"}, []any{"a", ""}, []any{"b", nil}); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range k.records(topic, kgo.ReadCommitted()) {
		got = append(got, fmt.Sprintf("%s=%s %v", r.Key, r.Value, r.Value == nil))
	}
	if d := cmp.Diff([]string{"a=one false", "a= false", "b= true"}, got); d != "" {
		t.Error(d)
	}
}

// Kafka's own clients put these keys in these partitions of seven: murmur2, positive, modulo (org.apache.kafka.common.utils.Utils).
func TestAKeyGoesWhereKafkasOwnClientsSendIt(t *testing.T) {
	k := fake(t)
	topic := k.topic(7)
	c := k.config(topic)
	c.Key = "k"
	if err := k.write(c, sinktest.Query("q", 1), "k STRING", []any{"21"}, []any{"foobar"}, []any{"a-little-bit-long-string"}, []any{"abc"}); err != nil {
		t.Fatal(err)
	}
	// UtilsTest.testMurmur2 of Kafka has the hashes; toPositive is & 0x7fffffff.
	hashes := map[string]int32{"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536, "abc": 479470107}
	for _, r := range k.records(topic, kgo.ReadCommitted()) {
		if want := (hashes[string(r.Key)] & 0x7fffffff) % 7; r.Partition != want {
			t.Errorf("key %s went to partition %d, want %d", r.Key, r.Partition, want)
		}
	}
}

func TestARowThatCannotBeARecordStopsTheBatch(t *testing.T) {
	k := fake(t)
	topic := k.topic(2)
	c := k.config(topic)
	c.Partition = "p"
	for _, p := range []int{-1, 2, 1 << 30} {
		if err := k.write(c, sinktest.Query("q", 1), "p INT", []any{0}, []any{p}); !errcode.Has(err, errcode.KafkaSinkRecord) || !strings.Contains(err.Error(), fmt.Sprint(p)) {
			t.Errorf("partition %d: %v", p, err)
		}
	}
	c.Partition = ""
	if err := k.write(c, sinktest.Query("q", 1), "v STRING", []any{strings.Repeat("x", 2_000_000)}); !errcode.Has(err, errcode.KafkaSinkRecord) {
		t.Errorf("a large record: %v", err)
	}
	if n := len(k.records(topic, kgo.ReadCommitted())); n != 0 {
		t.Errorf("%d records are visible", n)
	}
	if err := k.write(c, sinktest.Query("q", 1), "v STRING", []any{"fits"}); err != nil { // what was begun does not stand in the way
		t.Error(err)
	}
}

func TestATopicMayTakeLargeRecords(t *testing.T) {
	k := fake(t)
	topic := k.topic(1)
	large := "8000000"
	if _, err := k.admin.AlterTopicConfigs(t.Context(), []kadm.AlterConfig{{Name: "max.message.bytes", Value: &large}}, topic); err != nil {
		t.Fatal(err)
	}
	if err := k.write(k.config(topic), sinktest.Query("q", 1), "v STRING", []any{strings.Repeat("x", 2_000_000)}); err != nil {
		t.Error(err)
	}
}

// TestAGroupThatIsConsumedWith: a commit_group that has members is refused before a start, and taken when they have left.
func TestAGroupThatIsConsumedWith(t *testing.T) {
	k := fake(t)
	topic := k.topic(1)
	c := k.config(topic)
	c.CommitGroup, c.Positions = "progress", func([]ident.Range) (map[string]map[int32]int64, error) { return nil, nil }
	s := k.sink(c)
	defer s.Close()
	joined := make(chan struct{})
	consumer, err := kgo.NewClient(kgo.SeedBrokers(k.addr), kgo.ConsumerGroup("progress"), kgo.ConsumeTopics(topic),
		kgo.OnPartitionsAssigned(func(context.Context, *kgo.Client, map[string][]int32) { close(joined) }))
	if err != nil {
		t.Fatal(err)
	}
	defer consumer.Close()
	<-joined
	if err := s.Check(t.Context(), sinktest.Schema()); !errcode.Has(err, errcode.KafkaSinkGroup) || !strings.Contains(err.Error(), "progress") {
		t.Errorf("with a member: %v", err)
	}
	if err := consumer.LeaveGroupContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context(), sinktest.Schema()); err != nil {
		t.Errorf("without members: %v", err)
	}
}

func TestPositionsOfTheSourceAreCommittedWithTheRecords(t *testing.T) {
	k := fake(t)
	topic, source := k.topic(1), k.topic(2)
	c := k.config(topic)
	ends := map[string]map[int32]int64{source: {0: 12, 1: 34}}
	c.CommitGroup, c.Positions = "progress", func([]ident.Range) (map[string]map[int32]int64, error) { return ends, nil }
	s := k.sink(c)
	defer s.Close()
	q := sinktest.Query("q", 1)
	if err := errors.Join(s.Check(t.Context(), sinktest.Schema()), s.Recover(t.Context(), q, nil)); err != nil {
		t.Fatal(err)
	}
	p, err := s.Prepare(t.Context(), sinktest.Batch(0, "a", memory.DefaultAllocator, []int64{1}))
	if err != nil {
		t.Fatal(err)
	}
	if o, err := k.admin.FetchOffsets(t.Context(), "progress"); err == nil && len(o) > 0 {
		t.Errorf("before the commit: %v", o)
	}
	if r, err := s.Commit(t.Context(), p); err != nil || r.Outcome != sinks.Committed {
		t.Fatalf("%s: %v, %v", r.Outcome, r.Why, err)
	}
	k.settle()
	o, err := k.admin.FetchOffsets(t.Context(), "progress")
	if err != nil || o[source][0].At != 12 || o[source][1].At != 34 {
		t.Errorf("%v, %v", o, err)
	}
	ends["no-such-topic"] = map[int32]int64{0: 1}
	if p, err = s.Prepare(t.Context(), sinktest.Batch(1, "a", memory.DefaultAllocator, []int64{2})); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), p); !errcode.Has(err, errcode.KafkaSinkGroup) {
		t.Errorf("positions of an unknown topic: %v", err)
	}
	if got := k.ids(topic); len(got) != 1 {
		t.Errorf("visible: %v", got)
	}
}

// withFailures is a cluster whose producers fail as told.
type withFailures struct {
	Cluster
	init, positions, end error
}

func (c *withFailures) Producer(ctx context.Context, id string) (Producer, error) {
	if c.init != nil {
		return nil, c.init
	}
	p, err := c.Cluster.Producer(ctx, id)
	return failing{p, c}, err
}

type failing struct {
	Producer
	c *withFailures
}

func (p failing) Positions(ctx context.Context, group string, at map[Partition]Position) error {
	if p.c.positions != nil {
		return p.c.positions
	}
	return p.Producer.Positions(ctx, group, at)
}

func (p failing) End(ctx context.Context, commit bool) error {
	if commit && p.c.end != nil {
		return p.c.end
	}
	return p.Producer.End(ctx, commit)
}

// failures is a sink on a cluster that can be told to fail.
func (k *kit) failures(topic string) (*Sink, *withFailures) {
	k.Helper()
	c := k.config(topic)
	c.RetryFor = time.Second
	own, err := newBrokers(c.withDefaults())
	if err != nil {
		k.Fatal(err)
	}
	f := &withFailures{Cluster: own}
	c.Cluster = f
	s := k.sink(c)
	k.Cleanup(func() { s.Close() })
	if err := s.Check(k.Context(), sinktest.Schema()); err != nil {
		k.Fatal(err)
	}
	return s, f
}

func (k *kit) prepared(s *Sink, id ident.BatchID) sinks.Pending {
	k.Helper()
	p, err := s.Prepare(k.Context(), sinktest.Batch(id, "a", memory.DefaultAllocator, []int64{int64(id)}))
	if err != nil {
		k.Fatal(err)
	}
	return p
}

func TestWhatAFailureMeans(t *testing.T) {
	k := fake(t)
	s, f := k.failures(k.topic(1))
	for _, c := range []struct {
		err  error
		code errcode.Code
	}{
		{kerr.TransactionalIDAuthorizationFailed, errcode.KafkaSinkRights},
		{kerr.InvalidTransactionTimeout, errcode.KafkaSinkTimeout},
		{kerr.UnknownTopicOrPartition, errcode.KafkaSinkTopic},
		{kerr.SaslAuthenticationFailed, errcode.KafkaAuthFailed},
		{kerr.UnknownServerError, errcode.KafkaBrokerError},
		{errors.New("reset"), errcode.KafkaUnreachable},
		{kerr.ProducerFenced, errcode.KafkaSinkLost},
	} {
		f.init = c.err
		if err := s.Recover(t.Context(), sinktest.Query("q", 1), nil); !errcode.Has(err, c.code) {
			t.Errorf("%v: %v, want %s", c.err, err, c.code.ID)
		}
	}
	f.init = nil
	if err := s.Recover(t.Context(), sinktest.Query("q", 1), nil); err != nil {
		t.Fatal(err)
	}
	for id, c := range []struct {
		positions, end error
		outcome        sinks.Outcome
		code           errcode.Code // of an error instead
	}{
		{positions: kerr.GroupAuthorizationFailed, code: errcode.KafkaSinkRights},
		{positions: kerr.InvalidProducerEpoch, outcome: sinks.Uncertain},
		{positions: errors.New("reset"), outcome: sinks.Uncertain},
		{end: kerr.InvalidProducerEpoch, outcome: sinks.Uncertain},
		{end: errors.New("reset"), outcome: sinks.Uncertain},
	} {
		p := k.prepared(s, 0)
		f.positions, f.end = c.positions, c.end
		r, err := s.Commit(t.Context(), p)
		f.positions, f.end = nil, nil
		if r.Outcome != c.outcome || (c.outcome == 0) != errcode.Has(err, c.code) {
			t.Errorf("case %d: %v, %v, %v", id, r.Outcome, r.Why, err)
		}
		if s.producer != nil {
			t.Errorf("case %d: the producer is kept (T4)", id)
		}
		if err := s.Recover(t.Context(), sinktest.Query("q", 1), nil); err != nil {
			t.Fatal(err)
		}
	}
	p := k.prepared(s, 0)
	if r, err := s.Commit(t.Context(), p); err != nil || r.Outcome != sinks.Committed {
		t.Errorf("at last: %v, %v, %v", r.Outcome, r.Why, err)
	}
}

// A broker that takes records and answers no more makes the attempt fail, and the next one has another producer.
func TestRecordsThatAreNeverAcknowledgedAreGivenUp(t *testing.T) {
	k := fake(t)
	topic := k.topic(1)
	s, _ := k.failures(topic)
	if err := s.Recover(t.Context(), sinktest.Query("q", 1), nil); err != nil {
		t.Fatal(err)
	}
	mend := make(chan struct{})
	k.cluster.ControlKey(int16(kmsg.Produce), func(kmsg.Request) (kmsg.Response, error, bool) {
		k.cluster.KeepControl()
		k.cluster.SleepControl(func() { <-mend })
		return nil, nil, false
	})
	if _, err := s.Prepare(t.Context(), sinktest.Batch(0, "a", memory.DefaultAllocator, []int64{1})); !errcode.Has(err, errcode.KafkaUnreachable) || s.producer != nil {
		t.Errorf("%v, producer kept: %v", err, s.producer != nil)
	}
	close(mend)
	if r, err := s.Commit(t.Context(), k.prepared(s, 0)); err != nil || r.Outcome != sinks.Committed {
		t.Fatal(r, err)
	}
	if d := cmp.Diff([]int64{0}, k.ids(topic)); d != "" {
		t.Error(d)
	}
}

// A driver that has slept between its look at the epochs and InitProducerID takes the id from its successor, and must not commit with it (T1, T2).
func TestADriverThatTakesTheIDTooLateCommitsNothing(t *testing.T) {
	k := fake(t)
	topic := k.topic(1)
	old, f := k.failures(topic)
	newest := ident.Epoch(1)
	q := sinktest.Query("q", 1)
	q.Newest = func(context.Context) (ident.Epoch, error) { return newest, nil }
	f.init = errors.New("asleep")
	asleep := &sleeper{withFailures: f}
	old.cluster = asleep
	successor, _ := k.failures(topic)
	next := sinktest.Query("q", 2)
	var staged sinks.Pending
	asleep.wake = func() { // the successor comes between the list and InitProducerID
		newest, f.init = 2, nil
		if err := successor.Recover(t.Context(), next, nil); err != nil {
			t.Fatal(err)
		}
		staged = k.prepared(successor, 0)
	}
	if err := old.Recover(t.Context(), q, nil); !errcode.Has(err, errcode.KafkaSinkFenced) {
		t.Fatalf("the old driver: %v", err)
	}
	if r, err := successor.Commit(t.Context(), staged); err != nil || r.Outcome != sinks.Uncertain {
		t.Fatalf("the transaction that was taken from the successor: %v, %v", r.Outcome, err)
	}
	if err := successor.Recover(t.Context(), next, nil); err != nil {
		t.Fatal(err)
	}
	if r, err := successor.Commit(t.Context(), k.prepared(successor, 0)); err != nil || r.Outcome != sinks.Committed {
		t.Fatalf("the successor: %v, %v, %v", r.Outcome, r.Why, err)
	}
	if _, err := old.Prepare(t.Context(), sinktest.Batch(0, "a", memory.DefaultAllocator)); !errcode.Has(err, errcode.KafkaSinkFenced) {
		t.Errorf("the old driver, again: %v", err)
	}
	if d := cmp.Diff([]int64{0}, k.ids(topic)); d != "" {
		t.Error(d)
	}
}

// sleeper is woken when a producer is made.
type sleeper struct {
	*withFailures
	wake func()
}

func (s *sleeper) Producer(ctx context.Context, id string) (Producer, error) {
	if s.wake != nil {
		s.wake()
		s.wake = nil
	}
	return s.withFailures.Producer(ctx, id)
}

func TestAMarkerThatIsNotOursIsNotGuessed(t *testing.T) {
	k := fake(t)
	topic := k.topic(1)
	q := sinktest.Query("q", 1)
	var o kadm.Offsets
	for _, metadata := range []string{"", "{}", `{"v":2,"batch":4}`, `{"v":1,"batch":7,"epoch":1}`, `{"v":1,"batch":4,"epoch":1,"digest":"00"}`} {
		o.Add(kadm.Offset{Topic: topic, Partition: 0, At: 5, Metadata: metadata})
		if err := k.admin.CommitAllOffsets(t.Context(), name(q), o); err != nil {
			t.Fatal(err)
		}
		s := k.sink(k.config(topic))
		if _, err := s.Visible(t.Context(), q); !errcode.Has(err, errcode.KafkaSinkMarker) {
			t.Errorf("%q: %v", metadata, err)
		}
		s.Close()
	}
}

func TestAForeignBatchIsNamed(t *testing.T) {
	k := fake(t)
	s, _ := k.failures(k.topic(1))
	if err := s.Recover(t.Context(), sinktest.Query("q", 1), nil); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Commit(t.Context(), k.prepared(s, 0)); err != nil || r.Outcome != sinks.Committed {
		t.Fatal(r, err)
	}
	p, err := s.Prepare(t.Context(), sinktest.Batch(0, "other", memory.DefaultAllocator, []int64{5}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), p); !errcode.Has(err, errcode.KafkaSinkForeign) {
		t.Error(err)
	}
}

func TestAnOldMarkerIsWrittenAgain(t *testing.T) {
	k := fake(t)
	topic := k.topic(1)
	now := time.Now()
	c := k.config(topic)
	c.Now = func() time.Time { return now }
	s := k.sink(c)
	defer s.Close()
	q := sinktest.Query("q", 3)
	if err := errors.Join(s.Check(t.Context(), sinktest.Schema()), s.Recover(t.Context(), q, nil), s.Maintain(t.Context(), now)); err != nil {
		t.Fatal(err)
	}
	if v, _ := s.Visible(t.Context(), q); v.Epoch != 0 {
		t.Errorf("a marker without a batch: %+v", v)
	}
	if r, err := s.Commit(t.Context(), k.prepared(s, 0)); err != nil || r.Outcome != sinks.Committed {
		t.Fatal(r, err)
	}
	before := k.state(topic)
	now = now.Add(time.Hour)
	if err := s.Maintain(t.Context(), now); err != nil || k.state(topic) != before {
		t.Errorf("after an hour: %v\n%s", err, k.state(topic))
	}
	now = now.Add(48 * time.Hour)
	if err := s.Maintain(t.Context(), now); err != nil || k.state(topic) == before {
		t.Errorf("after two days: %v", err)
	}
	if v, err := s.Visible(t.Context(), q); err != nil || v.Batch != 0 || v.Epoch != 3 || !v.HasDigest {
		t.Errorf("%+v, %v", v, err)
	}
	if r, err := s.Commit(t.Context(), k.prepared(s, 1)); err != nil || r.Outcome != sinks.Committed {
		t.Fatal(r, err)
	}
	if d := cmp.Diff([]int64{0, 1}, k.ids(topic)); d != "" {
		t.Error(d)
	}
}

func TestWithoutTransactionsNothingIsPromised(t *testing.T) {
	k := fake(t)
	topic := k.topic(1)
	c := k.config(topic)
	c.Mode = Idempotent
	s := k.sink(c)
	defer s.Close()
	if l := s.Guarantee(); l.Level != guarantee.AtLeastOnce || l.Remedy == "" {
		t.Errorf("%+v", l)
	}
	q := sinktest.Query("q", 1)
	newest := ident.Epoch(1)
	q.Newest = func(context.Context) (ident.Epoch, error) { return newest, nil }
	v, err := s.Visible(t.Context(), q)
	if err != nil || v.Keeps {
		t.Errorf("%+v, %v", v, err)
	}
	if err := errors.Join(s.Check(t.Context(), sinktest.Schema()), s.Fence(t.Context(), q), s.Recover(t.Context(), q, nil)); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Commit(t.Context(), k.prepared(s, 0)); err != nil || r.Outcome != sinks.Committed {
		t.Fatal(r, err)
	}
	p := k.prepared(s, 1)
	newest = 2
	if r, err := s.Commit(t.Context(), p); err != nil || r.Outcome != sinks.Fenced {
		t.Fatal(r, err)
	}
	if d := cmp.Diff([]int64{0, 1}, k.ids(topic)); d != "" { // what was written stays
		t.Error(d)
	}
}

func TestTheGuaranteeNamesTheReadersSetting(t *testing.T) {
	k := fake(t)
	c := k.config("t")
	c.CommitGroup, c.Positions = "g", func([]ident.Range) (map[string]map[int32]int64, error) { return nil, nil }
	s := k.sink(c)
	defer s.Close()
	l := s.Guarantee()
	if l.Level != guarantee.ExactlyOnce || !strings.Contains(l.Reason, "group g") || !strings.Contains(strings.Join(l.Readers, ""), "isolation.level=read_committed") || l.BatchLimit != time.Minute {
		t.Errorf("%+v", l)
	}
	if d := s.Describe(); d.Identity["topic"] != "t" || !s.Ordered() == (c.Key != "") {
		t.Errorf("%+v", d)
	}
}
