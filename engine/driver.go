package engine

import (
	"context"
	"time"

	"microbatch/checkpointlog"
	"microbatch/ident"
	"microbatch/internal/failpoint"
	"microbatch/sinks"
	"microbatch/sources"
)

// driver is one run of a query. It is a state machine: step does the current phase and moves to the next. One goroutine uses it.
type driver struct {
	q          *Query
	checkpoint *checkpointlog.Checkpoint
	facts      pipelineFacts
	evolved    []string // how the pipeline differs from that of the last start, in words
	promise    string   // from end to end
	exec       Executor
	local      *local
	run_       ident.RunID
	info       sinks.QueryInfo // whose epoch we are

	phase    Phase
	last     *checkpointlog.Entry // the newest recorded batch: where the next one starts; nil before batch 0
	current  *current             // the batch under way; nil while planning
	keeps    bool                 // the sink keeps batch ids
	recorded bool                 // this run has recorded a batch
	lowest   ident.BatchID        // the lowest entry that may still be in the logs

	trigger struct {
		began, ended time.Time // of the last batch
		empty        bool      // the last plan found nothing
		idleSince    time.Time
		upkept       time.Time // when upkeep was done last without a batch, or could have been first; zero after a batch, which does it itself
	}
	failures int           // consecutive failures of services
	longest  time.Duration // of the batches that came near the limit of the sink's service

	report *reporter
	unlock func() error
}

// current is the batch under way.
type current struct {
	entry      *checkpointlog.Entry // what is, or will be, offsets/<id>
	before     *checkpointlog.Entry // offsets/<id-1>; nil for batch 0
	ranges     []ident.Range
	plans      []sources.Planned // nil for a batch that was pending
	committing bool              // the sink's commit was called: nothing may be deleted any more
	conflicted time.Time         // when the first attempt was refused by the sink
	rows       int64             // about; -1 if unknown
	behind     int64
	replayed   bool // pending at a start, or recovered in process
	rejected   bool // rows of it are visible in the table of rejected rows
	recorded   bool // commits/<id> is there
	visible    bool // the sink holds it already
	attempts   int
	attempt    ident.Attempt
	started    time.Time // of the attempt, with its monotonic reading
	staged     Staged
	fence      chan error // the answer of the check that no newer epoch is claimed (P3) and that the batch before is what memory says (P4)
	result     sinks.Result
	files      int            // of the committed attempt
	bytes      int64          // of the committed attempt
	changes    *sinks.Changes // of the committed attempt
	watch      stopwatch
	fired      time.Time
}

// recordFirst reports whether the batch is recorded before its rows are committed, and that is still to come.
func (c *current) recordFirst() bool {
	return c.entry.Offsets.AtMostOnce() && !c.recorded && c.result.Outcome == 0
}

func newDriver(q Query) *driver {
	d := &driver{q: &q, checkpoint: checkpointlog.NewCheckpoint(q.Checkpoint), run_: ident.NewRunID()}
	d.report = &reporter{tell: q.Listener.Working}
	d.local = &local{q: d.q, prefetch: &prefetcher{}, report: d.report}
	d.exec = q.Executor
	if d.exec == nil {
		d.exec = d.local
	}
	return d
}

// run starts the query, loops over the phases and cleans up.
func (d *driver) run(ctx context.Context) error {
	d.promise = d.q.Guarantee(ctx).Sentence // nothing is open yet: no service is asked
	work, end := grace(ctx, d.q.ShutdownTimeout)
	defer end()
	defer d.local.prefetch.drop()
	defer func() {
		if d.unlock != nil {
			if err := d.unlock(); err != nil {
				d.q.Log.Error("unlock the checkpoint", "error", err)
			}
		}
	}()
	if err := d.start(ctx); err != nil {
		if ctx.Err() != nil {
			return nil // nothing was fixed yet
		}
		return err
	}
	for d.phase != done {
		stepCtx := work
		if d.phase == Plan { // nothing is fixed: it ends at once
			stepCtx = ctx
		}
		err := d.step(stepCtx)
		if err != nil && stepCtx.Err() == nil {
			err = d.failed(stepCtx, err)
		}
		if stepCtx.Err() != nil && (err != nil || d.phase == Plan) {
			return d.abandoned(stepCtx, err)
		}
		if err != nil {
			d.leave(work, err)
			return err
		}
	}
	return nil
}

// step does one phase and moves to the next.
func (d *driver) step(ctx context.Context) error {
	phase, began := d.phase, time.Now()
	if phase != Prepare { // the executor passes the points of its phases
		failpoint.Hit(phase.String() + ".before")
	}
	next, err := d.do(ctx, phase)
	if err != nil {
		return err
	}
	if phase != Prepare {
		failpoint.Hit(phase.String() + ".after")
		if d.current != nil { // the executor's phases are timed by the reporter
			d.current.watch.add(phase, time.Since(began))
		}
	}
	d.phase = next
	if next == Plan && phase == Release {
		d.finish()
	}
	return nil
}

func (d *driver) do(ctx context.Context, phase Phase) (Phase, error) {
	switch phase {
	case Plan:
		return d.plan(ctx)
	case Intend:
		return d.intend(ctx)
	case Prepare:
		return d.prepare(ctx)
	case Commit:
		return d.commit(ctx)
	case Record:
		return d.record(ctx)
	default:
		return d.release(ctx)
	}
}
