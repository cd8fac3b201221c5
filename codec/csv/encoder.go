package csv

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/codec/column"
	"microbatch/internal/errcode"
)

// Encoder writes rows as RFC 4180 has them, without line ends. It is used by one goroutine.
type Encoder struct {
	options Options
	names   []string
	cell    []byte
}

// NewEncoder makes an encoder for rows of a schema, which must be of scalar types. What it writes is decoded to the same row by this package with the same options:
// a field is in quotes where it must be, and a STRING also where it would be taken for null. A quote in a field is written twice.
func NewEncoder(o Options, schema *arrow.Schema) (*Encoder, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if o.Escape != o.Quote {
		return nil, errcode.RowSchema.New("", "csv: encoder: a quote in a field is written twice, with no other escape")
	}
	f := format{o}
	if _, err := f.Output(schema); err != nil {
		return nil, err
	}
	if _, err := column.New(schema, memory.DefaultAllocator); err != nil {
		return nil, errcode.RowSchema.Wrap(err, "", "csv: encoder")
	}
	if schema.NumFields() == 1 && o.Null == "" {
		return nil, errcode.RowSchema.New("", "csv: encoder: with a single column a null would be a blank line, which is no row; choose a text for null")
	}
	e := &Encoder{options: o}
	for _, field := range schema.Fields() {
		e.names = append(e.names, field.Name)
	}
	return e, nil
}

// AppendHeader appends the row of the columns' names.
func (e *Encoder) AppendHeader(dst []byte) []byte {
	for i, name := range e.names {
		if i > 0 {
			dst = append(dst, e.options.Delimiter)
		}
		dst = e.field(dst, []byte(name))
	}
	return dst
}

// AppendRow appends one row.
func (e *Encoder) AppendRow(dst []byte, record arrow.RecordBatch, row int) ([]byte, error) {
	if int(record.NumCols()) != len(e.names) {
		return dst, fmt.Errorf("csv: encoder: the record has %d columns, not %d", record.NumCols(), len(e.names))
	}
	for i, col := range record.Columns() {
		if i > 0 {
			dst = append(dst, e.options.Delimiter)
		}
		if col.IsNull(row) {
			dst = append(dst, e.options.Null...)
			continue
		}
		var err error
		if s, ok := col.(*array.String); ok {
			e.cell = append(e.cell[:0], validUTF8(s.Value(row))...)
		} else if e.cell, err = column.AppendScalar(e.cell[:0], col, row); err != nil {
			return dst, fmt.Errorf("csv: encoder: column %s: %w", record.ColumnName(i), err)
		}
		dst = e.field(dst, e.cell)
	}
	return dst, nil
}

// validUTF8 is a text with U+FFFD for what is no UTF-8.
func validUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, "\ufffd")
}

// field appends a field, in quotes if it would be read as something else without.
func (e *Encoder) field(dst, text []byte) []byte {
	if !e.needsQuotes(text) {
		return append(dst, text...)
	}
	dst = append(dst, e.options.Quote)
	for {
		n := bytes.IndexByte(text, e.options.Quote)
		if n < 0 {
			return append(append(dst, text...), e.options.Quote)
		}
		dst = append(append(dst, text[:n+1]...), e.options.Quote)
		text = text[n+1:]
	}
}

func (e *Encoder) needsQuotes(text []byte) bool {
	if len(text) == 0 || string(text) == e.options.Null || text[0] <= ' ' || text[len(text)-1] <= ' ' || bytes.HasPrefix(text, bom) {
		return true
	}
	for _, c := range text {
		if c == e.options.Delimiter || c == e.options.Quote || c == '\n' || c == '\r' {
			return true
		}
	}
	return false
}
