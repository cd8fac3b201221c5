package kafka

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"microbatch/codec/json"
	"microbatch/internal/errcode"
	"microbatch/objstore/mem"
	"microbatch/sources"
)

func TestStartEarliestLatestTimestampExplicit(t *testing.T) {
	k := newKit(t)
	k.topic("orders", 2)
	k.produce("orders", 0, 0, 10)
	time.Sleep(5 * time.Millisecond) // the records' timestamps come from the wall clock
	moment := time.Now()
	k.produce("orders", 0, 10, 30)
	for _, c := range []struct {
		name  string
		start Start
		want  string
	}{
		{"earliest", Start{}, `{"orders":{"0":0,"1":0}}`},
		{"latest", Start{Latest: true}, `{"orders":{"0":30,"1":0}}`},
		{"timestamp", Start{Timestamp: moment}, `{"orders":{"0":10,"1":0}}`},
		{"timestamp after all", Start{Timestamp: moment.Add(time.Hour)}, `{"orders":{"0":30,"1":0}}`},
		{"explicit", Start{Offsets: map[string]map[int32]int64{"orders": {0: 7, 1: -2}}}, `{"orders":{"0":7,"1":0}}`},
		{"explicit latest", Start{Offsets: map[string]map[int32]int64{"orders": {0: -1, 1: 0}}}, `{"orders":{"0":30,"1":0}}`},
	} {
		k.own = mem.New()
		config := k.config("orders")
		config.Start = c.start
		k.open(config)
		data, err := k.own.Get(t.Context(), "0")
		if err != nil || string(data) != "\x00v1\n"+c.want {
			t.Errorf("%s: pinned %q (%v), want %s", c.name, data, err, c.want)
		}
	}
	for _, offsets := range []map[string]map[int32]int64{
		{"orders": {0: 7}},
		{"orders": {0: 7, 1: 0, 2: 0}},
		{"orders": {0: 31, 1: 0}},
		{"orders": {0: 7, 1: 0}, "other": {0: 0}},
	} {
		config := k.config("orders")
		config.Start = Start{Offsets: offsets}
		s := k.new(config)
		if err := s.Open(t.Context(), mem.New()); !errcode.Has(err, errcode.KafkaBadStart) {
			t.Errorf("start %v: %v", offsets, err)
		}
	}
}

