package csv

import (
	"bytes"
	"errors"
	"io"
	"strings"

	"microbatch/codec"
	"microbatch/codec/column"
	"microbatch/codec/textfile"
	"microbatch/internal/errcode"
)

// bom is what some writers put in front of UTF-8 text.
var bom = []byte("\xef\xbb\xbf")

// maxHeader is how long the first row may be if it is a header.
const maxHeader = 64 << 10

// cell is the text of a field.
type cell struct {
	text   string
	quoted bool
}

// cells takes the row at b[i:to] apart, without columns; next is the index behind its line end, or open, or refused.
func (o *Options) cells(b []byte, i, to int) (all []cell, next int) {
	for {
		c := cell{quoted: b[i] == o.Quote}
		from := i
		if c.quoted {
			var text []byte
			for i++; ; {
				n := o.quoteAt(b[i:to])
				if n < 0 {
					return nil, open
				}
				text = append(text, b[i:i+n]...)
				i += n
				if o.escapes(b, i) {
					text = append(text, b[i+1])
					i += 2
					continue
				}
				i++
				if b[i-1] == o.Quote {
					break
				}
				text = append(text, b[i-1])
			}
			if b[i] == '\r' && b[i+1] == '\n' {
				i++
			}
			if b[i] != o.Delimiter && b[i] != '\n' {
				return nil, refused
			}
			c.text = string(text)
		} else {
			for b[i] != o.Delimiter && b[i] != '\n' {
				i++
			}
			c.text = string(b[from:i])
			if b[i] == '\n' {
				c.text = strings.TrimSuffix(c.text, "\r")
			}
		}
		all = append(all, c)
		if b[i] == '\n' {
			return all, i + 1
		}
		i++
	}
}

// readHeader reads the first row of a file, however large the file is.
func (f *Files) readHeader(file codec.File, buf []byte) ([]string, error) {
	in := textfile.NewReader(file, codec.Unit{To: min(maxHeader, file.Size)}, buf)
	lines, err := in.Next()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil && !errors.Is(err, textfile.ErrLong) {
		return nil, err
	}
	header, _, err := f.header(lines, file.Name)
	return header, err
}

// header takes the first row apart, and says where it ends. Lines hold the beginning of a file.
func (f *Files) header(lines textfile.Lines, name string) ([]string, int, error) {
	i := lines.From
	if bytes.HasPrefix(lines.Buf[i:lines.To], bom) {
		i += len(bom)
	}
	for i < lines.To && f.options.blank(lines.Buf[i:]) > 0 {
		i += f.options.blank(lines.Buf[i:])
	}
	if i == lines.To {
		return nil, i, nil
	}
	cells, next := f.options.cells(lines.Buf, i, lines.To)
	if next < 0 || next-i > maxHeader {
		return nil, 0, errcode.FormatHeader.New(name, "the first row is no header: a quote does not end, or it is longer than %d bytes", maxHeader)
	}
	names := make([]string, len(cells))
	for k, c := range cells {
		names[k] = strings.TrimSpace(c.text)
	}
	return names, next, nil
}

// blank is the length of the blank line that b begins with, 0 if it is none: blanks, but no delimiter, up to the line end.
func (o *Options) blank(b []byte) int {
	for i, c := range b {
		switch {
		case c == '\n':
			return i + 1
		case c == o.Delimiter || c != ' ' && c != '\t' && c != '\r':
			return 0
		}
	}
	return 0
}

// bind finds the declared columns in a header (V3).
func (p *parser) bind(header []string, name string) error {
	p.fields, p.absent = make([]*column.Column, len(header)), nil
	found := 0
	for _, c := range p.columns.Cols() {
		field := c.Field()
		at, err := place(header, field.Name, name)
		if err != nil {
			return err
		}
		switch {
		case at >= 0:
			p.fields[at] = c
			found++
		case !field.Nullable:
			return errcode.FormatHeader.New(name, "the header does not name the column %s, which is NOT NULL", field.Name)
		default:
			p.absent = append(p.absent, c)
		}
	}
	if found == 0 {
		return errcode.FormatHeader.New(name, "the header names none of the declared columns; it is %s", column.Excerpt([]byte(strings.Join(header, string(p.options.Delimiter)))))
	}
	return nil
}

// place is where a header names a column, exactly or else but for case; -1 if it does not. Twice is an error.
func place(header []string, column, file string) (int, error) {
	at, exact := -1, false
	for i, name := range header {
		switch same := name == column; {
		case same && exact, !same && !exact && at >= 0 && strings.EqualFold(name, column):
			return 0, errcode.FormatHeader.New(file, "the header names the column %s twice", column)
		case same:
			at, exact = i, true
		case !exact && strings.EqualFold(name, column):
			at = i
		}
	}
	return at, nil
}
