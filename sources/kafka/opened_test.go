package kafka

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
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
