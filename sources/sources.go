package sources

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/batch"
	"microbatch/guarantee"
	"microbatch/ident"
	"microbatch/objstore"
)

// Source is read by ranges of offsets. The engine calls Describe at any time, Open first, Pin after the epoch is claimed, Close last.
type Source interface {
	// Describe is the configuration for the fingerprint, and after Open what was learned.
	Describe() ident.Description
	// Open connects, checks what can be checked (topics, rights, schema) and reads the initial position from own, which is the checkpoint's
	// sources/<n>/; if there is none, it resolves it in memory. It writes nothing.
	Open(ctx context.Context, own objstore.Store) error
	// Pin makes the initial position (and an inferred schema) durable in own. It is called at each start, after the claim.
	Pin(ctx context.Context) error
	// Schema is what the splits yield. It is known after Open.
	Schema() *arrow.Schema
	// Plan says where the next range ends: after from ("" at the first batch: the initial position), within the limit. To == from: nothing new.
	Plan(ctx context.Context, from ident.Offset, limit Limit) (Planned, error)
	// Freeze takes what is available now as the end of everything: later plans never pass it. For runs that stop when they have caught up.
	Freeze(ctx context.Context) error
	// Splits divides [from, to) into about want shares that can be read at once. aux is what Plan gave with to.
	Splits(ctx context.Context, from, to ident.Offset, aux map[string]string, want int) ([]Split, error)
	// Release allows the source to forget what stands before upTo.
	Release(ctx context.Context, upTo ident.Offset) error
	// Guarantee says whether the source may lose or repeat rows, and why. It is valid at any time; after Open it may ask the service what the configuration does
	// not tell (how long rows are kept), and leaves out what it does not learn.
	Guarantee(ctx context.Context) guarantee.Link
	// Close ends all connections.
	Close() error
}

// Limit bounds a plan; 0 is no bound. A plan that has anything to read takes at least one row or file, however large.
type Limit struct {
	Rows  int64
	Bytes int64 // may be an estimate (soft)
	Files int64
}

// Planned is the answer to Plan.
type Planned struct {
	To        ident.Offset
	Available ident.Offset      // the end of what is there now; at or after To
	Aux       map[string]string // facts that a rerun needs; goes into the offsets entry
	Rows      int64             // about how many rows [from, To) holds; -1 if unknown
	Behind    int64             // about how many rows stand after To; -1 if unknown
}

// Split is a share of a range, read by one goroutine.
type Split interface {
	// Records yields the split's rows. It may be called once.
	Records(ctx context.Context) batch.Stream
	// Reached is what the split has covered; valid after the stream has ended without an error.
	Reached() Position
}

// Position is what splits have covered of a range. The positions of all splits of a range are added up and compared.
type Position struct {
	// Rows is how many rows of the source were seen, decoded or rejected.
	Rows int64
	// Units are the partitions or files that the split reads from. Splits that share work list all the units they may read from.
	Units []Unit
}

// Unit is a partition or a file.
type Unit struct {
	Name    string // "orders-3", "file:///in/a.json"
	Want    int64  // the length of the planned range of this unit (offsets, bytes); the same in each split that lists it
	Covered int64  // how much of it this split has covered
}

// LogKeeper is a source that keeps more in its place of the checkpoint than where it began (a log of what was read), so that offsets alone do not bring it back.
type LogKeeper interface {
	// KeepsLog reports whether it does.
	KeepsLog() bool
}

// Positioner is a source whose offsets are positions that a consumer group of its service can hold.
type Positioner interface {
	// Positions are those of an offset, by topic and partition.
	Positions(o ident.Offset) (map[string]map[int32]int64, error)
}
