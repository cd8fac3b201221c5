package arrowparquet

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
)

// A column gives its dictionary up for the rest of the file when it has more entries or bytes than these, or when more than half of a page's values are
// new: seen after dictTrial of them, or at the end of a page that has not too few to tell.
const (
	dictMaxEntries = 16 << 10
	dictMaxBytes   = 1 << 20
	dictTrial      = 4 << 10
	dictFew        = 64
)

// A dictionary numbers the distinct strings of a column chunk in order of appearance.
type dictionary struct {
	seed   maphash.Seed
	offs   []uint32 // entry i is data[offs[i]:offs[i+1]]
	data   []byte
	slots  []dictSlot // open addressing, at most half full
	recent [256]recentEntry
	vals   values // what values returns
}

// recentEntry is the entry that was last found for a cheap hash: most of few distinct strings are found there.
type recentEntry struct {
	word   uint64 // of wordOf
	length uint32
	index  int32 // plus one; 0 is none
}

type dictSlot struct {
	hash  uint32
	index uint32 // plus one; 0 is free
}

func newDictionary() *dictionary {
	return &dictionary{seed: maphash.MakeSeed(), offs: []uint32{0}, slots: make([]dictSlot, 1<<10)}
}

func (d *dictionary) n() int { return len(d.offs) - 1 }

// index appends the numbers of the values to dst. It reports false when the dictionary does not pay: then nothing of it may be used for these values.
func (d *dictionary) index(dst []int32, v *values) ([]int32, bool) {
	entries, size := d.n(), len(d.data)
	for i := range v.n {
		dst = append(dst, d.find(v.data, v.offs[i], v.offs[i+1]))
		if i == dictTrial && d.n()-entries > dictTrial/2 {
			d.truncate(entries, size)
			return dst, false
		}
	}
	if d.n() > dictMaxEntries || len(d.data) > dictMaxBytes || v.n >= dictFew && d.n()-entries > v.n/2 {
		d.truncate(entries, size)
		return dst, false
	}
	return dst, true
}

// find is the number of the string data[from:to], which is added if it is new. One of at most 8 bytes is its word: it is found without a look at the entries, which
// takes less than half of the time of a comparison (pages of words and of country codes: 17 and 13 ns a value before, 7 now).
func (d *dictionary) find(data []byte, from, to uint32) int32 {
	length := to - from
	word, ok := wordOf(data, from, length)
	if !ok {
		return d.look(data[from:to])
	}
	guess := &d.recent[word*0x9e3779b97f4a7c15>>56]
	if guess.word != word || guess.length != length || guess.index == 0 ||
		length > 8 && !bytes.Equal(data[from:to], d.data[d.offs[guess.index-1]:d.offs[guess.index]]) {
		*guess = recentEntry{word, length, d.look(data[from:to]) + 1}
	}
	return guess.index - 1
}

// wordOf is the bytes of a string of at most 8, or something of the first and last 8 bytes of a longer one; false where it stands too near to the end of its memory.
func wordOf(data []byte, from, length uint32) (word uint64, ok bool) {
	if uint64(from)+8 > uint64(len(data)) {
		return 0, false
	}
	word = binary.LittleEndian.Uint64(data[from:])
	if length <= 8 {
		return word & (1<<(8*length) - 1), true // a shift by 64 gives 0, and all bytes count
	}
	return word + 31*binary.LittleEndian.Uint64(data[from+length-8:]), true
}

// look looks the string up in all entries.
func (d *dictionary) look(s []byte) int32 {
	hash := uint32(maphash.Bytes(d.seed, s))
	mask := uint32(len(d.slots) - 1)
	at := hash & mask
	for {
		slot := d.slots[at]
		if slot.index == 0 {
			break
		}
		if slot.hash == hash && bytes.Equal(s, d.data[d.offs[slot.index-1]:d.offs[slot.index]]) {
			return int32(slot.index - 1)
		}
		at = (at + 1) & mask
	}
	d.data = append(d.data, s...)
	d.offs = append(d.offs, uint32(len(d.data)))
	d.slots[at] = dictSlot{hash, uint32(d.n())}
	if 2*d.n() > len(d.slots) {
		d.grow()
	}
	return int32(d.n() - 1)
}

func (d *dictionary) grow() {
	old := d.slots
	d.slots = make([]dictSlot, 2*len(old))
	mask := uint32(len(d.slots) - 1)
	for _, s := range old {
		if s.index == 0 {
			continue
		}
		at := s.hash & mask
		for d.slots[at].index != 0 {
			at = (at + 1) & mask
		}
		d.slots[at] = s
	}
}

// truncate forgets the entries from n on. The slots keep them: no string is looked up afterwards in a dictionary that was given up.
func (d *dictionary) truncate(n, size int) { d.offs, d.data = d.offs[:n+1], d.data[:size] }

func (d *dictionary) reset() {
	d.truncate(0, 0)
	clear(d.slots)
	clear(d.recent[:])
}

// values are the entries.
func (d *dictionary) values() *values {
	d.vals = values{n: d.n(), offs: d.offs, data: d.data}
	return &d.vals
}

// plain appends the entries as a dictionary page.
func (d *dictionary) plain(dst []byte) []byte { return appendPlainBytes(dst, d.values()) }

// appendPlainBytes appends byte arrays in the PLAIN encoding: a length of 4 bytes before each.
func appendPlainBytes(dst []byte, v *values) []byte {
	for i := range v.n {
		s := v.data[v.offs[i]:v.offs[i+1]]
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(s)))
		dst = append(dst, s...)
	}
	return dst
}
