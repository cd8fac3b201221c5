package csv

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/bits"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/codec"
	"microbatch/codec/column"
	"microbatch/internal/errcode"
)

// parser turns rows into columns. The text of a row ends with a line end, and is followed by slack: words are loaded without looking.
type parser struct {
	options Options
	columns *column.Columns
	fields  []*column.Column // by place in the row; nil: the field is ignored
	absent  []*column.Column // declared, but not in the file: null
	n       int              // rows in the columns
	bytes   int64            // of their text
	delims  uint64           // the delimiter in each byte
	scratch []byte           // a quoted field without its doubled quotes
	reject  codec.Reject
}

// open is what row returns for a row whose quoted field does not end before the text does, and refused for one that is rejected.
const (
	open    = -1
	refused = -2
)

// newParser prepares the columns of a schema, in order of its fields.
func newParser(o Options, schema *arrow.Schema, alloc memory.Allocator) (*parser, error) {
	columns, err := column.New(schema, alloc)
	if err != nil {
		return nil, errcode.RowSchema.Wrap(err, "", "csv")
	}
	return &parser{options: o, columns: columns, fields: columns.Cols(), delims: uint64(o.Delimiter) * ones}, nil
}

// row reads the row at b[i:to] and returns the index behind its line end.
func (p *parser) row(b []byte, i, to int) int {
	for k := 0; ; k++ {
		var col *column.Column
		if k < len(p.fields) {
			col = p.fields[k]
		}
		if b[i] == p.options.Quote {
			i = p.quoted(b, i+1, to, col)
		} else {
			i = p.plain(b, i, col)
		}
		if i < 0 {
			return i
		}
		if b[i] == p.options.Delimiter {
			i++
			continue
		}
		if k+1 != len(p.fields) {
			p.reject = codec.Reject{Code: errcode.RowFields.ID, Detail: fmt.Sprintf("the row has %d fields, not %d", k+1, len(p.fields))}
			return refused
		}
		if len(p.absent) > 0 {
			for _, c := range p.absent {
				c.AppendNull()
			}
		}
		return i + 1
	}
}

// ones is a word of eight bytes 1.
const ones = 0x0101010101010101

// plain reads a field without quotes and returns the index of the delimiter or line end behind it.
func (p *parser) plain(b []byte, i int, col *column.Column) int {
	from := i
	var seen uint64 // all bytes together: is there one beyond ASCII?
	for {
		w := binary.LittleEndian.Uint64(b[i:])
		delim, end := w^p.delims, w^'\n'*ones
		mask := ((delim-ones)&^delim | (end-ones)&^end) & (0x80 * ones) // exact up to the first
		if mask != 0 {
			seen |= w & (mask&-mask - 1)
			i += bits.TrailingZeros64(mask) >> 3
			break
		}
		seen |= w
		i += 8
	}
	text := b[from:i]
	if b[i] == '\n' && len(text) > 0 && text[len(text)-1] == '\r' {
		text = text[:len(text)-1]
	}
	if seen&(0x80*ones) != 0 && !utf8.Valid(text) {
		return p.notUTF8(col)
	}
	if col == nil {
		return i
	}
	if col.Kind() == column.String {
		if string(text) == p.options.Null {
			return p.null(col, i)
		}
		col.AppendBytes(text)
		return i
	}
	if len(text) > 0 && (text[0] <= ' ' || text[len(text)-1] <= ' ') {
		text = bytes.Trim(text, " \t")
	}
	if len(text) == 0 || string(text) == p.options.Null {
		return p.null(col, i)
	}
	return p.value(col, text, i)
}

// quoted reads the rest of a quoted field, behind its quote, and returns the index of the delimiter or line end behind it.
func (p *parser) quoted(b []byte, i, to int, col *column.Column) int {
	from, text := i, []byte(nil) // text is what was copied so far, if anything had to be
	for {
		n := p.options.quoteAt(b[i:to])
		if n < 0 {
			return open
		}
		i += n
		if !p.options.escapes(b, i) {
			if b[i] == p.options.Quote {
				break
			}
			i++ // an escape before something else is itself
			continue
		}
		p.scratch = append(append(p.scratch[:len(text)], b[from:i]...), b[i+1])
		text = p.scratch
		i += 2
		from = i
	}
	if text == nil {
		text = b[from:i]
	} else {
		p.scratch = append(text, b[from:i]...)
		text = p.scratch
	}
	i++
	if b[i] == '\r' && b[i+1] == '\n' {
		i++
	}
	if b[i] != p.options.Delimiter && b[i] != '\n' {
		p.reject = codec.Reject{Code: errcode.RowMalformed.ID, Detail: "more text behind the quote that ends a field"}
		return refused
	}
	if !utf8.Valid(text) {
		return p.notUTF8(col)
	}
	switch {
	case col == nil:
		return i
	case col.Kind() == column.String:
		col.AppendBytes(text)
		return i
	case len(text) == 0:
		return p.null(col, i)
	}
	return p.value(col, text, i)
}

// quoteAt is the index of the next quote or escape in quoted text; -1 if there is none.
func (o *Options) quoteAt(b []byte) int {
	if o.Escape == o.Quote {
		return bytes.IndexByte(b, o.Quote)
	}
	for i, c := range b {
		if c == o.Quote || c == o.Escape {
			return i
		}
	}
	return -1
}

// escapes reports whether the quote or escape at b[i], in quoted text, makes the byte behind it a character of the text.
func (o *Options) escapes(b []byte, i int) bool {
	if b[i] == o.Escape && o.Escape != o.Quote {
		return b[i+1] == o.Quote || b[i+1] == o.Escape
	}
	return o.Escape == o.Quote && b[i+1] == o.Quote
}

// value appends a value by its text.
func (p *parser) value(col *column.Column, text []byte, i int) int {
	if !col.AppendText(text) {
		p.reject = codec.Reject{Code: errcode.RowMisfit.ID, Column: col.Field().Name, Detail: column.Excerpt(text) + " is not " + col.Article()}
		return refused
	}
	return i
}

// null appends a null.
func (p *parser) null(col *column.Column, i int) int {
	if !col.Field().Nullable {
		p.reject = codec.Reject{Code: errcode.RowNull.ID, Column: col.Field().Name, Detail: "is NOT NULL, and the row has no value"}
		return refused
	}
	col.AppendNull()
	return i
}

// notUTF8 refuses a row for a field's bytes.
func (p *parser) notUTF8(col *column.Column) int {
	p.reject = codec.Reject{Code: errcode.RowMalformed.ID, Detail: "a field is not UTF-8"}
	if col != nil {
		p.reject.Column = col.Field().Name
	}
	return refused
}

// takeBack removes what a refused row has left, and says why it was refused.
func (p *parser) takeBack() *codec.Reject {
	p.columns.Truncate(p.n)
	reject := p.reject
	return &reject
}

// flush takes the rows out.
func (p *parser) flush() arrow.RecordBatch {
	record := p.columns.Flush(p.n)
	p.n, p.bytes = 0, 0
	return record
}

// size is about how much memory the rows take.
func (p *parser) size() int64 { return p.bytes + int64(p.n)*p.columns.RowBytes() }
