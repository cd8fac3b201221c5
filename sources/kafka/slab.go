package kafka

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"microbatch/internal/bugs"
	"microbatch/internal/errcode"
)

// slab is a run of batches of one partition as the broker sent them, or a stretch without any: a hole, or what was lost.
type slab struct {
	name     partitionName
	from, to int64 // the offsets that it covers

	answer  *kmsg.FetchResponseTopicPartition // nil: a stretch without records
	begin   int64                             // where the batches of the answer are read from; before from if a part was handed out already
	batches extent                            // what they cover
	opened  *opened                           // the first batch, if others have, or had, a part of it; else nil
}

func (sl *slab) bytes() int64 {
	if sl.answer == nil {
		return 0
	}
	return int64(len(sl.answer.RecordBatches))
}

// cut takes the offsets before at off the slab or, if a batch holds at and others precede it, first what these cover: a batch of which others get a part comes
// alone. What remains has whole batches of its own, unless transactions were aborted in the slab: which records are hidden follows from the markers before them, so
// that then both parts are read from the beginning.
func (sl *slab) cut(at int64) *slab {
	head := *sl
	head.to, sl.from = at, at
	if sl.answer == nil || len(sl.answer.AbortedTransactions) > 0 || sl.batches.records < 0 {
		return &head
	}
	before, rest := splitAt(sl.answer.RecordBatches, at)
	sl.opened = nil
	switch shared := len(before) + len(rest) - len(sl.answer.RecordBatches); {
	case shared == 0: // at lies between two batches
	case shared == len(before):
		head.open(shared)
		sl.opened = head.opened
	case firstOffset(rest) > head.from:
		at = firstOffset(rest)
		head.to, sl.from, before = at, at, before[:len(before)-shared]
	}
	head.narrow(before, head.begin)
	sl.narrow(rest, at)
	return &head
}

// narrow makes b, a part of the answer's batches, all that the slab has.
func (sl *slab) narrow(b []byte, begin int64) {
	if len(b) == 0 {
		sl.answer = nil
		return
	}
	e, err := measure(b, begin)
	if err != nil {
		return // nonsense that only shows in parts: all of it is read, and verify decides
	}
	part := *sl.answer
	part.RecordBatches = b
	sl.answer, sl.begin, sl.batches = &part, begin, e
}

// parse decompresses a slab and finds the records in it, those that the slab covers. They live in arena, if there is one, and in the slab's memory.
func (s *Source) parse(sl *slab, arena *arena) ([]*kgo.Record, error) {
	if sl.answer == nil {
		return nil, nil
	}
	if sl.opened != nil && sl.to <= sl.opened.whole.to {
		return sl.opened.of(sl, s)
	}
	o := kgo.ProcessFetchPartitionOpts{Offset: sl.begin, Topic: sl.name.topic, Partition: sl.name.partition, IsolationLevel: kgo.ReadUncommitted()}
	if s.config.Isolation == ReadCommitted {
		o.IsolationLevel = kgo.ReadCommitted()
	}
	unpack := s.unpack
	if arena != nil {
		arena.reset(&s.scratch)
		o.Pools, unpack = []kgo.Pool{arena}, unpacker{s.unpack, arena}
	}
	decoded := 0
	found, next := kgo.ProcessFetchPartition(o, sl.answer, unpack, func(m kgo.FetchBatchMetrics) { decoded += m.NumRecords })
	if found.Err == nil && next < sl.batches.next {
		found.Err = s.reason(sl, o, next) // the library keeps silent about a batch that does not decompress, behind others that do
	}
	if err := sl.verify(found.Err, next, decoded); err != nil {
		return nil, err
	}
	return sl.within(found.Records), nil
}

// reason is why the batch at an offset does not decode.
func (s *Source) reason(sl *slab, o kgo.ProcessFetchPartitionOpts, at int64) error {
	if sl.batches.records < 0 {
		return nil
	}
	rest := *sl.answer
	_, rest.RecordBatches = splitAt(sl.answer.RecordBatches, at)
	o.Offset = at
	found, _ := kgo.ProcessFetchPartition(o, &rest, s.unpack, nil)
	return found.Err
}

// verify compares what was decoded with what the headers promised: a record that does not decode must not be skipped (K3).
func (sl *slab) verify(err error, next int64, decoded int) error {
	place := fmt.Sprintf("%s-%d", sl.name, next)
	var large *kgo.ErrDecompressTooLarge
	switch {
	case errors.As(err, &large), errors.Is(err, kgo.ErrMaxDecompress):
		return errcode.KafkaBatchTooLarge.Wrap(err, place, "")
	case err != nil:
		return errcode.KafkaCorruptBatch.Wrap(err, place, "")
	case next != sl.batches.next:
		return errcode.KafkaCorruptBatch.New(place, "the batches up to offset %d end there", sl.batches.next)
	case sl.batches.records >= 0 && decoded != sl.batches.records:
		return errcode.KafkaCorruptBatch.New(place, "of %d records %d decode", sl.batches.records, decoded)
	}
	return nil
}

// within keeps the records that the slab covers; they are in order.
func (sl *slab) within(records []*kgo.Record) []*kgo.Record {
	for len(records) > 0 && records[0].Offset < sl.from {
		records = records[1:]
	}
	for len(records) > 0 && records[len(records)-1].Offset >= sl.to {
		records = records[:len(records)-1]
	}
	if bugs.Is(bugs.StopAtHole) {
		return untilHole(records)
	}
	return records
}

// arena is memory for the records of one slab at a time. It is a pool that hands out pieces and wants none back: all are free at reset. The library sets
// every field of the records that it decodes into a piece.
type arena struct {
	records  []kgo.Record
	used     int
	unpacked [][]byte // the batches that they point into
}

// reset gives back what the records of the last slab pointed into.
func (a *arena) reset(to *scratch) {
	a.used = 0
	for i, b := range a.unpacked {
		to.PutDecompressBytes(b)
		a.unpacked[i] = nil
	}
	a.unpacked = a.unpacked[:0]
}

// unpacker decompresses batches for an arena.
type unpacker struct {
	kgo.Decompressor
	*arena
}

// Decompress implements kgo.Decompressor.
func (u unpacker) Decompress(src []byte, codec kgo.CompressionCodecType) ([]byte, error) {
	b, err := u.Decompressor.Decompress(src, codec)
	if err == nil && codec != kgo.CodecNone {
		u.unpacked = append(u.unpacked, b)
	}
	return b, err
}

// GetRecords implements kgo.PoolRecords.
func (a *arena) GetRecords(n int) []kgo.Record {
	if a.used+n > len(a.records) {
		a.records = make([]kgo.Record, max(2*len(a.records), n, 1024)) // what was handed out before lives on in the old one
		a.used = 0
	}
	piece := a.records[a.used : a.used+n : a.used+n]
	a.used += n
	return piece
}

// PutRecords implements kgo.PoolRecords. Nothing comes back this way.
func (a *arena) PutRecords([]kgo.Record) {}
