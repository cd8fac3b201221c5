package sinks

import (
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/batch"
	"microbatch/guarantee"
	"microbatch/ident"
)

// Sink takes batches. The engine calls Check first, then Visible at any time, Recover after each claim of an epoch, then Prepare and
// Commit (or Abort) for each attempt, one batch at a time. Close is last.
type Sink interface {
	// Describe is the configuration for the fingerprint, and after Check or Recover what was learned (a table id).
	Describe() ident.Description
	// Check compares schema, rights and features with what is there, before anything is claimed. It is read-only.
	Check(ctx context.Context, in *arrow.Schema) error
	// Visible is the newest batch of the query that the sink holds. It is read-only.
	Visible(ctx context.Context, q QueryInfo) (Visible, error)
	// Recover prepares the sink for the epoch that was claimed: it may create the table, fence the past and abort what it left.
	// pending is the batch that will be run again, or nil.
	Recover(ctx context.Context, q QueryInfo, pending *Intent) error
	// Prepare pulls all parts and stages their rows, invisible. On an error it has removed what it staged.
	Prepare(ctx context.Context, b *batch.Batch) (Pending, error)
	// Commit makes the batch visible. An error is for what has no Outcome: it stops the query.
	Commit(ctx context.Context, p Pending) (Result, error)
	// Abort removes what Prepare staged. It is not called after Committed, AlreadyCommitted or Uncertain.
	Abort(ctx context.Context, p Pending) error
	// Guarantee says what a crash can do to this sink's rows, with a source that can be read again, and why. It is valid at any time.
	Guarantee() guarantee.Link
	// Close ends all connections.
	Close() error
}

// Pending is a staged batch. It dies with its process.
type Pending interface {
	Staged() Staged
}

// Staged is what Prepare produced, as plain data.
type Staged struct {
	Rows int64 // rows that will be visible, or that change what is
	// Dropped are rows that the sink has taken and that change nothing: another row of their key counts, or the sink holds them already.
	Dropped int64
	// Changes is what each of Rows does to the rows that the sink has; nil if it only adds to them, or cannot tell, or not before the commit.
	Changes *Changes
	Bytes   int64
	Files   int
}

// Changes are Staged.Rows by what they do to the rows that a sink has by their key. They add up to Rows.
type Changes struct {
	Inserted  int64 `json:"numInsertedRows"`  // the sink does not have their key
	Updated   int64 `json:"numUpdatedRows"`   // they take the place of what it has
	Deleted   int64 `json:"numDeletedRows"`   // they take their key out
	Unchanged int64 `json:"numUnchangedRows"` // they change nothing: they would take out a key that it does not have, or it has taken them before
}

// Sum is how many rows they are.
func (c Changes) Sum() int64 { return c.Inserted + c.Updated + c.Deleted + c.Unchanged }

// QueryInfo is who commits.
type QueryInfo struct {
	ID       ident.QueryID
	Name     string // of the pipeline
	Shard    ident.Shard
	Epoch    ident.Epoch
	Entry    ident.EntryID
	NewQuery bool // another query id of this pipeline name and shard in the sink is accepted knowingly
	// Newest lists the claimed epochs of the checkpoint and returns the highest.
	Newest func(ctx context.Context) (ident.Epoch, error)
}

// Visible is what a sink knows of a query.
type Visible struct {
	// Keeps is false for a sink that stores no batch ids (foreachbatch): the other fields then mean nothing.
	Keeps     bool
	Batch     ident.BatchID // ident.NoBatch if none
	Digest    ident.StoredDigest
	HasDigest bool        // false if Batch was written without digests (by Spark)
	Epoch     ident.Epoch // the highest seen; 0 if none
	// Behind says what it means, and what to do, when the checkpoint has recorded more than Batch: how this kind of sink forgets. "" if it was restored, or deleted.
	Behind string
	// Others are query ids other than ours that have committed under our pipeline name and shard.
	Others []ident.QueryID
}

// Intent is a batch as the checkpoint has fixed it.
type Intent struct {
	ID        ident.BatchID
	Digest    ident.Digest
	Entry     []byte // the text of offsets/<id>
	Ranges    []ident.Range
	Timestamp time.Time
	// Lost: the batch is recorded and was never committed, and older epochs are fenced off: nobody will commit it.
	Lost bool
	// Changed: the pipeline is another one than when the intent was written (knowingly accepted), so earlier attempts may have made other rows.
	Changed bool
}

// Outcome is how a commit ended.
type Outcome int

// The outcomes. What the engine does after each.
const (
	// Committed: the batch is visible by this call.
	Committed Outcome = iota + 1
	// AlreadyCommitted: the batch was visible before, with our digest.
	AlreadyCommitted
	// Conflict: somebody changed what the batch was prepared on. Prepare again.
	Conflict
	// Uncertain: the batch may be visible, now or later.
	Uncertain
	// Fenced: a newer epoch has committed or claimed. Stop.
	Fenced
)

// String is the outcome's name.
func (o Outcome) String() string {
	return [...]string{"none", "committed", "already committed", "conflict", "uncertain", "fenced"}[o]
}

// Result is the answer of Commit.
type Result struct {
	Outcome Outcome
	Version int64 // of the table, or -1
	Why     error // for Conflict, Uncertain and Fenced
}

// Maintainer is a sink with background work (compaction, clean-up). The engine calls Maintain between batches.
type Maintainer interface {
	// Maintain does what is due at now, and returns when it has or when ctx ends. An error is logged and does not stop the query, unless its class says so.
	Maintain(ctx context.Context, now time.Time) error
}

// Sweeper is a sink that can delete what other attempts of a batch left behind. The engine calls Sweep between commit and record when the
// batch may have had another attempt, and after a fence for a batch that is lost.
type Sweeper interface {
	Sweep(ctx context.Context, batch Intent) error
}

// Fencer is a sink that can commit an epoch alone, without a batch, so that nothing of older epochs can land afterwards.
type Fencer interface {
	Fence(ctx context.Context, q QueryInfo) error
}

// Orderer is a sink whose readers may rely on an order of rows.
type Orderer interface {
	// Ordered reports whether they do: then a batch comes in one part, in the order of its source.
	Ordered() bool
}

// Historian is a sink whose own log keeps the text of offsets/<id> of each batch, so that a lost entry of the checkpoint can be rebuilt.
type Historian interface {
	// EntryText is the text of offsets/<id>, checked against the stored digest where that is known; fs.ErrNotExist if the log does not hold it (any more).
	EntryText(ctx context.Context, q QueryInfo, id ident.BatchID) ([]byte, error)
}
