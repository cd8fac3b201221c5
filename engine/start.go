package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/batch"
	"microbatch/checkpointlog"
	"microbatch/ident"
	"microbatch/internal/bugs"
	"microbatch/internal/errcode"
	"microbatch/internal/failpoint"
	"microbatch/objstore"
	"microbatch/sinks"
)

// start opens and checks everything before anything is written, so that a refused start leaves no trace and never disturbs a running driver; then it
// takes the query over.
func (d *driver) start(ctx context.Context) error {
	if err := d.open(ctx); err != nil {
		return err
	}
	id, err := d.examine(ctx)
	if err != nil && id == "" { // there was no checkpoint: if another start has made it meanwhile, that explains whatever did not fit
		if made, again := d.checkpoint.QueryID(ctx); again == nil && made != "" {
			id, err = d.examine(ctx)
		}
	}
	if err != nil {
		return err
	}
	if err := d.lock(ctx); err != nil {
		return err
	}
	failpoint.Hit("start.before-claim")
	if d.info.ID, err = d.checkpoint.CreateQueryID(ctx, id); err != nil {
		return err
	}
	if err := d.retrying(ctx, func() error { return d.takeOver(ctx, true) }); err != nil {
		return err
	}
	return d.freeze(ctx)
}

// examine looks whether the query may go on: it reads only. id is that of the checkpoint, "" if there is none yet.
func (d *driver) examine(ctx context.Context) (id ident.QueryID, err error) {
	if id, err = d.checkpoint.QueryID(ctx); err != nil {
		return "", damaged(err)
	}
	if id != "" { // a checkpoint that is not there yet cannot be locked without making it
		if err := d.lock(ctx); err != nil {
			return id, err
		}
	}
	d.info = sinks.QueryInfo{ID: id, Name: d.q.Name, Shard: d.q.Shard, NewQuery: d.q.NewQuery, Newest: d.checkpoint.NewestEpoch}
	if err := d.identify(ctx); err != nil {
		return id, err
	}
	if d.q.AcceptChange { // the past is fenced before it is judged
		return id, nil
	}
	truth, err := d.reconcile(ctx, true)
	if err != nil {
		return id, err
	}
	return id, d.judge(ctx, truth)
}

// freeze makes a run that stops when it has caught up stop at what is available now, however much arrives meanwhile.
func (d *driver) freeze(ctx context.Context) error {
	if !d.q.Trigger.Once {
		return nil
	}
	for n, s := range d.q.Sources {
		if err := d.retrying(ctx, func() error { return s.Freeze(ctx) }); err != nil {
			return fmt.Errorf("freeze source %d: %w", n, err)
		}
	}
	return nil
}

// open opens the sources, chains the schemas and lets the sinks check them.
func (d *driver) open(ctx context.Context) error {
	if err := openSources(ctx, d.q, d.checkpoint.Source, d.retrying); err != nil {
		return err
	}
	var err error
	if d.local.in, d.local.schemas, err = schemas(d.q); err != nil {
		return err
	}
	out := (&execution{local: d.local}).outSchema()
	if err := d.retrying(ctx, func() error { return d.q.Sink.Check(ctx, out) }); err != nil {
		return err
	}
	if d.q.Rejected != nil && d.q.OnError == RejectRows {
		return d.retrying(ctx, func() error { return d.q.Rejected.Check(ctx, batch.RejectedSchema()) })
	}
	return nil
}

// openSources opens each source on its place in the checkpoint.
func openSources(ctx context.Context, q *Query, own func(int) objstore.Store, retrying func(context.Context, func() error) error) error {
	for n, s := range q.Sources {
		if err := retrying(ctx, func() error { return s.Open(ctx, own(n)) }); err != nil {
			return fmt.Errorf("open source %d: %w", n, err)
		}
	}
	return nil
}

// schemas are those of the sources, which must agree, and after each transform.
func schemas(q *Query) (in *arrow.Schema, after []*arrow.Schema, err error) {
	in = q.Sources[0].Schema()
	for n, s := range q.Sources[1:] {
		if !s.Schema().Equal(in) {
			return nil, nil, errcode.SchemasDiffer.New(fmt.Sprintf("source %d", n+1), "its schema is %v, that of source 0 is %v", s.Schema(), in)
		}
	}
	schema := in
	for n, op := range q.Transforms {
		if schema, err = op.Output(schema); err != nil {
			return nil, nil, fmt.Errorf("transform %d: %w", n, err)
		}
		after = append(after, schema)
	}
	return in, after, nil
}

// retrying repeats what fails because a service is away, with backoff.
func (d *driver) retrying(ctx context.Context, op func() error) error {
	for {
		err := op()
		if class := errcode.ClassOf(err); err == nil || class != errcode.Retry && class != errcode.Uncertain && !errors.Is(err, errRecover) {
			if err == nil {
				d.failures = 0
			}
			return err
		}
		if err := d.backoff(ctx, err); err != nil {
			return err
		}
	}
}

