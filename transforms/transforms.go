package transforms

import (
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/batch"
	"microbatch/guarantee"
	"microbatch/ident"
)

// Distribution is how an operator needs its input to be spread over parts. The engine inserts the exchange.
type Distribution struct {
	Kind DistributionKind
	Keys []string // for ByKey: rows with equal values of these columns are in one part
}

// DistributionKind enumerates the distributions.
type DistributionKind int

// The distributions.
const (
	Any   DistributionKind = iota // any part may get any row
	ByKey                         // equal keys are in one part
	Whole                         // one part has all rows
)

// Operator is one step of a pipeline.
type Operator interface {
	// Describe is the configuration for the fingerprint.
	Describe() ident.Description
	// Output is the schema for an input schema; an error says which column or expression is wrong.
	Output(in *arrow.Schema) (*arrow.Schema, error)
	// Requires is the distribution of the input. It is asked after Output.
	Requires() Distribution
	// Guarantee says whether the operator may lose or repeat rows, and why; its warnings about the columns are there after Output.
	Guarantee() guarantee.Link
	// Open starts the operator for one attempt of one batch. The caller closes the instance.
	Open(ctx context.Context, env Env) (Instance, error)
}

// Stateful is an operator that may keep state between batches. An operator without this method keeps none.
type Stateful interface {
	Stateful() bool
}

// Instance is an operator at work on one attempt of one batch.
type Instance interface {
	// Apply transforms one part's stream. Different parts may be applied at once.
	Apply(ctx context.Context, in batch.Stream) batch.Stream
	// Counts are valid when all streams have ended.
	Counts() Counts
	// Close frees what the instance holds.
	Close() error
}

// Counts are an instance's rows.
type Counts struct {
	In, Out int64
	// Filtered rows were dropped by a condition; -1 for operators that are not row-wise.
	Filtered int64
}

// Env is what an operator may know of the batch beside its rows.
type Env struct {
	Batch     ident.BatchID
	Attempt   ident.Attempt
	Timestamp time.Time // of the intent
	Watermark time.Time // zero without one
	Input     *arrow.Schema
	Parts     int // how many streams will be applied
	Alloc     memory.Allocator
	State     State // nil for a stateless pipeline
	// EventTime reports an event time seen, for the next watermark. nil without a watermark.
	EventTime func(time.Time)
	// WantBatch asks for another batch even if no data arrives. nil where no operator may ask.
	WantBatch func()
}

// State is an operator's keyed state at the version of the previous batch; changes become the next version when the batch is recorded.
type State interface {
	Get(key []byte) (value []byte, ok bool, err error)
	Put(key, value []byte) error
	Delete(key []byte) error
}
