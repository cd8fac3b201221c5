package kafka

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	segmentio "github.com/segmentio/kafka-go"
)

func TestAForeignProducersRecordsAreReadAndAForeignReaderSeesTheSame(t *testing.T) {
	k := newKit(t)
	k.topic("orders", 1)
	w := &segmentio.Writer{Addr: segmentio.TCP(k.ListenAddrs()...), Topic: "orders", BatchTimeout: 5 * time.Millisecond, Compression: segmentio.Snappy}
	defer w.Close()
	var messages []segmentio.Message
	for i := range 300 {
		messages = append(messages, segmentio.Message{Key: []byte("k"), Value: row(i), Headers: []segmentio.Header{{Key: "h", Value: []byte("v")}}})
	}
	if err := w.WriteMessages(t.Context(), messages...); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Numbers(0, 300), readAll(k, k.open(k.config("orders")), "", 70)); d != "" {
		t.Error(d)
	}
	r := segmentio.NewReader(segmentio.ReaderConfig{Brokers: k.ListenAddrs(), Topic: "orders", Partition: 0, MaxWait: 50 * time.Millisecond})
	defer r.Close()
	for i := range 300 {
		m, err := r.ReadMessage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if m.Offset != int64(i) || !slices.Equal(m.Value, row(i)) {
			t.Fatalf("message %d is %d %s", i, m.Offset, m.Value)
		}
	}
}

func TestProgressIsShownToLagToolsAfterReleaseOnly(t *testing.T) {
	k := newKit(t)
	k.topic("orders", 1)
	k.produce("orders", 0, 0, 100)
	config := k.config("orders")
	config.GroupID = "lag"
	s := k.open(config)
	p := k.plan(s, "", 60)
	k.read(s, "", p)
	if lag, err := k.admin.FetchOffsets(t.Context(), "lag"); err == nil && len(lag) > 0 {
		t.Errorf("committed before Release: %v", lag)
	}
	if err := s.Release(t.Context(), p.To); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil { // which waits for the commit
		t.Fatal(err)
	}
	lag, err := k.admin.FetchOffsets(t.Context(), "lag")
	if o, ok := lag.Lookup("orders", 0); err != nil || !ok || o.At != 60 {
		t.Errorf("committed %v, %v", lag, err)
	}
	if len(k.Said()) > 0 {
		t.Error(k.Said())
	}
}
