package arrowparquet

import (
	"encoding/binary"
	"errors"
)

// errPage says that the bytes of a page are not what its header says.
var errPage = errors.New("damaged page")

// checkRuns walks RLE / bit-packed runs and returns the part that holds the first n values. The library decodes into as much memory as a run claims, and by
// machine code that trusts the lengths: this walk makes sure that they are right.
func checkRuns(b []byte, width, n int) ([]byte, error) {
	if width < 0 || width > 32 {
		return nil, errPage
	}
	bytes := (width + 7) / 8
	at := 0
	for n > 0 {
		head, size := binary.Uvarint(b[at:])
		if size <= 0 || head>>1 > 1<<31 {
			return nil, errPage
		}
		at += size
		count := int(head >> 1)
		if head&1 == 0 {
			if count > n || bytes > len(b)-at { // a run has no reason to be longer than the page
				return nil, errPage
			}
			at += bytes
			n -= count
			continue
		}
		if width == 0 && count > n/8+1 || count*width > len(b)-at {
			return nil, errPage
		}
		at += count * width
		n -= 8 * count
	}
	return b[:at], nil
}

// checkDelta walks DELTA_BINARY_PACKED integers, of which there must be n, and returns their bytes and what follows them.
func checkDelta(b []byte, bits, n int) (packed, rest []byte, err error) {
	w := thriftWalker{b: b}
	block, minis, total := w.uvarint(), w.uvarint(), w.uvarint()
	w.uvarint() // the first value
	if w.failed || total != uint64(n) || block == 0 || block > 1<<16 || block%128 != 0 || minis == 0 || block%minis != 0 || block/minis%32 != 0 {
		return nil, nil, errPage
	}
	perMini := block / minis
	for left := int64(n) - 1; left > 0 && !w.failed; {
		w.uvarint() // the least difference
		widths := w.at
		w.skip(minis)
		for m := uint64(0); m < minis && left > 0 && !w.failed; m++ {
			width := uint64(b[widths+int(m)])
			if width > uint64(bits) {
				return nil, nil, errPage
			}
			w.skip(perMini * width / 8)
			left -= int64(perMini)
		}
	}
	if w.failed {
		return nil, nil, errPage
	}
	return b[:w.at], b[w.at:], nil
}
