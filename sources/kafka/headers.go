package kafka

import (
	"encoding/binary"
	"fmt"
)

// Where things stand in a record batch of format 2, after which the broker's answers are cut up without decoding a record:
//
//	0 first offset (8)     12 leader epoch (4)     17 CRC (4)          23 last offset delta (4)     57 number of records (4)
//	8 length (4)           16 magic (1)            21 attributes (2)   27 ...                       61 records
const (
	atLength       = 8
	atMagic        = 16
	atLastDelta    = 23
	atCount        = 57
	headerBytes    = 61
	lengthOverhead = 12 // the length counts what follows it
)

// extent is what a run of whole batches covers.
type extent struct {
	bytes   int   // of the whole batches; a broken one at the end is the broker's way of filling an answer
	next    int64 // the offset after the last
	records int   // in batches that reach the offset asked for; -1 if it is not known (formats before 2)
	missing int   // bytes that the first broken batch has in all; 0 if there is none
}

// measure reads the headers of an answer to a fetch at an offset.
func measure(b []byte, from int64) (extent, error) {
	e := extent{next: from}
	for len(b)-e.bytes > atMagic {
		h := b[e.bytes:]
		size := int(int32(binary.BigEndian.Uint32(h[atLength:]))) + lengthOverhead
		if size <= atMagic {
			return e, fmt.Errorf("a batch of %d bytes", size)
		}
		if size > len(h) {
			e.missing = size
			break
		}
		last, records, err := lastOffset(h[:size])
		if err != nil {
			return e, err
		}
		if last >= from && e.records >= 0 {
			e.records += records
		}
		if records < 0 {
			e.records = -1
		}
		e.bytes += size
		e.next = max(e.next, last+1)
	}
	if e.bytes > 0 && e.next == from {
		return e, fmt.Errorf("all batches end before the offset %d asked for", from)
	}
	return e, nil
}

// firstOffset is the offset that a batch begins at.
func firstOffset(h []byte) int64 { return int64(binary.BigEndian.Uint64(h)) }

// lastOffset is the offset of the last record that a batch has or once had, and how many it has.
func lastOffset(h []byte) (last int64, records int, err error) {
	first := firstOffset(h)
	if h[atMagic] < 2 { // a message, or a compressed set that bears the offset of its last message
		return first, -1, nil
	}
	if len(h) < headerBytes {
		return 0, 0, fmt.Errorf("a batch of %d bytes", len(h))
	}
	delta, n := int32(binary.BigEndian.Uint32(h[atLastDelta:])), int32(binary.BigEndian.Uint32(h[atCount:]))
	if delta < 0 || n < 0 {
		return 0, 0, fmt.Errorf("last offset delta %d, %d records", delta, n)
	}
	return first + int64(delta), int(n), nil
}

// splitAt cuts whole batches of format 2 in two at an offset; a batch that holds it is in both.
func splitAt(b []byte, at int64) (before, rest []byte) {
	before, rest = b, nil
	for pos := 0; pos < len(b); {
		h := b[pos:]
		size := int(int32(binary.BigEndian.Uint32(h[atLength:]))) + lengthOverhead
		last, _, err := lastOffset(h[:size])
		if err != nil {
			return b, b // measure has seen no such thing
		}
		if last >= at && rest == nil {
			rest = h
		}
		if firstOffset(h) >= at {
			before = b[:pos]
			break
		}
		pos += size
	}
	return before, rest
}
