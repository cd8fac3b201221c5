package kafka

import (
	"encoding/binary"
	"encoding/json"
	"hash/crc32"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/internal/heap"
)

// FuzzAnswers: whatever a broker sends, measuring, cutting and decoding it neither panics nor hands out a record twice, in memory bounded by the limit of
// one decompressed batch.
func FuzzAnswers(f *testing.F) {
	f.Add(append(rawBatch(10, 5, nil), rawBatch(20, 5, nil)...), int64(12), int64(17))
	f.Add(rawBatch(0, 1, nil), int64(0), int64(1))
	f.Add(rawBatch(0, 5, func(b *kmsg.RecordBatch) { b.NumRecords = 1<<31 - 1; resign(b) }), int64(0), int64(1))
	for codec := range int16(5) {
		f.Add(rawBatch(0, 5, func(b *kmsg.RecordBatch) { b.Attributes = codec; resign(b) }), int64(0), int64(3))
	}
	const limit = 1 << 20
	cl, err := newClient(Config{Brokers: []string{"nowhere:9092"}, MaxDecompressed: limit})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(cl.Close)
	s := &Source{config: Config{Isolation: ReadCommitted, BufferBytes: limit}, unpack: cl.OptValue(kgo.WithDecompressor).(kgo.Decompressor)}
	f.Fuzz(func(t *testing.T, raw []byte, from, at int64) {
		from &= 1<<40 - 1
		e, err := measure(raw, from)
		if err != nil || e.bytes == 0 {
			return
		}
		if e.bytes > 21 { // CRCs are of no interest here
			binary.BigEndian.PutUint32(raw[17:], crc32.Checksum(raw[21:e.bytes], crc32.MakeTable(crc32.Castagnoli)))
		}
		answer := kmsg.NewFetchResponseTopicPartition()
		answer.RecordBatches = raw[:e.bytes]
		sl := &slab{name: partitionName{"t", 0}, from: from, to: e.next, answer: &answer, begin: from, batches: e}
		var parts []*slab
		for ends := []int64{at, at + 1, at + 1<<16}; len(ends) > 0; ends = ends[1:] {
			for sl.from < ends[0] && ends[0] < e.next {
				parts = append(parts, sl.cut(ends[0]))
			}
		}
		parts = append(parts, sl)
		heap.AtMost(t, 64*limit+1000*int64(len(raw)), "an answer", func() {
			last := from - 1
			for _, p := range parts {
				records, err := s.parse(p, nil)
				if err != nil {
					return
				}
				for _, r := range records {
					if r.Offset <= last && r.Offset < p.from {
						t.Fatalf("record %d after %d", r.Offset, last)
					}
					last = r.Offset
				}
			}
		})
	})
}

// FuzzPosition: an offset of a checkpoint is refused with a code, or its canonical text is JSON that is read as the same position.
func FuzzPosition(f *testing.F) {
	for _, seed := range []string{
		`{"events":{"0":120,"1":98}}`, `{"t":{"10":1,"9":2}}`, `{}`, `null`, `{"t":null}`, `{"t":{"-1":5}}`, `{"t":{"0":-1}}`, `{"t":{"2147483648":1}}`, `{"t":{"0":1e3}}`, `{"t":{"0":1},"t":{"1":2}}`,
		`{"\u0000\n\"\u2028":{"0":1}}`, `{"é\ud800":{"00":1}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, given string) {
		p, err := parsePosition(ident.Offset(given))
		if err != nil {
			if !errcode.Has(err, errcode.KafkaOffsetUnreadable) {
				t.Error(err)
			}
			return
		}
		own := text(p)
		if !json.Valid([]byte(own)) {
			t.Fatalf("%q is written as %q, which is no JSON", given, own)
		}
		again, err := parsePosition(own)
		if err != nil || text(again) != own {
			t.Fatalf("%q is written as %q, and then as %q, %v", given, own, text(again), err)
		}
	})
}
