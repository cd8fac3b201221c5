package json

import (
	"hash/maphash"
	"math"

	"microbatch/codec"
	"microbatch/codec/column"
	"microbatch/internal/errcode"
)

// maxDepth is how deep objects and arrays may stand in each other.
const maxDepth = 64

// Sets of blanks for parser.white: a bit for each byte. In a file a line end is never inside of a row.
const (
	blanksInLine    = 1<<' ' | 1<<'\t' | 1<<'\r'
	blanksInMessage = blanksInLine | 1<<'\n'
)

// parser turns the text of one row at a time into columns. Its methods take the index where they begin in buf and return the index behind what
// they have read, or -1 after they have set reject. They never look for the end of the text: it is followed by slack, and by a byte (0, or a line
// end in a file) that nothing of JSON can hold.
type parser struct {
	buf     []byte
	start   int    // where the row begins in buf
	white   uint64 // the bytes that are blanks
	root    *object
	rescue  *column.Column // nil: unknown fields are ignored
	rescued []byte         // the members of the rescue object of this row
	inside  bool           // an unknown field was met inside of the present field of root
	scratch []byte         // the text of a string with escapes
	entries []entry        // of the maps that are being read, the innermost last
	hashes  []uint64       // of a map's keys
	seed    maphash.Seed
	reject  codec.Reject
}

// row reads one row and the blanks behind it.
func (p *parser) row(i, row int) int {
	p.start, p.inside, p.rescued = i, false, p.rescued[:0]
	i = p.blanks(i)
	if p.buf[i] != '{' {
		return p.malformed(i, "a row must be an object")
	}
	if i = p.members(p.root, row, i+1, 1); i < 0 {
		return -1
	}
	if p.rescue != nil {
		p.appendRescued()
	}
	return p.blanks(i)
}

// members reads the rest of an object, behind its brace, as row number row of the object's columns.
func (p *parser) members(o *object, row, i, depth int) int {
	b, known, last := p.buf, 0, &o.first
	for {
		f, from := last.next, i
		if f.at(b, i) {
			i += len(f.key)
		} else {
			from = p.blanks(i)
			if b[from] == '}' && last == &o.first {
				i = from + 1
				break
			}
			if f, i = p.name(o, from); f == nil {
				return -1
			}
			last.next = f
		}
		last = f
		if b[i] <= ' ' {
			i = p.blanks(i)
		}
		switch {
		case f.kind == skip:
			i = p.skip(i, depth)
		case f.col.Len() == row:
			known++
			if f.kind == column.String && b[i] == '"' { // the commonest: spare a call
				i = p.copyString(f.col, i+1)
			} else {
				i = p.value(f, i, depth)
			}
		default: // the name stands here again: the last value counts
			f.col.Truncate(row)
			i = p.value(f, i, depth)
		}
		if i < 0 {
			return -1
		}
		if f.kind == skip || p.inside {
			p.keepUnknown(o, b[from:i])
		}
		if b[i] <= ' ' {
			i = p.blanks(i)
		}
		if b[i] == '}' {
			i++
			break
		}
		if b[i] != ',' {
			return p.malformed(i, "a comma or } is missing")
		}
		i++
		if b[i] == ' ' {
			i++
		}
	}
	if known < len(o.fields) {
		return p.missing(o, row, i)
	}
	return i
}

// name reads a name and its colon the general way, and finds its field.
func (p *parser) name(o *object, i int) (*field, int) {
	for _, f := range o.fields[:min(len(o.fields), fewFields)] {
		if f.at(p.buf, i) {
			return f, i + len(f.key)
		}
	}
	if p.buf[i] != '"' {
		return nil, p.malformed(i, "a field name is missing")
	}
	name, i := p.text(i + 1)
	if i < 0 {
		return nil, -1
	}
	f := o.find(name)
	if i = p.blanks(i); p.buf[i] != ':' {
		return nil, p.malformed(i, "a colon is missing")
	}
	return f, i + 1
}

// missing appends null to the fields of an object that its text did not name.
func (p *parser) missing(o *object, row, i int) int {
	for _, f := range o.fields {
		if f.col.Len() != row {
			continue
		}
		if !f.nullable {
			return p.refuse(errcode.RowNull, f, "is NOT NULL, and the row does not have it")
		}
		f.col.AppendNull()
	}
	return i
}