// lock takes the checkpoint's lock, once. On stores without locks it does nothing.
func (d *driver) lock(ctx context.Context) error {
	if d.unlock != nil {
		return nil
	}
	l, err := d.q.Checkpoint.Lock(ctx, "_engine/lock")
	if errors.Is(err, objstore.ErrLocked) {
		return errcode.CheckpointLocked.Wrap(err, d.q.Checkpoint.URL(), "the checkpoint is in use")
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", d.q.Checkpoint.URL(), err)
	}
	d.unlock = l.Close
	return nil
}

// takeOver claims an epoch, fences the past, and decides how to go on from what is true after that. A start and a recovery in process are this one path.
func (d *driver) takeOver(ctx context.Context, starting bool) error {
	v, err := d.visible(ctx)
	if err != nil {
		return err
	}
	if d.info.Entry, err = d.claim(ctx, max(v.main.Epoch, v.rejected.Epoch)); err != nil {
		return err
	}
	d.info.Epoch = d.info.Entry.Epoch
	failpoint.Hit("start.claimed")
	for n, s := range d.q.Sources {
		if err := s.Pin(ctx); err != nil {
			return fmt.Errorf("pin source %d: %w", n, err)
		}
	}
	failpoint.Hit("start.pinned")
	if starting && d.q.AcceptChange && !bugs.Is(bugs.NoFenceAtChange) {
		if err := d.fenceSinks(ctx); err != nil {
			return err
		}
	}
	truth, err := d.reconcile(ctx, starting)
	if err == nil && starting {
		err = d.judge(ctx, truth)
	}
	if err != nil {
		return err
	}
	for fenced := false; ; fenced = true {
		if err := d.recoverSinks(ctx, truth.plan); err != nil {
			return err
		}
		failpoint.Hit("start.recovered")
		if truth, err = d.reconcile(ctx, starting); err != nil { // the last one counts
			return err
		}
		if len(truth.plan.Lost) == 0 || fenced {
			break
		}
		if err := d.fenceSinks(ctx); err != nil { // whoever was about to commit after all what was recorded cannot any more
			return err
		}
	}
	if err := d.sweepRecorded(ctx, truth); err != nil {
		return err
	}
	return d.begin(ctx, truth)
}

// sweepRecorded sweeps what a crash may have left of batches that were recorded before their commit: nobody runs them again and comes by. Those are the ones that are
// lost (older drivers are fenced off by now), and the last one, which may have been committed and not swept yet.
func (d *driver) sweepRecorded(ctx context.Context, t truth) error {
	ids := t.plan.Lost
	if b := t.plan.Before; b != nil && b.Offsets.AtMostOnce() && !slices.Contains(ids, b.ID) {
		ids = append(slices.Clone(ids), b.ID)
	}
	for _, id := range ids {
		entry, err := d.checkpoint.ReadEntry(ctx, id)
		if err != nil {
			return damaged(err)
		}
		intent := d.intentOf(entry, nil)
		for _, s := range d.sinks() {
			seen := t.seen.main
			if s == d.q.Rejected {
				seen = t.seen.rejected
			}
			intent.Lost = id > seen.Batch
			if sweeper, ok := s.(sinks.Sweeper); ok {
				if err := sweeper.Sweep(ctx, intent); err != nil {
					return fmt.Errorf("sweep batch %d: %w", id, err)
				}
			}
		}
	}
	return nil
}

// claim puts the epoch entry.
func (d *driver) claim(ctx context.Context, floor ident.Epoch) (ident.EntryID, error) {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	return d.checkpoint.Claim(ctx, floor, d.run_, checkpointlog.Epoch{
		Started: isoMillis(d.q.Now()), Host: host, Pipeline: d.q.Name, Shard: d.q.Shard.String(),
		Identity: d.facts.Identity, Evolution: d.facts.Evolution, Fingerprint: d.facts.Fingerprint, Learned: d.facts.Learned,
	})
}

// fenceSinks commits our epoch alone, so that nothing of older epochs can land afterwards.
func (d *driver) fenceSinks(ctx context.Context) error {
	for _, s := range d.sinks() {
		if f, ok := s.(sinks.Fencer); ok {
			if err := f.Fence(ctx, d.info); err != nil {
				return fmt.Errorf("fence: %w", err)
			}
		}
	}
	return nil
}

// recoverSinks lets the sinks prepare for our epoch.
func (d *driver) recoverSinks(ctx context.Context, p checkpointlog.Plan) error {
	var pending *sinks.Intent
	if p.Kind == checkpointlog.Rerun {
		intent := d.intentOf(p.Pending, nil)
		pending = &intent
	}
	for _, s := range d.sinks() {
		if err := s.Recover(ctx, d.info, pending); err != nil {
			return fmt.Errorf("recover sink: %w", err)
		}
	}
	return nil
}

