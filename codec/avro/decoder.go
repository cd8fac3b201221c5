package avro

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/codec"
	"microbatch/codec/column"
	"microbatch/internal/errcode"
)

// maxHeld is how much a decoder takes before it must be flushed: offsets within a column have 31 bits.
const maxHeld = 1 << 30

// errFull says that the caller has not flushed.
var errFull = errors.New("avro: more than 1 GiB of rows decoded without a flush")

// decoder decodes messages.
type decoder struct {
	parser
	format  *Format
	columns *column.Columns
	n       int   // rows in the columns
	bytes   int64 // of their messages

	program  *node // of the last message, nil before the first
	id       uint32
	programs map[uint32]*node // by the schema's id in the registry
}

// Decode appends one row. A schema that is new is asked for meanwhile, which may take seconds; an error of that is not a refused row.
func (d *decoder) Decode(msg []byte) error {
	switch {
	case d.bytes > maxHeld:
		return errFull
	case msg == nil:
		return d.decodeNull()
	case len(msg) > maxRow:
		return &codec.Reject{Code: errcode.RowLimit.ID, Detail: fmt.Sprintf("the message has more than %d bytes", maxRow)}
	}
	from := 0
	if d.format.options.Registry != nil {
		id, ok := schemaID(msg)
		if !ok {
			return &codec.Reject{Code: errcode.RowMalformed.ID, Detail: "malformed Avro: the message does not begin with the id of a schema (a 0 byte and four more)"}
		}
		if d.program == nil || id != d.id {
			if err := d.choose(id); err != nil {
				return err
			}
		}
		from = headerBytes
	}
	end := d.row(d.program, msg, from)
	if end >= 0 && end != len(msg) {
		end = d.malformed(end, "more bytes behind the record")
	}
	if end < 0 {
		return d.takeBack()
	}
	d.n++
	d.bytes += int64(len(msg)) + d.added
	return nil
}

// choose takes the program of a schema, and makes it first if it is new.
func (d *decoder) choose(id uint32) error {
	program, ok := d.programs[id]
	if !ok {
		s, err := d.format.schema(id)
		if err != nil {
			return err
		}
		program = compile(s, d.columns.Cols())
		d.programs[id] = program
	}
	d.program, d.id = program, id
	return nil
}

// decodeNull appends a row of nulls.
func (d *decoder) decodeNull() error {
	for _, col := range d.columns.Cols() {
		if f := col.Field(); !f.Nullable {
			d.reject = codec.Reject{Code: errcode.RowNull.ID, Column: f.Name, Detail: "the column is NOT NULL, and the message has no value"}
			return d.takeBack()
		}
		col.AppendNull()
	}
	d.n++
	return nil
}

// takeBack removes what a refused row has left, and says why it was refused.
func (d *decoder) takeBack() *codec.Reject {
	d.columns.Truncate(d.n)
	reject := d.reject
	return &reject
}

// Rows is how many rows stand in the columns.
func (d *decoder) Rows() int { return d.n }

// Bytes is about how much memory the rows take.
func (d *decoder) Bytes() int64 { return d.bytes + int64(d.n)*d.columns.RowBytes() }

// Flush takes the rows out.
func (d *decoder) Flush() arrow.RecordBatch {
	record := d.columns.Flush(d.n)
	d.n, d.bytes = 0, 0
	return record
}

// Release frees the columns.
func (d *decoder) Release() { d.columns.Release() }
