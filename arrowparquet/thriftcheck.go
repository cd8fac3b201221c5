package arrowparquet

import (
	"encoding/binary"
	"errors"
)

// errThrift says that bytes are not a struct in Thrift's compact protocol.
var errThrift = errors.New("damaged metadata")

// checkThrift walks one struct in Thrift's compact protocol and returns its length. The library that decodes it believes the lengths that it finds; this
// walk makes sure that every string is there and that no list claims more elements than its bytes can hold, so that decoding costs memory in proportion to
// the input.
func checkThrift(b []byte) (int, error) {
	w := thriftWalker{b: b}
	w.structure(0)
	if w.failed {
		return 0, errThrift
	}
	return w.at, nil
}

// Types of the compact protocol.
const (
	thriftTrue = 1 + iota
	thriftFalse
	thriftByte
	thriftI16
	thriftI32
	thriftI64
	thriftDouble
	thriftBinary
	thriftList
	thriftSet
	thriftMap
	thriftStruct
)

type thriftWalker struct {
	b      []byte
	at     int
	failed bool
}

func (w *thriftWalker) skip(n uint64) {
	if n > uint64(len(w.b)-w.at) {
		w.failed = true
		return
	}
	w.at += int(n)
}

func (w *thriftWalker) byte() byte {
	if w.at >= len(w.b) {
		w.failed = true
		return 0
	}
	w.at++
	return w.b[w.at-1]
}

func (w *thriftWalker) uvarint() uint64 {
	v, n := binary.Uvarint(w.b[w.at:])
	if n <= 0 {
		w.failed = true
		return 0
	}
	w.at += n
	return v
}

func (w *thriftWalker) structure(depth int) {
	if depth > 32 {
		w.failed = true
	}
	for !w.failed {
		head := w.byte()
		if head == 0 {
			return
		}
		if head>>4 == 0 {
			w.uvarint() // the field's id
		}
		if t := head & 15; t > thriftFalse { // a bool is in its type
			w.value(t, depth)
		}
	}
}

func (w *thriftWalker) value(t byte, depth int) {
	switch t {
	case thriftTrue, thriftFalse, thriftByte:
		w.skip(1)
	case thriftI16, thriftI32, thriftI64:
		w.uvarint()
	case thriftDouble:
		w.skip(8)
	case thriftBinary:
		w.skip(w.uvarint())
	case thriftList, thriftSet:
		w.list(depth)
	case thriftMap:
		w.mapping(depth)
	case thriftStruct:
		w.structure(depth + 1)
	default:
		w.failed = true
	}
}

// list also bounds what an element costs in memory: the largest structs of the format, column chunks, take at least 16 bytes of input each, all others at least 2.
func (w *thriftWalker) list(depth int) {
	head := w.byte()
	n := uint64(head >> 4)
	if n == 15 {
		n = w.uvarint()
	}
	least := uint64(1)
	if t := head & 15; t == thriftStruct {
		if least = 2; depth == 1 {
			least = 16
		}
	}
	if n > uint64(len(w.b)-w.at)/least {
		w.failed = true
	}
	for range n {
		if w.failed {
			return
		}
		w.value(head&15, depth)
	}
}

func (w *thriftWalker) mapping(depth int) {
	n := w.uvarint()
	if n == 0 {
		return
	}
	types := w.byte()
	if n > uint64(len(w.b)-w.at) {
		w.failed = true
	}
	for range n {
		if w.failed {
			return
		}
		w.value(types>>4, depth)
		w.value(types&15, depth)
	}
}
