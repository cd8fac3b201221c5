package batch

import (
	"context"
	"iter"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/ident"
)

// Target sizes of a chunk: a decoder ends a chunk at whichever comes first. Smaller chunks are always right.
const (
	TargetRows  = 8 << 10
	MaxRows     = 64 << 10
	TargetBytes = 8 << 20
)

// Chunk is a piece of a batch: decoded rows, and the rows of the same stretch of input that could not be decoded.
type Chunk struct {
	// Record holds the rows; nil when the stretch had none. All chunks of a stream have the same schema.
	Record arrow.RecordBatch
	// Rejected are the rows that could not be decoded, in source order.
	Rejected []Rejected
}

// Rows is the number of decoded rows.
func (c Chunk) Rows() int64 {
	if c.Record == nil {
		return 0
	}
	return c.Record.NumRows()
}

// Release gives back the Arrow memory. The chunk is not used afterwards.
func (c Chunk) Release() {
	if c.Record != nil {
		c.Record.Release()
	}
}

// Rejected is one row that was not decoded: malformed, or with a value that does not fit its column.
type Rejected struct {
	Position string // where it stands in the source: "topic-partition-offset", "file:line" or "file@byte"
	Reason   string // an error code and a sentence: "MB3002 column amount: \"x\" is not a DECIMAL(10,2)"
	Raw      []byte // the row as it came, shortened only by MaxRaw
}

// MaxRaw is how many bytes of a rejected row are kept.
const MaxRaw = 1 << 20

// Stream is a sequence of chunks. It ends after the first error. It may be pulled once, by one goroutine.
type Stream = iter.Seq2[Chunk, error]

// Part is a share of a batch's rows.
type Part interface {
	// Chunks starts the part's stream. Parts may be pulled at once or one after another, in any order, and left early.
	Chunks(ctx context.Context) Stream
}

// PartFunc makes a function a Part.
type PartFunc func(ctx context.Context) Stream

// Chunks calls f.
func (f PartFunc) Chunks(ctx context.Context) Stream { return f(ctx) }

// Batch is one micro-batch on its way to a sink.
type Batch struct {
	ID        ident.BatchID
	Attempt   ident.Attempt
	Digest    ident.Digest
	Timestamp time.Time // of the intent: what the transforms take for "now"; the same at each attempt
	Entry     []byte    // the text of offsets/<id>, whose sha256 is Digest
	Ranges    []ident.Range
	Schema    *arrow.Schema
	Parts     []Part
	// Reject takes a row that the sink cannot hold (a partition value that is too long). Which rows those are may depend only on the row and on
	// the sink's configuration. It may be called from all parts at once; nil: such a row is an error. A rejected row is not counted as staged.
	Reject func(Rejected)
}