func TestThePinnedStartCountsWhateverIsConfiguredLater(t *testing.T) {
	k := newKit(t)
	k.topic("orders", 1)
	config := k.config("orders")
	config.Start = Start{Latest: true}
	k.open(config)
	k.produce("orders", 0, 0, 10)
	s := k.open(config) // "latest" would now be 10
	if have := k.read(s, "", k.plan(s, "", 0)); len(have) != 10 {
		t.Errorf("%d of the rows that came after the first start", len(have))
	}
	late := k.new(config) // resolved before another driver pinned, pinned after it
	own := mem.New()
	if err := late.Open(t.Context(), own); err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	if err := own.PutIfAbsent(t.Context(), "0", []byte("\x00v1\n{\"orders\":{\"0\":4}}")); err != nil {
		t.Fatal(err)
	}
	if err := late.Pin(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p := k.plan(late, "", 0); p.Rows != 6 {
		t.Errorf("%d rows from the position that another driver has pinned at 4 of 10", p.Rows)
	}
}

func TestNewPartitionsAndTopicsBeginAtTheirFirstOffset(t *testing.T) {
	k := newKit(t)
	k.topic("orders-a", 1)
	k.produce("orders-a", 0, 0, 10)
	config := k.config()
	config.Topics, config.Pattern, config.Start = nil, "orders-.*", Start{Latest: true}
	s := k.open(config)
	first := k.plan(s, "", 0)
	if first.Rows != 0 {
		t.Fatalf("%d rows though the start is latest", first.Rows)
	}
	if _, err := k.admin.CreatePartitions(t.Context(), 1, "orders-a"); err != nil {
		t.Fatal(err)
	}
	k.topic("orders-b", 1)
	k.topic("my-orders-c", 1) // the pattern matches whole names only
	fresh := k.newClient()
	k.produceWith(fresh, "orders-a", 1, 100, 110)
	k.produceWith(fresh, "orders-b", 0, 200, 210)
	k.produceWith(fresh, "my-orders-c", 0, 300, 310)
	p := k.plan(s, "", 0)
	if p.To != `{"orders-a":{"0":10,"1":10},"orders-b":{"0":10}}` || p.Aux[auxStarts] != `{"orders-a":{"1":0},"orders-b":{"0":0}}` {
		t.Fatalf("plan %v", p)
	}
	want := append(Numbers(100, 110), Numbers(200, 210)...)
	if d := cmp.Diff(want, k.read(s, "", p)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(want, k.read(k.open(config), "", sources.Planned{To: p.To})); d != "" {
		t.Errorf("a range planned by Spark, which says nothing of starts: %s", d)
	}
}

func TestSchemaIsInferredFromTheFirstMessagesAndPinned(t *testing.T) {
	k := newKit(t)
	k.topic("orders", 2)
	config := k.config("orders")
	config.Schema = nil
	if err := k.new(config).Open(t.Context(), k.own); !errcode.Has(err, errcode.KafkaNothingToInfer) {
		t.Errorf("an empty topic: %v", err)
	}
	k.produce("orders", 1, 0, 10)
	s := k.open(config)
	if !s.Schema().Equal(rowSchema) {
		t.Fatalf("inferred %s", s.Schema())
	}
	data, err := k.own.Get(t.Context(), "schema")
	if err != nil || string(data[:30]) != `v1`+"\n"+`{"ddl":"id BIGINT, name STR` {
		t.Errorf("pinned %q, %v", data, err)
	}
	if err := k.client.ProduceSync(t.Context(), &kgo.Record{Topic: "orders", Value: []byte(`{"id":"now a text","more":1}`)}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	again := k.open(config)
	if !again.Schema().Equal(rowSchema) {
		t.Errorf("after a restart the schema is %s", again.Schema())
	}
	config.Start, k.own = Start{Latest: true}, mem.New()
	if latest := k.open(config); len(latest.Schema().Fields()) != 3 {
		t.Errorf("with nothing to come, what is there already is looked at: %s", latest.Schema())
	}
}

func TestMissingTopicIsAnErrorAtOnce(t *testing.T) {
	k := newKit(t)
	k.topic("orders", 1)
	s := k.new(k.config("orders", "payments"))
	err := s.Open(t.Context(), k.own)
	if !errcode.Has(err, errcode.KafkaTopicMissing) || errcode.ClassOf(err) != errcode.Config {
		t.Error(err)
	}
	config := k.config()
	config.Pattern = "pay.*"
	if err := k.new(config).Open(t.Context(), k.own); !errcode.Has(err, errcode.KafkaTopicMissing) {
		t.Error(err)
	}
}

func TestConfigurationFaultsAreAllNamedAtOnce(t *testing.T) {
	_, err := New(Config{Pattern: "a(", Topics: []string{"x", "x"}, Isolation: "dirty", OnDataLoss: "cry", Metadata: []string{"size"},
		TLS: &TLS{Cert: "c.pem"}, SASL: &SASL{Mechanism: "GSSAPI"}, Start: Start{Latest: true, Timestamp: time.Now()}, Format: json.New(json.Options{})})
	if !errcode.Has(err, errcode.KafkaOptions) {
		t.Fatal(err)
	}
	for _, word := range []string{"brokers", "exactly one of topics and pattern", "named twice", "missing closing", "dirty", "cry", "size", "cert and key", "GSSAPI", "user and password", "start: only one"} {
		if !Contains(err, word) {
			t.Errorf("nothing said of %s in: %v", word, err)
		}
	}
}

func TestOpenMayBeCalledAgainAfterItFailed(t *testing.T) {
	k := newKit(t)
	config := k.config("orders")
	s := k.new(config)
	if err := s.Open(t.Context(), k.own); err == nil {
		t.Fatal("there is no topic yet")
	}
	k.topic("orders", 1)
	k.produce("orders", 0, 0, 10)
	if err := s.Open(t.Context(), k.own); err != nil {
		t.Fatal(err)
	}
	if n := len(readAll(k, s, "", 3)); n != 10 {
		t.Errorf("%d rows", n)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestThousandsOfPartitionsArePlannedAndReadFairly(t *testing.T) {
	k := newKit(t)
	const partitions = 2000
	k.topic("orders", partitions)
	var records []*kgo.Record
	for p := range int32(partitions) {
		records = append(records, &kgo.Record{Topic: "orders", Partition: p, Value: row(int(p))})
	}
	if err := k.client.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	k.produce("orders", 7, 10_000, 12_000) // one is hotter
	s := k.open(k.config("orders"))
	p := k.plan(s, "", 1000)
	if p.Rows < partitions || p.Rows > 3000 { // each of them gets its turn
		t.Fatalf("%d rows planned", p.Rows)
	}
	if n := len(k.read(s, "", p)); int64(n) != p.Rows {
		t.Errorf("%d rows of %d", n, p.Rows)
	}
}
