package textfile

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/batch"
	"microbatch/codec"
)

// ErrLeft says that the receiver of the stream has left: the decoder ends, and nobody is told.
var ErrLeft = errors.New("textfile: the stream was left")

// Output collects the rejected rows of a unit and yields its chunks.
type Output struct {
	Name  string // of the file
	Yield func(batch.Chunk, error) bool

	rejected []batch.Rejected
	kept     int64 // bytes of them
}

// Reject notes a rejected row that begins at a byte of the file. It copies raw.
func (o *Output) Reject(at int64, raw []byte, why *codec.Reject) {
	raw = bytes.Clone(bytes.TrimRight(raw[:min(len(raw), batch.MaxRaw)], "\r\n"))
	o.kept += int64(len(raw))
	o.rejected = append(o.rejected, batch.Rejected{Position: o.Name + "@" + strconv.FormatInt(at, 10), Reason: why.Error(), Raw: raw})
}

// Full reports whether it is time for a chunk, with this many decoded rows waiting that take about so many bytes.
func (o *Output) Full(rows int, size int64) bool {
	return rows >= batch.TargetRows || len(o.rejected) >= batch.TargetRows || size+o.kept >= batch.TargetBytes
}

// Emit yields a chunk of the record, which may be nil, and the rejected rows; nothing if there are neither. The error is ErrLeft.
func (o *Output) Emit(record arrow.RecordBatch) error {
	if record == nil && len(o.rejected) == 0 {
		return nil
	}
	chunk := batch.Chunk{Record: record, Rejected: o.rejected}
	o.rejected, o.kept = nil, 0
	if !o.Yield(chunk, nil) {
		return ErrLeft
	}
	return nil
}
