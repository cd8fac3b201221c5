package arrowparquet

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
)

// A run is a stretch of rows of one leaf column: its levels, and those values that are not null.
type run struct {
	rows   int
	levels int     // entries; equal to rows unless there is a list around
	def    []uint8 // definition levels; nil if all are at the maximum
	rep    []uint8 // repetition levels; nil if there is no list around
	vals   values
}

// expansion is the scratch memory to find the levels of a nested column.
type expansion struct {
	def, rep         []uint8
	at               []int32 // of each entry: its position in the current array, or -1 if a null or an empty list ended it above
	nextDef, nextRep []uint8
	nextAt           []int32
}

// start begins with one entry for each row.
func (e *expansion) start(from, to int) {
	e.def, e.rep, e.at = e.def[:0], e.rep[:0], e.at[:0]
	for i := from; i < to; i++ {
		e.def, e.rep, e.at = append(e.def, 0), append(e.rep, 0), append(e.at, int32(i))
	}
}

// present raises the level of the entries that are not null in the array, and ends the others.
func (e *expansion) present(n *node, arr arrow.ArrayData) error {
	var bitmap []byte
	if arr.NullN() != 0 {
		bitmap = bytesOf(arr, 0)
	}
	off := int32(arr.Offset())
	for k, i := range e.at {
		switch {
		case i < 0:
		case len(bitmap) == 0 || bitmap[(i+off)>>3]>>((i+off)&7)&1 == 1:
			if n.field.Nullable {
				e.def[k]++
			}
		case !n.field.Nullable:
			return fmt.Errorf("arrowparquet: column %s: a null in a column that is NOT NULL", dotted(n.path))
		default:
			e.at[k] = -1
		}
	}
	return nil
}

// end ends all entries: the column is missing in the rows.
func (e *expansion) end() {
	for k := range e.at {
		e.at[k] = -1
	}
}

// shift moves the positions by the offset of a struct, whose children know nothing of it.
func (e *expansion) shift(off int32) {
	if off == 0 {
		return
	}
	for k, i := range e.at {
		if i >= 0 {
			e.at[k] = i + off
		}
	}
}

// elements replaces each list by its elements: the first keeps the repetition level, the others get the list's. An empty list stays as one ended entry.
func (e *expansion) elements(arr arrow.ArrayData, rep uint8) {
	offs, off := slice[int32](arr, 1), int32(arr.Offset())
	e.nextDef, e.nextRep, e.nextAt = e.nextDef[:0], e.nextRep[:0], e.nextAt[:0]
	for k, i := range e.at {
		if i < 0 || offs[i+off] == offs[i+off+1] {
			e.nextDef, e.nextRep, e.nextAt = append(e.nextDef, e.def[k]), append(e.nextRep, e.rep[k]), append(e.nextAt, -1)
			continue
		}
		level := e.rep[k]
		for j := offs[i+off]; j < offs[i+off+1]; j++ {
			e.nextDef, e.nextRep, e.nextAt = append(e.nextDef, e.def[k]+1), append(e.nextRep, level), append(e.nextAt, j)
			level = rep
		}
	}
	e.def, e.nextDef = e.nextDef, e.def
	e.rep, e.nextRep = e.nextRep, e.rep
	e.at, e.nextAt = e.nextAt, e.at
}

// walk follows the binding of a leaf through the arrays of a record and returns the leaf's array, or nil if it is missing.
func (e *expansion) walk(b *binding, cols []arrow.Array, from, to int) (arrow.ArrayData, error) {
	e.start(from, to)
	if b.child[0] == missing {
		e.end()
		return nil, nil
	}
	arr := cols[b.child[0]].Data()
	for level, n := range b.nodes {
		if err := e.present(n, arr); err != nil {
			return nil, err
		}
		if n.kind == leafNode {
			break
		}
		next := b.child[level+1]
		children := arr.Children()
		switch n.kind {
		case structNode:
			e.shift(int32(arr.Offset()))
		case listNode:
			e.elements(arr, uint8(n.rep+1))
		case mapNode:
			e.elements(arr, uint8(n.rep+1))
			e.shift(int32(children[0].Offset()))
			children = children[0].Children()
		}
		if next == missing {
			e.end()
			return nil, nil
		}
		arr = children[next]
	}
	return arr, nil
}

// positions are the entries that hold a value, in the memory of the expansion.
func (e *expansion) positions() []int32 {
	out := e.nextAt[:0]
	for _, i := range e.at {
		if i >= 0 {
			out = append(out, i)
		}
	}
	e.nextAt = out
	return out
}
