package json

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/codec"
	"microbatch/codec/textfile"
	"microbatch/internal/errcode"
)

// maxRow is how long the text of a row may be.
const maxRow = textfile.MaxLine

// tooLong refuses a row for its length.
func tooLong() *codec.Reject {
	return &codec.Reject{Code: errcode.RowLimit.ID, Detail: fmt.Sprintf("the row has more than %d bytes", maxRow)}
}

// maxHeld is how much text a decoder takes before it must be flushed: offsets within a column have 31 bits.
const maxHeld = 1 << 30

// errFull says that the caller has not flushed.
var errFull = errors.New("json: more than 1 GiB of rows decoded without a flush")

// bom is what some writers put in front of UTF-8 text.
var bom = []byte("\xef\xbb\xbf")

// decoder decodes messages.
type decoder struct{ *rows }

// NewDecoder makes a decoder of messages, each one JSON object.
func (f *Format) NewDecoder(schema *arrow.Schema, alloc memory.Allocator) (codec.Decoder, error) {
	r, err := f.newRows(schema, alloc, blanksInMessage)
	if err != nil {
		return nil, err
	}
	return &decoder{rows: r}, nil
}

// Decode appends one row.
func (d *decoder) Decode(msg []byte) error {
	if d.bytes > maxHeld {
		return errFull
	}
	if msg == nil {
		return d.decodeNull()
	}
	if len(msg) > maxRow {
		return tooLong()
	}
	if len(msg) > 0 && msg[0] == bom[0] {
		msg = bytes.TrimPrefix(msg, bom)
	}
	d.load(msg)
	end := d.row(0, d.n)
	if end >= 0 && end != len(msg) {
		end = d.malformed(end, "more text behind the object")
	}
	if end < 0 {
		return d.takeBack()
	}
	d.n++
	d.bytes += int64(len(msg))
	return nil
}

// load copies a message to where slack follows it, beginning with a 0.
func (d *decoder) load(msg []byte) {
	if len(d.buf) < len(msg)+slack {
		d.buf = make([]byte, len(msg)+min(len(msg), 1<<20)+slack)
	}
	d.buf[copy(d.buf, msg)] = 0
}

// decodeNull appends a row of nulls.
func (d *decoder) decodeNull() error {
	if d.missing(d.root, d.n, 0) < 0 {
		return d.takeBack()
	}
	if d.rescue != nil {
		d.rescue.AppendNull()
	}
	d.n++
	return nil
}

// takeBack removes what a refused row has left, and says why it was refused.
func (r *rows) takeBack() *codec.Reject {
	r.columns.Truncate(r.n)
	r.entries = r.entries[:0]
	reject := r.reject
	return &reject
}

// Rows is how many rows stand in the columns.
func (d *decoder) Rows() int { return d.n }

// Bytes is about how much memory the rows take.
func (d *decoder) Bytes() int64 { return d.size() }

// Flush takes the rows out.
func (d *decoder) Flush() arrow.RecordBatch { return d.flush() }

// Release frees the columns.
func (d *decoder) Release() { d.columns.Release() }
