package kafka

import (
	"bytes"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/s2"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// counting counts the batches that are decompressed.
type counting struct {
	kgo.Decompressor
	batches *int
}

func (c counting) Decompress(src []byte, codec kgo.CompressionCodecType) ([]byte, error) {
	*c.batches++
	return c.Decompressor.Decompress(src, codec)
}

// TestABatchOfManyRangesIsParsedOnce: producers send 100 records in a batch, ranges have 7 or 130. Where nothing may be kept, each part is parsed anew, with the same records.
func TestABatchOfManyRangesIsParsedOnce(t *testing.T) {
	for _, c := range []struct {
		rows, buffer int64
		most         int // batches parsed
	}{{7, 0, 10}, {130, 0, 10}, {7, 1, 1000}, {130, 1, 1000}} {
		k := newKit(t)
		k.topic("orders", 2)
		k.produce("orders", 0, 0, 500)
		k.produce("orders", 1, 500, 1000)
		config := k.config("orders")
		config.BufferBytes = c.buffer
		s := k.open(config)
		parsed := 0
		s.unpack = counting{s.unpack, &parsed}
		have := readAll(k, s, "", c.rows)
		slices.Sort(have)
		if d := cmp.Diff(Numbers(0, 1000), have); d != "" {
			t.Errorf("%+v: %s", c, d)
		}
		if parsed > c.most {
			t.Errorf("%+v: %d batches were parsed", c, parsed)
		}
		if s.shelf.bytes > config.BufferBytes/2 && config.BufferBytes > 0 {
			t.Errorf("%+v: %d bytes are kept", c, s.shelf.bytes)
		}
	}
}

// TestBatchesAreDecompressedIntoTheSameMemory: of one reader, slab after slab; what was handed out is not written over before.
func TestBatchesAreDecompressedIntoTheSameMemory(t *testing.T) {
	s := &Source{config: Config{Isolation: ReadCommitted}}
	cl, err := newClient(Config{Brokers: []string{"nowhere:9092"}, MaxDecompressed: 1 << 20}, kgo.WithPools(&s.scratch))
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	s.unpack = cl.OptValue(kgo.WithDecompressor).(kgo.Decompressor)
	snappy := func(first int64) *slab {
		answer := kmsg.NewFetchResponseTopicPartition()
		for i := range int64(2) { // two batches in a slab
			answer.RecordBatches = append(answer.RecordBatches, rawBatch(first+10*i, 10, func(b *kmsg.RecordBatch) {
				b.Attributes, b.Records = 2, s2.EncodeSnappy(nil, b.Records)
				relength(b)
			})...)
		}
		e, err := measure(answer.RecordBatches, first)
		if err != nil {
			t.Fatal(err)
		}
		return &slab{name: partitionName{"orders", 0}, from: first, to: e.next, answer: &answer, begin: first, batches: e}
	}
	var a arena
	seen := map[*byte]bool{}
	for i := range int64(10) {
		records, err := s.parse(snappy(20*i), &a)
		if err != nil || len(records) != 20 {
			t.Fatal(len(records), err)
		}
		for n, r := range records {
			if want := row(int(20*i) + n); !bytes.Equal(r.Value, want) {
				t.Fatalf("record %d is %s, not %s", r.Offset, r.Value, want)
			}
		}
		seen[&records[0].Value[0]], seen[&records[10].Value[0]] = true, true
	}
	if len(seen) > 8 { // where a value begins in its piece varies
		t.Errorf("%d pieces of memory for 20 batches", len(seen))
	}
}
