package kafka

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"microbatch/internal/errcode"
)

func TestMetadataColumnsKeepNullAndEmptyApartAndHeadersInOrder(t *testing.T) {
	k := newKit(t)
	k.topic("orders", 1)
	moment := time.UnixMilli(1700000000123).UTC()
	for _, r := range []*kgo.Record{
		{Key: nil, Value: []byte(`{"id":1}`), Timestamp: moment},
		{Key: []byte{}, Value: nil, Timestamp: time.UnixMilli(0)},
		{Key: []byte("k"), Value: []byte(`{"id":3}`), Timestamp: moment, Headers: []kgo.RecordHeader{{Key: "h", Value: []byte("1")}, {Key: "h", Value: nil}, {Key: "", Value: []byte{}}}},
		{Key: []byte("bad"), Value: []byte(`{"id":"x"}`), Timestamp: moment},
		{Key: []byte("empty"), Value: []byte{}, Timestamp: moment},
	} {
		r.Topic = "orders"
		if err := k.client.ProduceSync(t.Context(), r).FirstErr(); err != nil {
			t.Fatal(err)
		}
	}
	config := k.config("orders")
	config.Metadata = MetadataColumns()
	s := k.open(config)
	p := k.plan(s, "", 0)
	splits, err := s.Splits(t.Context(), "", p.To, p.Aux, 1)
	if err != nil {
		t.Fatal(err)
	}
	var rows, rejected []string
	for chunk, err := range splits[0].Records(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(chunk.Rows()) {
			var cells []string
			for _, c := range chunk.Record.Columns() {
				cells = append(cells, c.ValueStr(i))
			}
			rows = append(rows, strings.Join(cells, " "))
		}
		for _, r := range chunk.Rejected {
			rejected = append(rejected, r.Position+" "+string(r.Raw))
		}
		chunk.Release()
	}
	want := []string{
		`1 (null) orders 0 0 2023-11-14 22:13:20.123Z 0 (null) []`,
		`(null) (null) orders 0 1 1970-01-01 00:00:00Z 0  []`,
		`3 (null) orders 0 2 2023-11-14 22:13:20.123Z 0 aw== [{"key":"h","value":"MQ=="},{"key":"h","value":null},{"key":"","value":""}]`,
	}
	for i, r := range rows {
		rows[i] = strings.ReplaceAll(r, "T", " ")
	}
	if d := cmp.Diff(want, rows); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{`orders-0-3 {"id":"x"}`, `orders-0-4 `}, rejected); d != "" {
		t.Error(d)
	}
	if reached := splits[0].Reached(); reached.Rows != 5 || reached.Units[0].Covered != 5 || reached.Units[0].Name != "orders-0" {
		t.Errorf("reached %+v", reached)
	}
}

func TestMetadataColumnsMayBeNamedDifferentlyAndMustNotClash(t *testing.T) {
	k := newKit(t)
	k.topic("orders", 1)
	config := k.config("orders")
	config.Metadata, config.Prefix = []string{"offset", "topic"}, "kafka_"
	var names []string
	for _, f := range k.open(config).Schema().Fields() {
		names = append(names, f.Name)
	}
	if !slices.Equal(names, []string{"id", "name", "kafka_offset", "kafka_topic"}) {
		t.Error(names)
	}
	config.Metadata, config.Schema = []string{"offset", "offset"}, rowSchema
	if err := k.new(config).Open(t.Context(), k.own); !errcode.Has(err, errcode.KafkaOptions) {
		t.Error(err)
	}
}