// sinks are the sinks that take part: that of rejected rows first.
func (d *driver) sinks() []sinks.Sink {
	if d.q.Rejected != nil && d.q.OnError == RejectRows {
		return []sinks.Sink{d.q.Rejected, d.q.Sink}
	}
	return []sinks.Sink{d.q.Sink}
}

func (d *driver) intentOf(e *checkpointlog.Entry, ranges []ident.Range) sinks.Intent {
	was := e.Offsets.Fingerprint()
	return sinks.Intent{
		ID: e.ID, Digest: e.Digest(), Entry: e.Bytes, Ranges: ranges, Timestamp: e.Offsets.Timestamp, Changed: was != "" && was != d.facts.Fingerprint,
	}
}

// begin goes on from the truth: what was listed is made durable before it is acted on, since whoever wrote it may have died in the middle.
func (d *driver) begin(ctx context.Context, t truth) error {
	if err := d.syncLogs(ctx, t); err != nil {
		return err
	}
	d.last, d.current, d.phase, d.keeps = t.plan.Before, nil, Plan, t.seen.main.Keeps
	if err := d.checkEnds(ctx, t.plan); err != nil {
		return err
	}
	if d.lowest = max(0, t.logs.LowWatermark+1); len(t.logs.Offsets) > 0 {
		d.lowest = max(d.lowest, t.logs.Offsets[0]) // Spark purges without a low watermark
	}
	if t.plan.Kind == checkpointlog.Rerun {
		d.resume(t.plan)
		d.current.rejected = len(d.sinks()) > 1 && t.seen.rejected.Batch == t.plan.ID
		d.phase = Prepare
		if t.plan.Visible && stateless(d.q.Transforms) {
			d.current.result = sinks.Result{Outcome: sinks.AlreadyCommitted, Version: -1}
			d.phase = Record
		}
	}
	for _, n := range t.plan.Notices {
		d.warn("%s", n)
	}
	tell(d.q.Listener.Started, Started{ID: d.info.ID, Run: d.run_, Name: d.q.Name, Epoch: d.info.Epoch, Plan: words(t.plan), Fresh: t.plan.Kind == checkpointlog.Fresh, Guarantee: d.promise})
	return nil
}

// checkEnds opens the empty range at the end of the last batch, with the facts that were noted there, so that a source notices what was replaced
// while nobody looked (a topic made anew, a log cut off and regrown). A pending batch's own range does the same.
func (d *driver) checkEnds(ctx context.Context, p checkpointlog.Plan) error {
	if p.Kind != checkpointlog.Next || bugs.Is(bugs.EndsUnchecked) {
		return nil
	}
	for n, s := range d.q.Sources {
		end := p.Before.Offsets.Ends[n]
		if end == "" {
			continue
		}
		if _, err := s.Splits(ctx, end, end, p.Before.Offsets.Aux(n), 1); err != nil {
			return fmt.Errorf("source %d at %s: %w", n, end, err)
		}
	}
	return nil
}

// syncLogs makes the entries that we build on durable, and deletes what a purge has left at or below its low watermark.
func (d *driver) syncLogs(ctx context.Context, t truth) error {
	for _, e := range []*checkpointlog.Entry{t.logs.Previous, t.logs.Last} {
		if e != nil && !bugs.Is(bugs.NoSyncOfFound) {
			if err := d.checkpoint.Offsets.Sync(ctx, e.ID); err != nil {
				return fmt.Errorf("sync %s: %w", d.checkpoint.Offsets.Key(e.ID), err)
			}
		}
	}
	if n := len(t.logs.Commits); n > 0 && !bugs.Is(bugs.NoSyncOfFound) {
		if err := d.checkpoint.Commits.Sync(ctx, t.logs.Commits[n-1]); err != nil {
			return fmt.Errorf("sync %s: %w", d.checkpoint.Commits.Key(t.logs.Commits[n-1]), err)
		}
	}
	if n := len(t.logs.Offsets); n > 0 && t.logs.Offsets[0] <= t.logs.LowWatermark {
		return d.checkpoint.Purge(ctx, t.logs.LowWatermark, t.logs.Offsets, t.logs.Commits)
	}
	return nil
}

func words(p checkpointlog.Plan) string {
	switch p.Kind {
	case checkpointlog.Fresh:
		return "a new query"
	case checkpointlog.Rerun:
		if p.Visible {
			return fmt.Sprintf("batch %d is visible already and will be recorded", p.ID)
		}
		return fmt.Sprintf("batch %d was not finished and runs again with the same range", p.ID)
	}
	if n := len(p.Lost); n > 0 {
		return fmt.Sprintf("goes on with batch %d; what was recorded as batch %d is lost (at most once)", p.ID, p.Lost[n-1])
	}
	return fmt.Sprintf("goes on with batch %d", p.ID)
}
