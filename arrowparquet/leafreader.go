package arrowparquet

import (
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
)

// checkText makes sure that the strings of a text column are valid UTF-8: the whole is, and each begins where a character begins.
func (p *pageReader) checkText(v *values) error {
	if p.field.Type.ID() != arrow.STRING {
		return nil
	}
	return validText(v)
}

func validText(v *values) error {
	ok := utf8.Valid(v.data)
	for _, o := range v.offs {
		ok = ok && (int(o) >= len(v.data) || utf8.RuneStart(v.data[o]))
	}
	if !ok {
		return fmt.Errorf("a STRING that is not UTF-8")
	}
	return nil
}

// A leafReader takes rows from the pages of one leaf, across their borders.
type leafReader struct {
	*pageReader
	at, valueAt int // in the page: the next level, the next value
	ended       bool
	need        bool // values are wanted, not only levels

	// What was taken last.
	out struct {
		levels int
		def    []uint8 // nil if the maximum is 0
		rep    []uint8 // nil if the maximum is 0
		vals   values
	}
}

// take replaces out by the next rows rows.
func (l *leafReader) take(rows int) error {
	o := &l.out
	o.levels, o.def, o.rep = 0, o.def[:0], o.rep[:0]
	o.vals.reset()
	for rows > 0 || l.rep > 0 { // a row of a nested column ends where the next begins
		if l.at == l.page.levels {
			if err := l.load(); err == io.EOF {
				break
			} else if err != nil {
				return err
			}
		}
		n, begun := l.span(rows)
		rows -= begun
		if n == 0 && rows == 0 {
			return nil
		}
		if int64(o.levels)+int64(n) > l.limit { // a row may be a list, whose nulls take no bytes in the file
			return fmt.Errorf("column %s: more than %d values in one record", dotted(l.path), l.limit)
		}
		if err := l.copy(n); err != nil {
			return err
		}
	}
	if rows > 0 {
		return fmt.Errorf("column %s: %d rows are missing", dotted(l.path), rows)
	}
	return nil
}

// rowsAreWhole reports whether what was taken begins with the begin of a row.
func (l *leafReader) rowsAreWhole() bool { return len(l.out.rep) == 0 || l.out.rep[0] == 0 }

func (l *leafReader) load() error {
	if l.ended {
		return io.EOF
	}
	l.at, l.valueAt, l.page.levels = 0, 0, 0
	for l.page.levels == 0 {
		if err := l.next(); err != nil {
			l.ended = err == io.EOF
			return err
		}
	}
	return nil
}

// span is how many levels of the page belong to the rows that are still wanted, and how many rows begin in them. A row that has begun goes on until a level 0.
func (l *leafReader) span(rows int) (n, begun int) {
	if l.rep == 0 {
		n = min(rows, l.page.levels-l.at)
		return n, n
	}
	for _, r := range l.page.rep[l.at:l.page.levels] {
		if r == 0 {
			if begun == rows {
				return n, begun
			}
			begun++
		}
		n++
	}
	return n, begun
}

// copy takes the next n levels and their values.
func (l *leafReader) copy(n int) error {
	o, g := &l.out, &l.page
	present := n
	if l.def > 0 {
		levels := g.def[l.at : l.at+n]
		present = count(levels, uint8(l.def))
		o.def = append(o.def, levels...)
	}
	if l.rep > 0 {
		o.rep = append(o.rep, g.rep[l.at:l.at+n]...)
	}
	o.levels += n
	l.at += n
	from := l.valueAt
	l.valueAt += present
	if !l.need {
		return nil
	}
	if !g.indexed {
		o.vals.appendRange(&g.vals, from, l.valueAt, l.stored)
	} else if err := o.vals.appendIndexed(&l.dict, g.index[from:l.valueAt], l.stored, l.limit); err != nil {
		return err
	}
	if o.vals.bytes() > 4*l.limit {
		return fmt.Errorf("column %s: the values of one record take %d bytes", dotted(l.path), o.vals.bytes())
	}
	return nil
}

// appendRange copies the values [lo, hi) of w to the end of v.
func (v *values) appendRange(w *values, lo, hi int, s *stored) {
	part := values{n: hi - lo}
	switch {
	case part.n == 0:
	case len(w.bools) > 0:
		part.bools = w.bools[lo:hi]
	case len(w.i32) > 0:
		part.i32 = w.i32[lo:hi]
	case len(w.i64) > 0:
		part.i64 = w.i64[lo:hi]
	case len(w.f32) > 0:
		part.f32 = w.f32[lo:hi]
	case len(w.f64) > 0:
		part.f64 = w.f64[lo:hi]
	case len(w.offs) > 0:
		part.offs, part.data = w.offs[lo:hi+1], w.data
	default:
		part.fixed = w.fixed[lo*s.length : hi*s.length]
	}
	v.append(&part)
}

// appendIndexed copies entries of a dictionary to the end of v.
func (v *values) appendIndexed(dict *values, index []int32, s *stored, limit int64) error {
	v.n += len(index)
	switch {
	case len(index) == 0:
	case len(dict.i32) > 0:
		v.i32 = pick(v.i32, dict.i32, index, 0)
	case len(dict.i64) > 0:
		v.i64 = pick(v.i64, dict.i64, index, 0)
	case len(dict.f32) > 0:
		v.f32 = pick(v.f32, dict.f32, index, 0)
	case len(dict.f64) > 0:
		v.f64 = pick(v.f64, dict.f64, index, 0)
	case len(dict.fixed) > 0:
		if total := int64(len(v.fixed)) + int64(len(index))*int64(s.length); total > 4*limit {
			return fmt.Errorf("the values of one record take %d bytes", total)
		}
		for _, i := range index {
			v.fixed = append(v.fixed, dict.fixed[int(i)*s.length:int(i+1)*s.length]...)
		}
	default:
		return v.appendEntries(dict, index, limit)
	}
	return nil
}

func (v *values) appendEntries(dict *values, index []int32, limit int64) error {
	total := int64(len(v.data))
	for _, i := range index {
		total += int64(dict.offs[i+1] - dict.offs[i])
	}
	if total > min(4*limit, 1<<31-1) {
		return fmt.Errorf("the strings of one record take %d bytes", total)
	}
	if len(v.offs) == 0 {
		v.offs = append(v.offs, 0)
	}
	for _, i := range index {
		v.data = append(v.data, dict.data[dict.offs[i]:dict.offs[i+1]]...)
		v.offs = append(v.offs, uint32(len(v.data)))
	}
	return nil
}
