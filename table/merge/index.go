package merge

import (
	"bytes"
	"hash/maphash"
	"sync/atomic"
	"unsafe"
)

// index finds keys. Their bytes lie behind each other in one piece of memory, so that neither a key nor a look-up is an allocation. It grows while the batch is
// collected; then any number of goroutines may look things up.
type index struct {
	seed    maphash.Seed
	slots   []slot // a power of two, at most half full
	entries []entry
	bytes   []byte // keys and orders
}

// slot is a place of the hash table.
type slot struct {
	hash  uint32
	entry uint32 // its number plus one; 0: the place is free
}

// entry is what is known of a key.
type entry struct {
	key   span
	order span
	place place
	// deletes: the row that counts takes the key out of the table.
	deletes bool
	// found is how many rows of the table have the key, as far as was looked.
	found atomic.Uint32
}

// span is a stretch of index.bytes.
type span struct{ from, to uint32 }

// place is a row of the batch: the number of its record and that within the record.
type place struct{ record, row uint32 }

func newIndex() *index { return &index{seed: maphash.MakeSeed(), slots: make([]slot, 1<<10)} }

func (x *index) of(s span) []byte { return x.bytes[s.from:s.to] }

func (x *index) hash(key []byte) uint32 { return uint32(maphash.Bytes(x.seed, key)) }

// find is the number of a key's entry, -1 if there is none.
func (x *index) find(key []byte) int {
	hash := x.hash(key)
	for i := int(hash) & (len(x.slots) - 1); ; i = (i + 1) & (len(x.slots) - 1) {
		s := x.slots[i]
		if s.entry == 0 {
			return -1
		}
		if n := int(s.entry - 1); s.hash == hash && bytes.Equal(x.of(x.entries[n].key), key) {
			return n
		}
	}
}

// add makes the entry of a key, which must not be there, and returns its number.
func (x *index) add(key []byte) int {
	if 2*(len(x.entries)+1) > len(x.slots) {
		x.grow()
	}
	x.entries = append(x.entries, entry{key: x.keep(key)})
	x.place(slot{x.hash(key), uint32(len(x.entries))})
	return len(x.entries) - 1
}

func (x *index) keep(b []byte) span {
	from := uint32(len(x.bytes))
	x.bytes = append(x.bytes, b...)
	return span{from, uint32(len(x.bytes))}
}

// replace keeps other bytes at a place, where they fit, else at a new one.
func (x *index) replace(s span, b []byte) span {
	if len(b) > int(s.to-s.from) {
		return x.keep(b)
	}
	return span{s.from, s.from + uint32(copy(x.bytes[s.from:s.to], b))}
}

func (x *index) place(s slot) {
	for i := int(s.hash) & (len(x.slots) - 1); ; i = (i + 1) & (len(x.slots) - 1) {
		if x.slots[i].entry == 0 {
			x.slots[i] = s
			return
		}
	}
}

func (x *index) grow() {
	old := x.slots
	x.slots = make([]slot, 2*len(old))
	for _, s := range old {
		if s.entry != 0 {
			x.place(s)
		}
	}
}

// size is how much memory it takes, in bytes.
func (x *index) size() int64 {
	return int64(cap(x.bytes)) + int64(cap(x.entries))*int64(unsafe.Sizeof(entry{})) + int64(len(x.slots))*int64(unsafe.Sizeof(slot{}))
}
