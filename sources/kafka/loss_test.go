package kafka

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/sources"
)

func TestRetentionLossStopsWithTheExactRange(t *testing.T) {
	k := newKit(t)
	k.topic("orders", 1)
	k.produce("orders", 0, 0, 300)
	s := k.open(k.config("orders"))
	from := k.plan(s, "", 50).To
	if err := k.DeleteRecords("orders", 0, 200); err != nil {
		t.Fatal(err)
	}
	_, err := s.Plan(t.Context(), from, sources.Limit{})
	if !errcode.Has(err, errcode.KafkaDataLost) || !Contains(err, "orders-0: ") || !Contains(err, "[50, 200)") {
		t.Error(err)
	}
}

func TestRetentionLossIsSkippedWithANoticeAndCovered(t *testing.T) {
	k := newKit(t)
	k.topic("orders", 1)
	k.produce("orders", 0, 0, 300)
	config := k.config("orders")
	config.OnDataLoss = Skip
	s := k.open(config)
	from := k.plan(s, "", 50).To
	k.read(s, "", k.plan(s, "", 50)) // the feed has fetched ahead, what is lost too
	if err := k.DeleteRecords("orders", 0, 200); err != nil {
		t.Fatal(err)
	}
	p := k.plan(s, from, 0)
	if p.Rows != 100 || p.Aux[auxLost] != `{"orders":{"0":[50,200]}}` || !k.Noticed("orders-0", "[50, 200)", "150") {
		t.Fatalf("%+v, notices %q", p, k.Said())
	}
	if d := cmp.Diff(Numbers(200, 300), k.read(s, from, p)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(Numbers(200, 300), k.read(k.open(config), from, p)); d != "" {
		t.Errorf("rerun: %s", d)
	}
	if err := k.DeleteRecords("orders", 0, 300); err != nil {
		t.Fatal(err)
	}
	if p := k.plan(s, from, 0); p.To != `{"orders":{"0":300}}` || p.Rows != 0 || len(k.read(s, from, p)) != 0 {
		t.Errorf("with nothing left the range is still covered: %+v", p)
	}
}

func TestAPlannedRangeThatIsGoneCannotBeReproduced(t *testing.T) {
	k := newKit(t)
	k.topic("orders", 1)
	k.produce("orders", 0, 0, 300)
	config := k.config("orders")
	p := k.plan(k.open(config), "", 0)
	if err := k.DeleteRecords("orders", 0, 100); err != nil {
		t.Fatal(err)
	}
	_, err := k.tryRead(t.Context(), k.open(config), "", p) // after a crash
	if !errcode.Has(err, errcode.KafkaRangeLost) || !Contains(err, "[0, 100)") || !strings.Contains(errcode.Detail(err), "on_data_loss: skip") {
		t.Error(errcode.Detail(err))
	}
	config.OnDataLoss = Skip // the remedy
	if d := cmp.Diff(Numbers(100, 300), k.read(k.open(config), "", p)); d != "" || !k.Noticed("[0, 100)") {
		t.Error(d, k.Said())
	}
}

func TestTopicCreatedAgainIsNoticedEvenWithLargerOffsets(t *testing.T) {
	k := newKit(t)
	k.topic("orders", 1)
	k.produce("orders", 0, 0, 100)
	s := k.open(k.config("orders"))
	p := k.plan(s, "", 50)
	before := s.Describe().Learned
	if err := k.DeleteTopic("orders"); err != nil {
		t.Fatal(err)
	}
	k.topic("orders", 1)
	k.produceWith(k.newClient(), "orders", 0, 0, 500)
	for what, try := range map[string]func() error{
		"plan":  func() error { _, err := s.Plan(t.Context(), p.To, sources.Limit{}); return err },
		"read":  func() error { _, err := k.tryRead(t.Context(), s, "", p); return err },
		"rerun": func() error { _, err := k.tryRead(t.Context(), k.open(k.config("orders")), "", p); return err },
	} {
		if err := try(); !errcode.Has(err, errcode.KafkaTopicRecreated) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if after := k.open(k.config("orders")).Describe().Learned; cmp.Equal(before, after) {
		t.Errorf("what was learned of the former topic equals that of the new one: %v", after)
	}
}

func TestTopicCreatedAgainWhileItIsFetched(t *testing.T) {
	k := newKit(t)
	k.topic("orders", 1)
	k.produce("orders", 0, 0, 100)
	s := k.open(k.config("orders"))
	p := k.plan(s, "", 0)
	if err := k.DeleteTopic("orders"); err != nil {
		t.Fatal(err)
	}
	k.topic("orders", 1)
	_, err := k.tryRead(t.Context(), s, "", p)
	if !errcode.Has(err, errcode.KafkaTopicRecreated) {
		t.Error(err)
	}
}

// rewriteMetadata changes the answers to metadata requests for ever.
func (k *kit) rewrite(key kmsg.Key, times int, answer func(kmsg.Request) kmsg.Response) {
	n := 0
	k.ControlKey(int16(key), func(req kmsg.Request) (kmsg.Response, error, bool) {
		if n++; n > times {
			return nil, nil, false
		}
		k.KeepControl()
		resp := answer(req)
		return resp, nil, resp != nil
	})
}

func TestPartitionsThatVanishFromTheMetadataAreNeverNew(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer func(*kmsg.MetadataResponse)
	}{
		{"topic without partitions", func(r *kmsg.MetadataResponse) {
			t := kmsg.NewMetadataResponseTopic()
			t.Topic = kmsg.StringPtr("orders")
			r.Topics = append(r.Topics, t)
		}},
		{"no topics at all", func(*kmsg.MetadataResponse) {}},
		{"one partition of two", func(r *kmsg.MetadataResponse) {
			t, p := kmsg.NewMetadataResponseTopic(), kmsg.NewMetadataResponseTopicPartition()
			t.Topic = kmsg.StringPtr("orders")
			t.Partitions = append(t.Partitions, p)
			r.Topics = append(r.Topics, t)
		}},
	} {
		k := newKit(t)
		k.topic("orders", 2)
		k.produce("orders", 0, 0, 10)
		config := k.config()
		config.Pattern = "orders"
		s := k.open(config)
		from := k.plan(s, "", 0).To
		addr := k.ListenAddrs()[0]
		broken := func(req kmsg.Request) kmsg.Response {
			resp := req.ResponseKind().(*kmsg.MetadataResponse)
			host, port, _ := strings.Cut(addr, ":")
			b := kmsg.NewMetadataResponseBroker()
			b.Host, b.Port = host, int32(atoi(port))
			resp.Brokers = append(resp.Brokers, b)
			c.answer(resp)
			return resp
		}
		k.rewrite(kmsg.Metadata, 2, broken)
		if p := k.plan(s, from, 0); p.To != from {
			t.Errorf("%s for a moment: %s", c.name, p.To)
		}
		k.rewrite(kmsg.Metadata, 1000, broken)
		if _, err := s.Plan(t.Context(), from, sources.Limit{}); !errcode.Has(err, errcode.KafkaPartitionVanished) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func atoi(s string) (n int) {
	for _, c := range s {
		n = n*10 + int(c-'0')
	}
	return n
}

func TestAnEndBeforeThePositionIsAskedForAgainAndThenATruncation(t *testing.T) {
	k := newKit(t)
	k.topic("orders", 1)
	k.produce("orders", 0, 0, 100)
	s := k.open(k.config("orders"))
	from := k.plan(s, "", 0).To
	lie := func(req kmsg.Request) kmsg.Response {
		r := req.(*kmsg.ListOffsetsRequest)
		if r.Topics[0].Partitions[0].Timestamp != atLatest {
			return nil
		}
		resp := req.ResponseKind().(*kmsg.ListOffsetsResponse)
		rt, rp := kmsg.NewListOffsetsResponseTopic(), kmsg.NewListOffsetsResponseTopicPartition()
		rt.Topic, rp.Offset = "orders", 60
		rt.Partitions = append(rt.Partitions, rp)
		resp.Topics = append(resp.Topics, rt)
		return resp
	}
	k.rewrite(kmsg.ListOffsets, 2, lie)
	if p := k.plan(s, from, 0); p.To != from {
		t.Errorf("a passing lie: %s", p.To)
	}
	k.rewrite(kmsg.ListOffsets, 1000, lie)
	_, err := s.Plan(t.Context(), from, sources.Limit{})
	if !errcode.Has(err, errcode.KafkaTruncated) || !Contains(err, "ends at offset 60, but it was read up to 100") {
		t.Error(err)
	}
}

func TestALogThatWasCutAndHasGrownAgainIsNoticedByItsLeaderEpoch(t *testing.T) {
	k := newKit(t)
	k.topic("orders", 1)
	k.produce("orders", 0, 0, 100)
	s := k.open(k.config("orders"))
	p := k.plan(s, "", 0)
	k.read(s, "", p)
	k.ShufflePartitionLeaders() // an election
	k.produce("orders", 0, 100, 200)
	if _, err := s.Plan(t.Context(), p.To, sources.Limit{}); err != nil {
		t.Fatalf("an election that lost nothing: %v", err)
	}
	k.rewrite(kmsg.OffsetForLeaderEpoch, 1000, func(req kmsg.Request) kmsg.Response {
		resp := req.ResponseKind().(*kmsg.OffsetForLeaderEpochResponse)
		rt, rp := kmsg.NewOffsetForLeaderEpochResponseTopic(), kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
		rt.Topic, rp.EndOffset = "orders", 80
		rt.Partitions = append(rt.Partitions, rp)
		resp.Topics = append(resp.Topics, rt)
		return resp
	})
	_, err := s.Plan(t.Context(), p.To, sources.Limit{})
	if !errcode.Has(err, errcode.KafkaTruncated) || !Contains(err, "ends at offset 80, but it was read up to 100") {
		t.Errorf("plan: %v", err)
	}
	_, err = k.tryRead(t.Context(), k.open(k.config("orders")), "", p)
	if !errcode.Has(err, errcode.KafkaTruncated) {
		t.Errorf("rerun of a pending range: %v", err)
	}
	_, err = k.open(k.config("orders")).Splits(t.Context(), p.To, p.To, p.Aux, 1)
	if !errcode.Has(err, errcode.KafkaTruncated) {
		t.Errorf("the empty range at the end of the last batch, after a restart: %v", err)
	}
}

func TestAHangingTransactionIsNamedAndNothingSpins(t *testing.T) {
	k := newKit(t)
	k.topic("orders", 1)
	k.produce("orders", 0, 0, 10)
	cl := k.newClient(kgo.TransactionalID("hangs"))
	if err := cl.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	k.produceWith(cl, "orders", 0, 10, 20)
	k.produce("orders", 0, 20, 30)
	s := k.open(k.config("orders"))
	now := time.Now()
	s.now = func() time.Time { return now }
	p := k.plan(s, "", 0)
	if d := cmp.Diff(Numbers(0, 10), k.read(s, "", p)); d != "" {
		t.Errorf("planned past the last stable offset: %s", d)
	}
	var asked atomic.Int32
	k.ControlKey(int16(kmsg.Fetch), func(kmsg.Request) (kmsg.Response, error, bool) { asked.Add(1); return nil, nil, false })
	for range 10 {
		now = now.Add(stallCheck)
		if q := k.plan(s, p.To, 0); q.To != p.To {
			t.Fatalf("plan %s", q.To)
		}
	}
	if !k.Noticed("orders-0", "stable offset at 10", "20 records", "producer id") {
		t.Errorf("notices %q", k.Said())
	}
	if len(k.Said()) != 1 || asked.Load() > 0 {
		t.Errorf("%d notices, %d fetches", len(k.Said()), asked.Load())
	}
	if err := cl.EndTransaction(t.Context(), kgo.TryAbort); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Numbers(20, 30), k.read(s, p.To, k.plan(s, p.To, 0))); d != "" {
		t.Error(d)
	}
}

func readAll(k *kit, s *Source, from ident.Offset, rows int64) (ids []int) {
	ctx, cancel := context.WithTimeout(k.Context(), 20*time.Second)
	defer cancel()
	for {
		p := k.plan(s, from, rows)
		if p.To == from {
			return ids
		}
		got, err := k.tryRead(ctx, s, from, p)
		if err != nil {
			k.Fatal(err)
		}
		ids = append(ids, got...)
		from = p.To
	}
}
