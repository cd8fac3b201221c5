package engine

import (
	"context"
	"time"

	"microbatch/ident"
	"microbatch/sinks"
)

// Executor does the work of one attempt of a batch between intend and commit: it reads the ranges, applies the pipeline and stages the result. What goes in is
// plain data, and so is all that comes out but the handle that the sink commits; so the work of a batch could be handed to another machine while driver, logs and guarantee stay.
type Executor interface {
	// Execute stages one attempt. On an error nothing is left staged.
	Execute(ctx context.Context, work Work) (Staged, error)
}

// Work is one attempt of a batch.
type Work struct {
	ID        ident.BatchID
	Attempt   ident.Attempt
	Entry     []byte // the text of offsets/<id>; its sha256 is the batch's digest
	Timestamp time.Time
	Watermark time.Time
	Ranges    []ident.Range
	Rows      int64 // about how many source rows; -1 if unknown
}

// Staged is the result of an attempt: what the sinks will commit, and the counts that were checked.
type Staged struct {
	Sink     sinks.Pending
	Rejected sinks.Pending // nil if no row was rejected
	Counts   Counts
}

// Counts are the rows of one batch.
type Counts struct {
	Read     int64   // source rows
	Sources  []int64 // the same by source
	Decoded  int64
	Rejected int64
	Filtered int64 // -1 if an operator is not row-wise
	Out      int64 // staged for the sink
	Dropped  int64 // that the sink has no use for (sinks.Staged)
	Changes  *sinks.Changes
}
