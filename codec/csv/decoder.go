package csv

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

// maxHeld is how much text a decoder takes before it must be flushed: offsets within a column have 31 bits.
const maxHeld = 1 << 30

// errFull says that the caller has not flushed.
var errFull = errors.New("csv: more than 1 GiB of rows decoded without a flush")

// decoder decodes messages.
type decoder struct {
	*parser
	buf []byte // the message with its line end, followed by slack
}

// NewDecoder makes a decoder of messages, each one row, with a line end or without.
func (f *Messages) NewDecoder(schema *arrow.Schema, alloc memory.Allocator) (codec.Decoder, error) {
	if _, err := f.Output(schema); err != nil {
		return nil, err
	}
	p, err := newParser(f.options, schema, alloc)
	if err != nil {
		return nil, err
	}
	return &decoder{parser: p}, nil
}

// Decode appends one row.
func (d *decoder) Decode(msg []byte) error {
	if d.bytes > maxHeld {
		return errFull
	}
	if len(msg) > textfile.MaxLine {
		return &codec.Reject{Code: errcode.RowLimit.ID, Detail: fmt.Sprintf("the row has more than %d bytes", textfile.MaxLine)}
	}
	next := 0
	switch {
	case msg == nil:
		next = d.nulls()
	case len(msg) == 0:
		d.reject = codec.Reject{Code: errcode.RowMalformed.ID, Detail: "the message is empty"}
		next = refused
	default:
		next = d.decode(bytes.TrimPrefix(msg, bom))
	}
	if next < 0 {
		return d.takeBack()
	}
	d.n++
	d.bytes += int64(len(msg))
	return nil
}

// decode decodes a message in memory where a line end and slack follow it.
func (d *decoder) decode(msg []byte) int {
	if n := len(msg) + 1 + textfile.Slack; len(d.buf) < n {
		d.buf = make([]byte, n+min(n, 1<<20))
	}
	n := copy(d.buf, msg)
	if n == 0 || d.buf[n-1] != '\n' {
		d.buf[n] = '\n'
		n++
	}
	next := d.row(d.buf, 0, n)
	switch {
	case next == open:
		d.reject = codec.Reject{Code: errcode.RowMalformed.ID, Detail: "a quote is open at the end"}
	case next >= 0 && next != n:
		d.reject = codec.Reject{Code: errcode.RowMalformed.ID, Detail: "the message has more than one row"}
		return refused
	}
	return next
}

// nulls appends a row of nulls.
func (d *decoder) nulls() int {
	for _, c := range d.fields {
		if d.null(c, 0) < 0 {
			return refused
		}
	}
	return 0
}

// Rows is how many rows stand in the columns.
func (d *decoder) Rows() int { return d.n }

// Bytes is about how much memory the rows take.
func (d *decoder) Bytes() int64 { return d.size() }

// Flush takes the rows out.
func (d *decoder) Flush() arrow.RecordBatch { return d.flush() }

// Release frees the columns.
func (d *decoder) Release() { d.columns.Release() }
