package engine

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/sinks"
	"microbatch/sources"
	"microbatch/transforms"
)

// Query is a pipeline ready to run. It is built by hand or by package pipeline; components are owned by the query, which closes them when Run returns.
type Query struct {
	Name       string                // of the pipeline; required
	Sources    []sources.Source      // at least one; all with the same schema
	Transforms []transforms.Operator // in order
	Sink       sinks.Sink
	Checkpoint objstore.Store // the checkpoint is its root
	Shard      ident.Shard

	// Delivery says whether a crash may lose a batch's rows rather than leave it open whether they are there.
	Delivery Delivery

	// OnError says what happens to rows that do not decode. RejectRows needs Rejected.
	OnError  OnError
	Rejected sinks.Sink // takes batch.RejectedSchema; committed before Sink
	// MaxRejected stops the query when one batch has more rejected rows.
	MaxRejected Ceiling

	Trigger Trigger
	Limit   sources.Limit

	BatchTimeout    time.Duration // read to prepare; 0 is no limit. A batch that takes longer is aborted and tried again
	ShutdownTimeout time.Duration // how long a batch may go on after Run's context ends; 0 is 25 s
	RetainBatches   int           // entries kept in the checkpoint's logs; 0 is 100, and less is raised to 100
	MaxRestarts     int           // consecutive failures of services before Run gives up; 0 is 10, negative is none
	Parallelism     int           // parts of a large batch; 0 is GOMAXPROCS

	AcceptChange bool // finish a pending batch although the pipeline has changed
	NewQuery     bool // accept a sink that another query of this name has filled

	Listener Listener
	Log      *slog.Logger     // nil: nothing is logged
	Alloc    memory.Allocator // nil: Go's
	Now      func() time.Time // nil: time.Now. The only clock whose time is written down
	Executor Executor         // nil: this process
}

// Delivery is whether a batch is recorded after its rows are committed, or before.
type Delivery int

// The ways to deliver.
const (
	// ExactlyOnce commits a batch, then records it: after a crash it may run again, and the sink says whether it has it already. With a sink that cannot say, rows may come twice.
	ExactlyOnce Delivery = iota
	// AtMostOnce records a batch, then commits it: a recorded batch never runs again. A crash between the two loses its rows; none come twice.
	AtMostOnce
)

// String is the word of the pipeline file.
func (d Delivery) String() string {
	if d == AtMostOnce {
		return "at_most_once"
	}
	return "exactly_once"
}

// OnError is what to do with a row that does not decode.
type OnError int

// The ways to treat such a row.
const (
	RejectRows OnError = iota // keep it in the table of rejected rows
	FailQuery                 // stop the query
	DropRows                  // count it and go on
)

// Ceiling bounds the rejected rows of one batch; the zero value does not.
type Ceiling struct {
	Rows  int64
	Share float64 // of the rows read, 0.01 is 1 %
}

// Trigger says when batches begin.
type Trigger struct {
	Every    time.Duration // begin at multiples of it; 0: back to back. A batch that overruns is followed at once, missed times are not made up
	Once     bool          // run all that is available at the start, in as many batches as the limits make, then stop
	MinPause time.Duration // between the end of a batch and the begin of the next
}

// minRetain is the least number of batches kept: a paused zombie must meet entries, not free slots.
const minRetain = 100

// withDefaults fills in what was left zero.
func (q Query) withDefaults() Query {
	if q.ShutdownTimeout == 0 {
		q.ShutdownTimeout = 25 * time.Second
	}
	q.RetainBatches = max(q.RetainBatches, minRetain)
	if q.MaxRestarts == 0 {
		q.MaxRestarts = 10
	}
	if q.Parallelism <= 0 {
		q.Parallelism = runtime.GOMAXPROCS(0)
	}
	if q.Log == nil {
		q.Log = slog.New(slog.DiscardHandler)
	}
	if q.Alloc == nil {
		q.Alloc = memory.DefaultAllocator
	}
	if q.Now == nil {
		q.Now = time.Now
	}
	return q
}

// Validate lists everything that is missing or contradictory, without opening anything.
func (q Query) Validate() error {
	var faults []string
	fault := func(bad bool, text string) {
		if bad {
			faults = append(faults, text)
		}
	}
	fault(q.Name == "", "it has no name")
	fault(len(q.Sources) == 0, "it has no source")
	fault(q.Sink == nil, "it has no sink")
	fault(q.Checkpoint == nil, "it has no checkpoint")
	fault(q.Delivery == AtMostOnce && q.Sink != nil && q.Sink.Guarantee().Repeats, "it delivers at most once, and its sink may repeat rows all the same: it shows them before they are committed, or sends again what it got no answer to")
	fault(q.OnError == RejectRows && q.Rejected == nil, "rejected rows have nowhere to go")
	fault(q.Limit.Rows < 0 || q.Limit.Bytes < 0 || q.Limit.Files < 0, "a limit is negative")
	fault(q.Trigger.Every < 0 || q.Trigger.MinPause < 0 || q.BatchTimeout < 0 || q.ShutdownTimeout < 0, "a duration is negative")
	fault(q.Trigger.Once && q.Trigger.Every > 0, "it has a trigger interval and is to run once")
	if len(faults) > 0 {
		return errcode.QueryIncomplete.New(q.Name, "the query cannot run: %s", strings.Join(faults, "; "))
	}
	return nil
}

// Run runs the query until it is done (Trigger.Once), fails, or ctx ends; it is the only loop, and the caller owns the goroutine. When ctx ends, the
// running batch is finished within ShutdownTimeout or abandoned before its commit, and Run returns nil. Components are closed on return.
func (q Query) Run(ctx context.Context) error {
	q = q.withDefaults()
	err := q.Validate()
	if err == nil {
		err = newDriver(q).run(ctx)
	}
	if cerr := q.close(); err == nil && cerr != nil {
		err = cerr
	}
	q.Listener.terminated(err)
	return err
}

// close ends all components and returns the first error.
func (q Query) close() (first error) {
	keep := func(what string, err error) {
		if err != nil && first == nil {
			first = fmt.Errorf("close %s: %w", what, err)
		}
	}
	for _, s := range q.Sources {
		keep("source", s.Close())
	}
	for _, op := range q.Transforms {
		if c, ok := op.(io.Closer); ok { // one that keeps a session between batches
			keep("transform", c.Close())
		}
	}
	if q.Sink != nil {
		keep("sink", q.Sink.Close())
	}
	if q.Rejected != nil {
		keep("sink of rejected rows", q.Rejected.Close())
	}
	return first
}
