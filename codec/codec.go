package codec

import (
	"context"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/batch"
)

// Messages is a format of single messages.
type Messages interface {
	// Kind is the format's name in a pipeline file: "json".
	Kind() string
	// Infer derives a schema from a sample of messages. It ignores messages that are malformed; an error says that nothing could be learned.
	Infer(sample [][]byte) (*arrow.Schema, error)
	// Output is what rows of the declared schema look like decoded: the schema, and columns that options add (rescue).
	Output(schema *arrow.Schema) (*arrow.Schema, error)
	// NewDecoder makes a decoder for the declared schema; alloc nil leaves it to the format where memory comes from. The caller releases it.
	NewDecoder(schema *arrow.Schema, alloc memory.Allocator) (Decoder, error)
}

// Decoder turns messages into Arrow columns. It is used by one goroutine.
type Decoder interface {
	// Decode appends the row of one message; it keeps nothing of msg. A *Reject error means that nothing was appended and the next
	// message can be decoded; another error is final. A nil msg (a Kafka tombstone) is a row of nulls.
	Decode(msg []byte) error
	// Rows is how many rows stand in the columns.
	Rows() int
	// Bytes is about how much memory the rows take.
	Bytes() int64
	// Flush takes the rows out as one record of schema Output, owned by the caller, and empties the decoder. Without rows it returns a record of 0 rows.
	Flush() arrow.RecordBatch
	// Release frees what the decoder holds.
	Release()
}

// Reject says why one row was not decoded.
type Reject struct {
	Code   string // an error code, "MB3001"
	Column string // "" if the row as a whole is malformed
	Detail string // a sentence without row values beyond a short excerpt
}

// Error is "<code> column <column>: <detail>", the form of batch.Rejected.Reason.
func (r *Reject) Error() string {
	if r.Column == "" {
		return r.Code + " " + r.Detail
	}
	return r.Code + " column " + r.Column + ": " + r.Detail
}

// File is an open file to decode.
type File struct {
	Name string // as it appears in positions and errors
	// At and Size give random access. At is nil for a compressed file: then Stream is read once, from its beginning.
	At   io.ReaderAt
	Size int64 // of the stored file, in bytes
	// Stream is the decompressed content of a compressed file.
	Stream io.Reader
}

// Unit is a share of a file that can be decoded on its own: the rows that begin in [From, To) for text formats, a run of row groups for Parquet.
type Unit struct {
	From, To int64 // in bytes of the stored file; the units of a file cover it without holes or overlaps
}

// Files is a format of whole files.
type Files interface {
	// Kind is the format's name in a pipeline file: "json", "csv", "parquet".
	Kind() string
	// Infer derives a schema from the beginning of a file.
	Infer(ctx context.Context, f File) (*arrow.Schema, error)
	// Output is as in Messages.
	Output(schema *arrow.Schema) (*arrow.Schema, error)
	// Units cuts a file into units of about target bytes, in order. A stream, or an empty file, is one unit.
	Units(ctx context.Context, f File, target int64) ([]Unit, error)
	// Decode yields the rows of one unit, in order, and counts into seen every row of it, decoded or rejected. alloc is as in Messages.
	Decode(ctx context.Context, f File, u Unit, schema *arrow.Schema, alloc memory.Allocator, seen *int64) batch.Stream
}

// Encoder writes rows of a record as text or bytes. It is used by one goroutine, and may keep the last record from the garbage collector.
type Encoder interface {
	// AppendRow appends the encoded row of the record to dst and returns it; a row of text without a line end. The record does not change while its rows are encoded.
	AppendRow(dst []byte, record arrow.RecordBatch, row int) ([]byte, error)
}
