package kafka

import (
	"bytes"
	"fmt"
	"math"
	"math/rand"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// text is a record for comparing.
func text(key, value []byte, headers []Header) string {
	out := fmt.Sprintf("%q %v %q %v", key, key == nil, value, value == nil)
	for _, h := range headers {
		out += fmt.Sprintf(" %q=%q %v", h.Key, h.Value, h.Value == nil)
	}
	return out
}

func randomBytes(rng *rand.Rand) []byte {
	switch rng.Intn(8) {
	case 0:
		return nil
	case 1:
		return []byte{}
	case 2:
		return bytes.Repeat([]byte("long "), rng.Intn(2000))
	}
	return fmt.Appendf(nil, "%d", rng.Intn(1000))
}

// TestTheLibraryReadsWhatIsPacked: blocks of all codecs and of any records come back as they were, and none is larger than the limit.
func TestTheLibraryReadsWhatIsPacked(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for _, compression := range Compressions() {
		compressor, err := kgo.DefaultCompressor(codecOf(compression))
		if err != nil {
			t.Fatal(err)
		}
		for _, transactional := range []bool{true, false} {
			var blocks []byte
			var want []string
			var p packer
			now := time.UnixMilli(1_700_000_000_123)
			limit := 40_000
			sequence := int32(0)
			flush := func() {
				records := len(p.raw)
				b := p.pack(compressor, transactional, now)
				if len(b.bytes) > limit || len(b.bytes) > records+blockHeader {
					t.Fatalf("%s: a block of %d bytes", compression, len(b.bytes))
				}
				b.stamp(77, 3, sequence)
				copy(b.bytes, []byte{0, 0, 0, 0, 0, 0, byte(sequence >> 8), byte(sequence)}) // the offset, as the broker sets it
				sequence = sequenceAfter(sequence, b.count)
				blocks = append(blocks, b.bytes...)
			}
			for range 2000 {
				r := Record{Key: randomBytes(rng), Value: randomBytes(rng)}
				for range rng.Intn(3) * rng.Intn(2) {
					r.Headers = append(r.Headers, Header{Key: string(randomBytes(rng)), Value: randomBytes(rng)})
				}
				for !p.add(&r, limit) {
					if p.count == 0 {
						r = Record{Value: []byte("small")}
						continue
					}
					flush()
				}
				want = append(want, text(r.Key, r.Value, r.Headers))
			}
			flush()
			answer := kmsg.NewFetchResponseTopicPartition()
			answer.HighWatermark, answer.LastStableOffset, answer.RecordBatches = int64(sequence), int64(sequence), blocks
			found, next := kgo.ProcessFetchPartition(kgo.ProcessFetchPartitionOpts{Topic: "t", IsolationLevel: kgo.ReadUncommitted()}, &answer, kgo.DefaultDecompressor(), nil)
			if found.Err != nil || next != int64(sequence) {
				t.Fatalf("%s: %v, up to %d of %d", compression, found.Err, next, sequence)
			}
			var got []string
			for _, r := range found.Records {
				var headers []Header
				for _, h := range r.Headers {
					headers = append(headers, Header{h.Key, h.Value})
				}
				got = append(got, text(r.Key, r.Value, headers))
				if r.ProducerID != 77 || r.ProducerEpoch != 3 || r.Attrs.IsTransactional() != transactional || !r.Timestamp.Equal(now) {
					t.Fatalf("%s: %+v", compression, r)
				}
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("%s: %s", compression, d)
			}
		}
	}
}

func TestRecordsThatDoNotFitAreNotAdded(t *testing.T) {
	for size := range 300 {
		r := Record{Value: make([]byte, size)}
		var p packer
		limit := 0
		for !p.add(&r, limit) {
			if len(p.raw) != 0 || p.count != 0 {
				t.Fatal("something was added")
			}
			limit++
		}
		if len(p.raw)+blockHeader != limit {
			t.Errorf("a record of %d bytes takes %d, and was refused below %d", size, len(p.raw), limit-blockHeader)
		}
	}
}

func TestNumbersGoOnAtZero(t *testing.T) {
	for _, c := range []struct{ sequence, records, want int32 }{{0, 5, 5}, {math.MaxInt32 - 1, 1, math.MaxInt32}, {math.MaxInt32, 1, 0}, {math.MaxInt32 - 2, 10, 7}} {
		if got := sequenceAfter(c.sequence, c.records); got != c.want {
			t.Errorf("%d and %d: %d, want %d", c.sequence, c.records, got, c.want)
		}
	}
}

func TestPackingAllocatesABlockAlone(t *testing.T) {
	compressor, _ := kgo.DefaultCompressor(kgo.SnappyCompression())
	r := Record{Value: bytes.Repeat([]byte("value "), 30)}
	var p packer
	allocations := testing.AllocsPerRun(20, func() {
		for range 100 {
			p.add(&r, 1<<20)
		}
		p.pack(compressor, true, time.Time{})
	})
	if allocations > 4 {
		t.Errorf("%v allocations for a hundred records", allocations)
	}
}
