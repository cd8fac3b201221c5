package kafkamodel

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// stored is a batch in a log, with the bytes that are served.
type stored struct {
	base, last    int64 // of what it once held; compaction leaves them
	epoch         int32
	producer      int64
	producerEpoch int16
	transactional bool
	control       bool // a marker
	commit        bool // of the marker
	gzip          bool
	records       []Record

	bytes []byte
}

// Attributes of a batch.
const (
	isGzip          = 1
	isTransactional = 1 << 4
	isControl       = 1 << 5
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Where the length is counted from, and the check sum.
const (
	afterLength = 12
	afterCRC    = 21
)

// encode writes the batch in format 2.
func (b *stored) encode() {
	first := b.records[0].Time.UnixMilli()
	latest := first
	var body []byte
	for _, r := range b.records {
		latest = max(latest, r.Time.UnixMilli())
		body = b.appendRecord(body, r, r.Time.UnixMilli()-first)
	}
	batch := kmsg.RecordBatch{
		FirstOffset: b.base, PartitionLeaderEpoch: b.epoch, Magic: 2, LastOffsetDelta: int32(b.last - b.base), FirstTimestamp: first, MaxTimestamp: latest,
		ProducerID: b.producer, ProducerEpoch: b.producerEpoch, FirstSequence: -1, NumRecords: int32(len(b.records)), Records: body,
	}
	if b.gzip && !b.control {
		batch.Attributes |= isGzip
		batch.Records = compressed(body)
	}
	if b.transactional {
		batch.Attributes |= isTransactional
	}
	if b.control {
		batch.Attributes |= isControl
	}
	b.bytes = batch.AppendTo(nil)
	binary.BigEndian.PutUint32(b.bytes[8:], uint32(len(b.bytes)-afterLength))
	binary.BigEndian.PutUint32(b.bytes[17:], crc32.Checksum(b.bytes[afterCRC:], castagnoli))
}

func (b *stored) appendRecord(dst []byte, r Record, delay int64) []byte {
	rec := kmsg.Record{TimestampDelta64: delay, OffsetDelta: int32(r.Offset - b.base), Key: r.Key, Value: r.Value}
	if b.control {
		rec.Key, rec.Value = []byte{0, 0, 0, 0}, []byte{0, 0, 0, 0, 0, 0} // version and kind; version and epoch of the coordinator
		if b.commit {
			rec.Key[3] = 1
		}
	}
	rec.Length = int32(len(rec.AppendTo(nil)) - 1) // without the length itself, which is one byte as long as it is 0
	return rec.AppendTo(dst)
}

func compressed(body []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := w.Write(body)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		panic(err) // a buffer takes everything
	}
	return out.Bytes()
}
