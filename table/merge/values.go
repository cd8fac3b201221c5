package merge

import (
	"encoding/binary"
	"slices"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
)

// values are the different values of one key column of a batch.
type values struct {
	numbers []uint64 // of a type whose values take eight bytes; sorted
	texts   []string // else; the encoded values, sorted
	null    bool     // there is a null among them
}

// valuesOf takes the keys of an index apart.
func valuesOf(x *index, keys *Columns) []values {
	out := make([]values, len(keys.types))
	for i := range x.entries {
		key := x.of(x.entries[i].key)
		for k, t := range keys.types {
			n := first(key, t)
			out[k].add(key[:n], t)
			key = key[n:]
		}
	}
	for k := range out {
		slices.Sort(out[k].numbers)
		slices.Sort(out[k].texts)
		out[k].numbers, out[k].texts = slices.Compact(out[k].numbers), slices.Compact(out[k].texts)
	}
	return out
}

func (v *values) add(encoded []byte, t arrow.DataType) {
	switch n, _ := width(t); {
	case encoded[0] == 0:
		v.null = true
	case n == 8:
		v.numbers = append(v.numbers, binary.BigEndian.Uint64(encoded[1:]))
	default:
		v.texts = append(v.texts, unsafe.String(unsafe.SliceData(encoded), len(encoded))) // the index's bytes do not change any more
	}
}

// bounds are what is known of a column in a file.
type bounds struct {
	lo, hi  []byte // encoded; nil: not known
	noNulls bool   // proven
	nulls   bool   // it is proven that there is nothing else
}

// mayBe reports whether some of the values may be in a column, as far as bounds tell.
func (v *values) mayBe(b bounds) bool {
	switch {
	case v.null && !b.noNulls:
		return true
	case b.nulls || len(v.numbers)+len(v.texts) == 0:
		return false
	case b.lo == nil || b.hi == nil:
		return true
	case v.numbers != nil:
		return between(v.numbers, binary.BigEndian.Uint64(b.lo[1:]), binary.BigEndian.Uint64(b.hi[1:]))
	}
	return between(v.texts, textOf(b.lo), textOf(b.hi))
}

// textOf are bytes as a text, which is compared and not kept.
func textOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// between reports whether one of some sorted values is between two others, or one of them.
func between[T uint64 | string](sorted []T, lo, hi T) bool {
	i, _ := slices.BinarySearch(sorted, lo)
	return i < len(sorted) && sorted[i] <= hi
}
