package kafka

import (
	"hash/crc32"
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"microbatch/internal/errcode"
)

// rawBatch is a record batch of n records from an offset, as a broker sends it, after spoil has changed it.
func rawBatch(first int64, n int, spoil func(*kmsg.RecordBatch)) []byte {
	b := kmsg.RecordBatch{FirstOffset: first, Magic: 2, LastOffsetDelta: int32(n - 1), NumRecords: int32(n), ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1}
	for i := range n {
		r := kmsg.Record{OffsetDelta: int32(i), Value: row(int(first) + i)}
		body := r.AppendTo(nil)
		r.Length = int32(len(body) - 1) // the length itself took one byte
		b.Records = r.AppendTo(b.Records)
	}
	raw := b.AppendTo(nil)
	b.Length = int32(len(raw) - lengthOverhead)
	raw = b.AppendTo(nil)
	b.CRC = int32(crc32.Checksum(raw[21:], crc32.MakeTable(crc32.Castagnoli)))
	if spoil != nil {
		spoil(&b)
	}
	return b.AppendTo(nil)
}

func TestAnswersAreMeasuredByTheirHeaders(t *testing.T) {
	raw := append(rawBatch(10, 5, nil), rawBatch(20, 5, nil)...)
	e, err := measure(raw, 12)
	if err != nil || e != (extent{bytes: len(raw), next: 25, records: 10}) {
		t.Errorf("%+v %v", e, err)
	}
	cut := raw[:len(raw)-3]
	e, err = measure(cut, 10)
	if err != nil || e.next != 15 || e.bytes != len(rawBatch(10, 5, nil)) || e.missing != len(rawBatch(20, 5, nil)) {
		t.Errorf("a broken batch at the end: %+v %v", e, err)
	}
	if _, err := measure(raw, 40); err == nil {
		t.Error("batches before the offset asked for pass")
	}
	before, rest := splitAt(raw, 22)
	if len(before) != len(raw) || len(rest) != len(rawBatch(20, 5, nil)) {
		t.Errorf("a batch that holds the offset is in both parts: %d, %d", len(before), len(rest))
	}
	before, rest = splitAt(raw, 17)
	if len(before)+len(rest) != len(raw) || len(before) != len(rawBatch(10, 5, nil)) {
		t.Errorf("an offset in a hole divides: %d, %d", len(before), len(rest))
	}
}

func TestDamagedBatchesAreRefusedAndNamed(t *testing.T) {
	s := &Source{config: Config{Isolation: ReadCommitted}, unpack: kgo.DefaultDecompressor()}
	good := rawBatch(0, 5, nil)
	for what, raw := range map[string][]byte{
		"bad CRC":              rawBatch(5, 5, func(b *kmsg.RecordBatch) { b.CRC++ }),
		"unknown codec":        rawBatch(5, 5, func(b *kmsg.RecordBatch) { b.Attributes = 7; resign(b) }),
		"unknown magic":        rawBatch(5, 5, func(b *kmsg.RecordBatch) { b.Magic = 9; resign(b) }),
		"a record too few":     rawBatch(5, 5, func(b *kmsg.RecordBatch) { b.NumRecords++; resign(b) }),
		"garbage for records":  rawBatch(5, 5, func(b *kmsg.RecordBatch) { b.Records = []byte{0xff, 0xff, 0xff}; relength(b) }),
		"negative count":       rawBatch(5, 5, func(b *kmsg.RecordBatch) { b.NumRecords = -1; resign(b) }),
		"negative last offset": rawBatch(5, 5, func(b *kmsg.RecordBatch) { b.LastOffsetDelta = -3; resign(b) }),
		"negative length":      rawBatch(5, 5, func(b *kmsg.RecordBatch) { b.Length = -100 }),
		"lz4 that is none":     rawBatch(5, 5, func(b *kmsg.RecordBatch) { b.Attributes = 3; resign(b) }),
	} {
		answer := kmsg.NewFetchResponseTopicPartition()
		answer.RecordBatches = append(append([]byte{}, good...), raw...)
		e, err := measure(answer.RecordBatches, 0)
		if err == nil {
			sl := &slab{name: partitionName{"orders", 0}, from: 0, to: e.next, answer: &answer, batches: e}
			_, err = s.parse(sl, nil)
			if !errcode.Has(err, errcode.KafkaCorruptBatch) || !Contains(err, "orders-0-") {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
}

func resign(b *kmsg.RecordBatch) {
	b.CRC = int32(crc32.Checksum(b.AppendTo(nil)[21:], crc32.MakeTable(crc32.Castagnoli)))
}

func relength(b *kmsg.RecordBatch) {
	b.Length = int32(len(b.AppendTo(nil)) - lengthOverhead)
	resign(b)
}
