package json

import (
	"hash/maphash"
	"slices"

	"microbatch/codec/column"
	"microbatch/internal/errcode"
)

// mapping reads an object as a map value. A name that comes again: the last value counts, as in a struct.
func (p *parser) mapping(f *field, i, depth int) int {
	if depth == maxDepth {
		return p.tooDeep(i)
	}
	pairs, keys := f.col.Kids()[0], f.mapKey.col
	first, open := keys.Len(), len(p.entries)
	end := p.pairs(f, i, depth)
	if end < 0 {
		return -1
	}
	if p.repeated(keys, first) {
		keep := unique(keys, first)
		entries := append([]entry(nil), p.entries[open:]...)
		pairs.Truncate(first)
		for _, k := range keep {
			if p.pair(f, entries[k], depth) < 0 {
				return -1
			}
		}
	}
	p.entries = p.entries[:open]
	f.col.AppendList()
	return end
}

// entry is where an entry of an object that becomes a map begins: the text of its name, and its value.
type entry struct{ name, value int }

// pairs appends all entries of the object at i, and notes in p.entries where they stand.
func (p *parser) pairs(f *field, i, depth int) int {
	i = p.blanks(i + 1)
	if p.buf[i] == '}' {
		return i + 1
	}
	for {
		if p.buf[i] != '"' {
			return p.malformed(i, "a field name is missing")
		}
		name := i + 1
		if i = p.skipString(name); i < 0 {
			return -1
		}
		if i = p.blanks(i); p.buf[i] != ':' {
			return p.malformed(i, "a colon is missing")
		}
		e := entry{name, p.blanks(i + 1)}
		p.entries = append(p.entries, e)
		if i = p.pair(f, e, depth); i < 0 {
			return -1
		}
		i = p.blanks(i)
		if p.buf[i] == '}' {
			return i + 1
		}
		if p.buf[i] != ',' {
			return p.malformed(i, "a comma or } is missing")
		}
		i = p.blanks(i + 1)
	}
}

// pair appends one entry.
func (p *parser) pair(f *field, e entry, depth int) int {
	text, j := p.text(e.name)
	if j < 0 {
		return -1
	}
	if !f.mapKey.col.AppendText(text) {
		return p.refuse(errcode.RowMisfit, f.mapKey, column.Excerpt(text)+" is not "+f.mapKey.col.Article())
	}
	if j = p.value(f.item, e.value, depth+1); j > 0 {
		f.col.Kids()[0].AppendStruct()
	}
	return j
}

// fewKeys is up to how many keys are compared with each other; of more the hashes are.
const fewKeys = 8

// repeated reports whether one of the keys from first on stands twice.
func (p *parser) repeated(keys *column.Column, first int) bool {
	if keys.Len()-first <= fewKeys {
		return repeatedAmongFew(keys, first)
	}
	p.hashes = p.hashes[:0]
	for i := first; i < keys.Len(); i++ {
		p.hashes = append(p.hashes, maphash.Bytes(p.seed, keys.Value(i)))
	}
	slices.Sort(p.hashes)
	for i, h := range p.hashes[1:] {
		if h == p.hashes[i] { // once in an age by chance: unique looks closer
			return true
		}
	}
	return false
}

// repeatedAmongFew compares each key with each.
func repeatedAmongFew(keys *column.Column, first int) bool {
	for i := first + 1; i < keys.Len(); i++ {
		for j := first; j < i; j++ {
			if string(keys.Value(i)) == string(keys.Value(j)) {
				return true
			}
		}
	}
	return false
}

// unique says which of the keys from first on to keep so that each stands once, where it stands last.
func unique(keys *column.Column, first int) []int {
	n := keys.Len() - first
	last := make(map[string]int, n)
	for k := range n {
		last[string(keys.Value(first+k))] = k
	}
	var keep []int
	for k := range n {
		if last[string(keys.Value(first+k))] == k {
			keep = append(keep, k)
		}
	}
	return keep
}
