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
	seed  maphash.Seed
	offs  []uint32 // entry i is data[offs[i]:offs[i+1]]
	data  []byte
	slots []dictSlot // open addressing, at most half full
	// recent has the number, plus one, of the entry that was last found for the lowest bits of a cheap hash: most of few distinct strings are found there.
	recent [256]int32
	vals   values // what values returns
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
	last, lastIndex := []byte(nil), int32(-1)
	for i := range v.n {
		s := v.data[v.offs[i]:v.offs[i+1]]
		if lastIndex < 0 || !bytes.Equal(s, last) {
			last, lastIndex = s, d.find(s)
		}
		dst = append(dst, lastIndex)
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

// find is the number of a string, which is added if it is new.
func (d *dictionary) find(s []byte) int32 {
	if len(s) == 0 {
		return d.look(s)
	}
	guess := &d.recent[s[0]*31^s[len(s)-1]*7^s[len(s)/2]^byte(len(s))]
	if *guess == 0 || !bytes.Equal(s, d.data[d.offs[*guess-1]:d.offs[*guess]]) {
		*guess = d.look(s) + 1
	}
	return *guess - 1
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
