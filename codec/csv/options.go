package csv

import (
	"fmt"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/codec"
	"microbatch/codec/column"
	"microbatch/internal/errcode"
)

// Options of the format. The zero value is comma-separated without a header.
type Options struct {
	// Header says that the first row of a file names the columns.
	Header bool
	// Delimiter stands between fields; 0 is a comma. Quote and line end it cannot be.
	Delimiter byte
	// Quote encloses fields that hold delimiters, quotes or line ends; 0 is '"'.
	Quote byte
	// Escape before a quote inside of a quoted field makes it a character; 0: a quote is written twice. Spark writes '\\'.
	Escape byte
	// Null is the text of null, without quotes; "" is an empty field.
	Null string
	// SingleLine says that a line end always ends a row, inside of quotes too: large files need not be looked through before they are cut.
	SingleLine bool
}

// withDefaults fills in what is zero, and refuses what contradicts itself.
func (o Options) withDefaults() (Options, error) {
	if o.Delimiter == 0 {
		o.Delimiter = ','
	}
	if o.Quote == 0 {
		o.Quote = '"'
	}
	if o.Escape == 0 {
		o.Escape = o.Quote
	}
	for _, c := range []byte{o.Delimiter, o.Quote, o.Escape} {
		if c == '\n' || c == '\r' || c >= 0x80 {
			return o, errcode.RowSchema.New("", "csv: delimiter, quote and escape must be ASCII characters other than line ends, not %q", c)
		}
	}
	if o.Delimiter == o.Quote || o.Delimiter == o.Escape {
		return o, errcode.RowSchema.New("", "csv: the delimiter %q cannot be the quote or the escape", o.Delimiter)
	}
	return o, nil
}

// format is what files and messages have in common.
type format struct{ options Options }

// Kind is "csv".
func (f *format) Kind() string { return "csv" }

// Output is the declared schema, which must be of scalar types.
func (f *format) Output(schema *arrow.Schema) (*arrow.Schema, error) {
	columns, err := column.New(schema, memory.DefaultAllocator)
	if err != nil {
		return nil, errcode.RowSchema.Wrap(err, "", "csv")
	}
	for _, c := range columns.Cols() {
		if len(c.Kids()) > 0 {
			return nil, errcode.RowSchema.New("", "csv: column %s: a field cannot hold %s", c.Field().Name, c.Article())
		}
	}
	return schema, nil
}

// Files is the format of files; it implements codec.Files. It may be used by many goroutines.
type Files struct {
	format
	kept sync.Pool // of *workspace
}

// Messages is the format of messages, each one row without a header; it implements codec.Messages. It may be used by many goroutines.
type Messages struct{ format }

var (
	_ codec.Files    = (*Files)(nil)
	_ codec.Messages = (*Messages)(nil)
)

// New makes the format of files.
func New(o Options) (*Files, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Files{format: format{o}}, nil
}

// NewMessages makes the format of messages.
func NewMessages(o Options) (*Messages, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if o.Header {
		return nil, fmt.Errorf("csv: %w", errcode.RowSchema.New("", "a message has no header"))
	}
	return &Messages{format{o}}, nil
}