// value reads one value into the field's column.
func (p *parser) value(f *field, i, depth int) int {
	switch f.kind {
	case column.String:
		if p.buf[i] == '"' {
			return p.copyString(f.col, i+1)
		}
		return p.rawText(f, i, depth)
	case column.Int64:
		if v, j := integer(p.buf, i); j > 0 {
			f.col.AppendInt64(v)
			return j
		}
	case column.Int32, column.Int16, column.Int8:
		if v, j := integer(p.buf, i); j > 0 && f.col.AppendInt(v) {
			return j
		}
	case column.Float64, column.Float32:
		if j := p.float(f, i); j != 0 {
			return j
		}
	case column.Timestamp, column.TimestampNTZ:
		if j := p.timestamp(f, i); j != 0 {
			return j
		}
	case column.Bool:
		switch uint32(load(p.buf, i)) {
		case 't' | 'r'<<8 | 'u'<<16 | 'e'<<24:
			f.col.AppendBool(true)
			return i + 4
		case 'f' | 'a'<<8 | 'l'<<16 | 's'<<24:
			if p.buf[i+4] == 'e' {
				f.col.AppendBool(false)
				return i + 5
			}
		}
	case column.Date:
		if p.buf[i] == '"' {
			if text, j := p.text(i + 1); j < 0 || f.col.AppendText(text) {
				return j
			}
		}
	case column.Decimal:
		if j := p.decimal(f, i); j != 0 {
			return j
		}
	case column.Binary:
		if p.buf[i] == '"' {
			if text, j := p.text(i + 1); j < 0 || f.col.AppendBase64(text) {
				return j
			}
		}
	case column.Struct:
		if p.buf[i] == '{' {
			return p.structure(f, i, depth)
		}
	case column.List:
		if p.buf[i] == '[' {
			return p.list(f, i, depth)
		}
	case column.Map:
		if p.buf[i] == '{' {
			return p.mapping(f, i, depth)
		}
	}
	return p.nullOrMisfit(f, i, depth)
}

// nullOrMisfit handles what is no value of the column's type.
func (p *parser) nullOrMisfit(f *field, i, depth int) int {
	if uint32(load(p.buf, i)) == 'n'|'u'<<8|'l'<<16|'l'<<24 {
		if !f.nullable {
			return p.refuse(errcode.RowNull, f, "is NOT NULL, and the row has null")
		}
		f.col.AppendNull()
		return i + 4
	}
	j := p.skip(i, depth)
	if j < 0 {
		return -1
	}
	return p.misfit(f, p.buf[i:j])
}

// rawText is what a STRING column takes of a value that is no string: its text as it stands there.
func (p *parser) rawText(f *field, i, depth int) int {
	if p.buf[i] == 'n' {
		return p.nullOrMisfit(f, i, depth)
	}
	j := p.skip(i, depth)
	if j > 0 {
		f.col.AppendBytes(p.buf[i:j])
	}
	return j
}

// float reads a number, or the name of one that is not finite; 0 if there is none.
func (p *parser) float(f *field, i int) int {
	if v, j := float(p.buf, i); j > 0 {
		if f.kind == column.Float64 {
			f.col.AppendInt64(int64(math.Float64bits(v)))
			return j
		}
		if f.col.AppendFloat(v) {
			return j
		}
		return 0
	}
	text, j := p.buf[i:i], 0
	if p.buf[i] == '"' {
		if text, j = p.text(i + 1); j < 0 {
			return -1
		}
	} else {
		if j = notFinite(p.buf, i); j == 0 {
			return 0
		}
		text = p.buf[i:j]
	}
	v, ok := column.FloatName(text)
	if !ok {
		return 0
	}
	f.col.AppendFloat(v)
	return j
}

// timestamp reads the text of a timestamp, or seconds since 1970 for a column with a zone; 0 if there is neither.
func (p *parser) timestamp(f *field, i int) int {
	if p.buf[i] == '"' {
		// Mostly a timestamp is as long as the one before. Its own reading looks at each byte, and takes neither a quote nor an escape.
		if end := i + 1 + f.textLen; end < len(p.buf) && p.buf[end] == '"' && f.col.AppendTimestamp(p.buf[i+1:end]) {
			return end + 1
		}
		text, j := p.text(i + 1)
		if j < 0 || f.col.AppendTimestamp(text) {
			f.textLen = len(text)
			return j
		}
		return 0
	}
	seconds, j := integer(p.buf, i)
	micros, ok := column.EpochSeconds(seconds)
	if j < 0 || !ok || f.kind != column.Timestamp {
		return 0
	}
	f.col.AppendInt64(micros)
	return j
}

// decimal reads a number, or a string with one; 0 if there is none that fits.
func (p *parser) decimal(f *field, i int) int {
	text, j := p.buf[i:i], 0
	if p.buf[i] == '"' {
		if text, j = p.text(i + 1); j < 0 {
			return -1
		}
	} else {
		if j = numberEnd(p.buf, i); j < 0 {
			return 0
		}
		text = p.buf[i:j]
	}
	v, ok := column.ParseDecimal(text, f.limit, f.scale)
	if !ok {
		return 0
	}
	f.col.AppendDecimal(v)
	return j
}

// structure reads an object as a struct value.
func (p *parser) structure(f *field, i, depth int) int {
	if depth == maxDepth {
		return p.tooDeep(i)
	}
	if i = p.members(f.object, f.col.Len(), i+1, depth+1); i > 0 {
		f.col.AppendStruct()
	}
	return i
}

// list reads an array.
func (p *parser) list(f *field, i, depth int) int {
	if depth == maxDepth {
		return p.tooDeep(i)
	}
	i = p.blanks(i + 1)
	if p.buf[i] == ']' {
		f.col.AppendList()
		return i + 1
	}
	for {
		if i = p.value(f.item, i, depth+1); i < 0 {
			return -1
		}
		i = p.blanks(i)
		if p.buf[i] == ']' {
			f.col.AppendList()
			return i + 1
		}
		if p.buf[i] != ',' {
			return p.malformed(i, "a comma or ] is missing")
		}
		i = p.blanks(i + 1)
	}
}
