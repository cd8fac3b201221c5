package kafka

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/bits"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// block is a batch of records of one partition as it is sent (record batch, version 2), complete but for its number: see stamp.
//
//	 0 offset 8 (0)        4+8 length 4       12 leader epoch 4 (-1)   16 version 1 (2)    17 CRC-32C of all behind it 4
//	21 attributes 2        23 last record 4   27 first time 8          35 last time 8
//	43 producer 8          51 epoch 2         53 sequence 4            57 records 4        61 the records, compressed
type block struct {
	bytes []byte
	count int32 // records
}

const blockHeader = 61

// stamp says whose block it is, and of which number, and signs it.
func (b *block) stamp(producer int64, epoch int16, sequence int32) {
	binary.BigEndian.PutUint64(b.bytes[43:], uint64(producer))
	binary.BigEndian.PutUint16(b.bytes[51:], uint16(epoch))
	binary.BigEndian.PutUint32(b.bytes[53:], uint32(sequence))
	binary.BigEndian.PutUint32(b.bytes[17:], crc32.Checksum(b.bytes[21:], castagnoli))
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// packer collects the records of a block. Memory is used again for the next one.
type packer struct {
	raw   []byte
	count int32
	out   bytes.Buffer // of the compressor
}

// add appends a record; false, and nothing appended, if the block would be larger than limit.
func (p *packer) add(r *Record, limit int) bool {
	size := 3 + varintSize(int64(p.count)) + fieldSize(len(r.Key), r.Key == nil) + fieldSize(len(r.Value), r.Value == nil) // attributes, time, and the number of headers as one byte
	if len(r.Headers) > 0 {
		size += varintSize(int64(len(r.Headers))) - 1
		for i := range r.Headers {
			size += fieldSize(len(r.Headers[i].Key), false) + fieldSize(len(r.Headers[i].Value), r.Headers[i].Value == nil)
		}
	}
	if blockHeader+len(p.raw)+varintSize(int64(size))+size > limit {
		return false
	}
	raw := binary.AppendVarint(p.raw, int64(size))
	raw = append(raw, 0, 0) // attributes, and the time since the first record's: all have one
	raw = binary.AppendVarint(raw, int64(p.count))
	raw = appendField(raw, r.Key, r.Key == nil)
	raw = appendField(raw, r.Value, r.Value == nil)
	raw = binary.AppendVarint(raw, int64(len(r.Headers)))
	for i := range r.Headers {
		raw = appendField(raw, []byte(r.Headers[i].Key), false)
		raw = appendField(raw, r.Headers[i].Value, r.Headers[i].Value == nil)
	}
	p.raw = raw
	p.count++
	return true
}

func appendField(dst, b []byte, none bool) []byte {
	if none {
		return append(dst, 1) // -1
	}
	return append(binary.AppendVarint(dst, int64(len(b))), b...)
}

func fieldSize(n int, none bool) int {
	if none {
		return 1
	}
	return varintSize(int64(n)) + n
}

// varintSize is how many bytes binary.AppendVarint takes for a number that is not negative.
func varintSize(n int64) int { return (bits.Len64(uint64(n)<<1|1) + 6) / 7 }

// pack makes a block of what was added, and empties the packer.
func (p *packer) pack(compressor kgo.Compressor, transactional bool, now time.Time) *block {
	records, attributes := p.raw, uint16(0)
	if compressor != nil {
		p.out.Reset()
		if packed, codec := compressor.Compress(&p.out, p.raw); packed != nil && len(packed) < len(p.raw) {
			records, attributes = packed, uint16(codec)
		}
	}
	if transactional {
		attributes |= 1 << 4
	}
	b := make([]byte, blockHeader+len(records))
	binary.BigEndian.PutUint32(b[8:], uint32(len(b)-12))
	binary.BigEndian.PutUint32(b[12:], 1<<32-1)
	b[16] = 2
	binary.BigEndian.PutUint16(b[21:], attributes)
	binary.BigEndian.PutUint32(b[23:], uint32(p.count-1))
	binary.BigEndian.PutUint64(b[27:], uint64(now.UnixMilli()))
	binary.BigEndian.PutUint64(b[35:], uint64(now.UnixMilli()))
	binary.BigEndian.PutUint32(b[57:], uint32(p.count))
	copy(b[blockHeader:], records)
	out := &block{bytes: b, count: p.count}
	p.raw, p.count = p.raw[:0], 0
	return out
}

// sequenceAfter is the number behind so many records. They go on at 0 behind the largest.
func sequenceAfter(sequence, records int32) int32 {
	return int32((int64(sequence) + int64(records)) & (1<<31 - 1))
}
