package json

import (
	"fmt"
	"hash/maphash"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/codec"
	"microbatch/codec/column"
	"microbatch/internal/errcode"
)

// Options of the format.
type Options struct {
	// Rescue names a STRING column, added behind the declared ones, that takes the fields that no column has as the text of one JSON object; a
	// declared field is among them if such a field stands inside of it. "": they are ignored.
	Rescue string
}

// Format is JSON, one object a message; it implements codec.Messages. It may be used by many goroutines.
type Format struct{ options Options }

var _ codec.Messages = (*Format)(nil)

// New makes the format of messages; NewFiles that of files.
func New(options Options) *Format { return &Format{options: options} }

// Kind is "json".
func (f *Format) Kind() string { return "json" }

// Output is the declared schema and the rescue column, if there is one.
func (f *Format) Output(schema *arrow.Schema) (*arrow.Schema, error) {
	columns, err := column.New(schema, memory.DefaultAllocator)
	if err != nil {
		return nil, errcode.RowSchema.Wrap(err, "", "json")
	}
	for _, c := range columns.Cols() {
		if err := checkKeys(c); err != nil {
			return nil, errcode.RowSchema.Wrap(err, "", "json: column %s", c.Field().Name)
		}
	}
	if f.options.Rescue == "" {
		return schema, nil
	}
	fields := schema.Fields()
	for _, field := range fields {
		if field.Name == f.options.Rescue {
			return nil, errcode.RowSchema.New("", "json: the rescue column %s is a declared column too", field.Name)
		}
	}
	metadata := schema.Metadata()
	fields = append(fields[:len(fields):len(fields)], arrow.Field{Name: f.options.Rescue, Type: arrow.BinaryTypes.String, Nullable: true})
	return arrow.NewSchema(fields, &metadata), nil
}

// checkKeys refuses maps whose keys are not scalars: JSON has no text for them.
func checkKeys(c *column.Column) error {
	if c.Kind() == column.Map {
		switch key := c.Kids()[0].Kids()[0]; key.Kind() {
		case column.List, column.Map, column.Struct:
			return fmt.Errorf("a map's key cannot be %s", key.Article())
		}
	}
	for _, kid := range c.Kids() {
		if err := checkKeys(kid); err != nil {
			return err
		}
	}
	return nil
}

// rows is a parser and the columns it fills.
type rows struct {
	parser
	columns *column.Columns
	n       int   // rows in the columns
	bytes   int64 // of their text
}

// newRows prepares the columns of Output(schema). Blanks is the parser's set of blanks.
func (f *Format) newRows(schema *arrow.Schema, alloc memory.Allocator, blanks uint64) (*rows, error) {
	output, err := f.Output(schema)
	if err != nil {
		return nil, err
	}
	columns, err := column.New(output, alloc)
	if err != nil {
		return nil, errcode.RowSchema.Wrap(err, "", "json")
	}
	r := &rows{columns: columns, parser: parser{white: blanks, seed: maphash.MakeSeed()}}
	declared := columns.Cols()
	if f.options.Rescue != "" {
		last := len(declared) - 1
		declared, r.rescue = declared[:last], declared[last]
	}
	r.root = newObject(declared, "")
	return r, nil
}

// flush takes the rows out.
func (r *rows) flush() arrow.RecordBatch {
	record := r.columns.Flush(r.n)
	r.n, r.bytes = 0, 0
	return record
}

// reset drops all rows and frees their memory; what was learned stays.
func (r *rows) reset() {
	r.columns.Release()
	r.n, r.bytes, r.buf = 0, 0, nil
}

// size is about how much memory the rows take.
func (r *rows) size() int64 { return r.bytes + int64(r.n)*r.columns.RowBytes() }
