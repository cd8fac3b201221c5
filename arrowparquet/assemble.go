package arrowparquet

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// An assembler makes Arrow arrays from what the leaves of a file have taken.
type assembler struct {
	leaves map[int]*leafReader
	alloc  memory.Allocator
}

// A scope is the part of the levels in which a column lives: the entries with a repetition level of at most rep and a definition level of at least def.
// Those are the places of the column's array.
type scope struct{ def, rep int }

// column makes the array of one column. n is how many places it must have: what the levels of its own leaves say is checked against that.
func (a *assembler) column(p *projection, in scope, n int) (arrow.ArrayData, error) {
	if p.from == nil {
		arr := array.MakeArrayOfNull(a.alloc, p.field.Type, n)
		defer arr.Release()
		arr.Data().Retain()
		return arr.Data(), nil
	}
	var out arrow.ArrayData
	var err error
	switch p.from.kind {
	case leafNode:
		out, err = a.leaf(p, in)
	case structNode:
		out, err = a.structure(p, in, n)
	default:
		out, err = a.list(p, in)
	}
	if err != nil {
		return nil, err
	}
	if out.Len() != n {
		defer out.Release()
		return nil, fmt.Errorf("column %s: %d values where %d are expected", dotted(p.from.path), out.Len(), n)
	}
	return out, nil
}

// places walks over the levels of a leaf: for each place of a scope it calls f with its definition level.
func (a *assembler) places(leaf int, in scope, f func(def int)) {
	o := &a.leaves[leaf].out
	if a.leaves[leaf].rep == 0 {
		a.flatPlaces(leaf, in, f)
		return
	}
	for i := range o.levels {
		if int(o.rep[i]) <= in.rep && int(o.def[i]) >= in.def {
			f(int(o.def[i]))
		}
	}
}

func (a *assembler) flatPlaces(leaf int, in scope, f func(def int)) {
	l := a.leaves[leaf]
	if l.def == 0 {
		for range l.out.levels {
			f(0)
		}
		return
	}
	for _, d := range l.out.def {
		if int(d) >= in.def {
			f(int(d))
		}
	}
}

// validity collects which places of a column are not null.
type validity struct {
	bits  []byte
	n     int
	nulls int
}

func (v *validity) add(ok bool) {
	if v.n&7 == 0 {
		v.bits = append(v.bits, 0)
	}
	if ok {
		v.bits[v.n>>3] |= 1 << (v.n & 7)
	} else {
		v.nulls++
	}
	v.n++
}

// bitmap is what Arrow has for it, nil if nothing is null.
func (a *assembler) bitmap(v *validity) *memory.Buffer {
	if v.nulls == 0 {
		return nil
	}
	return a.buffer(v.bits)
}

// buffer copies bytes into memory of the allocator.
func (a *assembler) buffer(b []byte) *memory.Buffer {
	buf := memory.NewResizableBuffer(a.alloc)
	buf.Resize(len(b))
	copy(buf.Bytes(), b)
	return buf
}

// data makes array data of owned buffers and children.
func data(t arrow.DataType, v *validity, buffers []*memory.Buffer, children []arrow.ArrayData) arrow.ArrayData {
	out := array.NewData(t, v.n, buffers, children, v.nulls, 0)
	for _, b := range buffers {
		if b != nil {
			b.Release()
		}
	}
	for _, c := range children {
		c.Release()
	}
	return out
}

func (a *assembler) structure(p *projection, in scope, n int) (arrow.ArrayData, error) {
	var v validity
	bad := false
	a.places(p.levels, in, func(def int) {
		v.add(def >= p.from.def)
		bad = bad || p.forbids(def)
	})
	if bad {
		return nil, nullError(p)
	}
	children, err := a.children(p, in, n)
	if err != nil {
		return nil, err
	}
	return data(p.field.Type, &v, []*memory.Buffer{a.bitmap(&v)}, children), nil
}

func (a *assembler) children(p *projection, in scope, n int) ([]arrow.ArrayData, error) {
	var out []arrow.ArrayData
	for _, c := range p.children {
		d, err := a.column(c, in, n)
		if err != nil {
			for _, d := range out {
				d.Release()
			}
			return nil, err
		}
		out = append(out, d)
	}
	return out, nil
}

// list makes an array of a list or a map.
func (a *assembler) list(p *projection, in scope) (arrow.ArrayData, error) {
	var v validity
	element := scope{def: p.from.def + 1, rep: p.from.rep + 1}
	offsets := []int32{0}
	count, bad := int32(0), false
	o := &a.leaves[p.levels].out
	for i := range o.levels {
		rep, def := int(o.rep[i]), int(o.def[i])
		if rep <= in.rep && def >= in.def {
			if v.n > 0 {
				offsets = append(offsets, count)
			}
			v.add(def >= p.from.def)
			bad = bad || p.forbids(def)
		}
		if rep <= element.rep && def >= element.def {
			count++
		}
	}
	if v.n > 0 {
		offsets = append(offsets, count)
	}
	if bad {
		return nil, nullError(p)
	}
	children, err := a.children(p, element, int(count))
	if err != nil {
		return nil, err
	}
	if t, ok := p.field.Type.(*arrow.MapType); ok {
		var all validity
		all.n = int(count)
		children = []arrow.ArrayData{data(t.Elem(), &all, []*memory.Buffer{nil}, children)}
	}
	return data(p.field.Type, &v, []*memory.Buffer{a.bitmap(&v), a.buffer(asBytes(offsets))}, children), nil
}

// forbids reports whether a place is null by itself, not by what is around it, though the wanted schema says NOT NULL.
func (p *projection) forbids(def int) bool {
	return !p.field.Nullable && p.from.field.Nullable && def == p.from.def-1
}

func nullError(p *projection) error {
	return fmt.Errorf("column %s: a null where the schema wanted says NOT NULL", dotted(p.from.path))
}

// leaf makes an array of a leaf: the values, with gaps where places are null.
func (a *assembler) leaf(p *projection, in scope) (arrow.ArrayData, error) {
	l := a.leaves[p.from.leaf]
	var v validity
	bad := false
	if l.out.vals.n == l.out.levels { // nothing null, no empty list
		v.n = l.out.levels
	} else {
		a.places(p.from.leaf, in, func(def int) {
			v.add(def == l.def)
			bad = bad || p.forbids(def)
		})
	}
	if bad {
		return nil, nullError(p)
	}
	if v.n-v.nulls != l.out.vals.n {
		return nil, fmt.Errorf("column %s: %d values where %d are expected", dotted(p.from.path), l.out.vals.n, v.n-v.nulls)
	}
	buffers, err := a.values(p.field.Type, l, &v)
	if err != nil {
		return nil, fmt.Errorf("column %s: %w", dotted(p.from.path), err)
	}
	return data(p.field.Type, &v, append([]*memory.Buffer{a.bitmap(&v)}, buffers...), nil), nil
}
