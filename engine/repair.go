package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"microbatch/checkpointlog"
	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/sinks"
	"microbatch/sources"
)

// Repair brings a checkpoint into a state that a start accepts, from what the sink proves. Each step is safe on its own, so a repair that is cut off is repeated.
//
//	offsets/<id> damaged or missing, held by the sink     rebuilt from the text in the sink's log
//	offsets/<last> damaged, only its rejected rows held   rebuilt from the text in the log of the sink of rejected rows
//	offsets/<last> damaged, not held by any sink          dropped: nothing of the batch is visible
//	an entry missing further below                        rebuilt, or the low watermark is raised past it
//	commits/<id> missing below the last                   put: the sink holds a later batch
//	the checkpoint is older than the sink, or is gone     the entries since are rebuilt
//	the sink is older than the checkpoint (Rewind)        entries after the sink's batch are dropped, and those batches run again
//
// What it cannot prove it refuses.
type Repair struct {
	Rewind bool // accept that the sink went back
	DryRun bool // say what would be done; claims nothing, writes nothing
	Step   func(string)
}

// repairer is a repair under way.
type repairer struct {
	*driver
	Repair
	main, rejected sinks.Visible
	offsets        []ident.BatchID
	commits        []ident.BatchID
	low            ident.BatchID
}

// Repair repairs the query's checkpoint. It takes the lock, claims an epoch and commits it to the sinks before it judges, so that nothing of the past can land
// afterwards. It closes the components.
func (q Query) Repair(ctx context.Context, how Repair) (err error) {
	q = q.withDefaults()
	defer func() {
		if cerr := q.close(); err == nil {
			err = cerr
		}
	}()
	r := &repairer{driver: newDriver(q), Repair: how}
	defer func() {
		if r.unlock != nil {
			err = errors.Join(err, r.unlock())
		}
	}()
	if how.DryRun {
		return r.rehearse(ctx)
	}
	return r.run(ctx)
}

// rehearse is a dry run. It holds nobody off, so it looks again until the checkpoint did not change meanwhile, and only then says what it found.
func (r *repairer) rehearse(ctx context.Context) error {
	say, deadline := r.Step, time.Now().Add(settleDeadline)
	for {
		var steps []string
		r.Step = func(text string) { steps = append(steps, text) }
		before, err := r.checkpoint.List(ctx)
		if err != nil {
			return err
		}
		found := r.run(ctx)
		same, err := r.checkpoint.SameListing(ctx, before)
		if err != nil {
			return err
		}
		if same {
			for _, text := range steps {
				say(text)
			}
			return found
		}
		if time.Now().After(deadline) || !sleep(ctx, 20*time.Millisecond) {
			return errcode.CheckpointUnstable.Wrap(checkpointlog.ErrChanged, r.q.Checkpoint.URL(), "for %s", settleDeadline)
		}
	}
}

// run goes through the repair once.
func (r *repairer) run(ctx context.Context) error {
	steps, say := 0, r.Step
	r.Step = func(text string) { steps++; say(text) }
	if err := r.prepareRepair(ctx); err != nil {
		return err
	}
	if err := r.mend(ctx); err != nil {
		return err
	}
	if r.DryRun && steps > 0 {
		return nil // checkpoint and sink would be compared after that
	}
	_, err := r.reconcile(ctx, true)
	if err == nil {
		r.Step("the checkpoint and the sink agree: `microbatch start` is next, which looks at the sources too")
	}
	return err
}

// prepareRepair finds the query id, fences the past and asks the sinks.
func (r *repairer) prepareRepair(ctx context.Context) error {
	id, err := r.checkpoint.QueryID(ctx)
	if err != nil {
		if _, torn := errors.AsType[checkpointlog.Damaged](err); !torn {
			return err
		}
		return errcode.RepairImpossible.Wrap(err, "metadata", "it is damaged: the query id stands nowhere else in the checkpoint").
			Advise("Delete the file metadata and run the repair again: the id is then taken from the sink.")
	}
	r.info = sinks.QueryInfo{ID: id, Name: r.q.Name, Shard: r.q.Shard, Newest: r.checkpoint.NewestEpoch}
	if id == "" {
		if err := r.adoptID(ctx); err != nil {
			return err
		}
	}
	if !r.DryRun {
		if err := r.fencePast(ctx); err != nil {
			return err
		}
	}
	s, err := r.visible(ctx)
	r.main, r.rejected = s.main, s.rejected
	return err
}

// adoptID takes the query id from the sink, if only one query has filled it under our pipeline's name.
func (r *repairer) adoptID(ctx context.Context) error {
	s, err := r.visible(ctx)
	if err != nil {
		return err
	}
	name := r.q.Sink.Describe().Name
	if n := len(s.main.Others); n != 1 {
		return errcode.RepairImpossible.New("metadata", "it is missing, and %s was filled by %d queries of pipeline %s", name, n, r.q.Name)
	}
	if err := r.mayRebuild(); err != nil { // before anything is written: all entries would have to be
		return err
	}
	r.info.ID = s.main.Others[0]
	r.Step(fmt.Sprintf("metadata is rebuilt: %s names query id %s", name, r.info.ID))
	if r.DryRun {
		return nil
	}
	_, err = r.checkpoint.CreateQueryID(ctx, r.info.ID)
	return err
}

func (r *repairer) fencePast(ctx context.Context) error {
	if err := r.lock(ctx); err != nil {
		return err
	}
	s, err := r.visible(ctx)
	if err != nil {
		return err
	}
	if err := r.identify(ctx); err != nil {
		return err
	}
	if r.info.Entry, err = r.claim(ctx, max(s.main.Epoch, s.rejected.Epoch)); err != nil {
		return err
	}
	r.info.Epoch = r.info.Entry.Epoch
	return r.fenceSinks(ctx)
}

// mend goes from the newest id down, then mends the commits.
func (r *repairer) mend(ctx context.Context) error {
	logs, err := r.checkpoint.List(ctx)
	if err != nil {
		return err
	}
	r.low, r.offsets, r.commits = logs.LowWatermark, logs.Offsets, logs.Commits
	top := max(newest(r.offsets), newest(r.commits))
	if r.main.Keeps {
		if top > ident.NoBatch && r.main.Batch < newest(r.commits) && (r.Rewind || !r.recordedFirst(ctx, newest(r.commits))) {
			return r.rewind(ctx)
		}
	}
	held := max(r.main.Batch, r.rejected.Batch) // of a batch that was not finished, the sink of rejected rows may hold its part alone
	if held > newest(r.offsets) {
		if err := r.mayRebuild(); err != nil {
			return err
		}
	}
	top = max(top, held)
	if top == ident.NoBatch {
		r.Step("the checkpoint has no batch, and neither has the sink: there is nothing to repair")
		return nil
	}
	if top, err = r.mendOffsets(ctx, top); err != nil {
		return err
	}
	return r.mendCommits(ctx, top)
}

// recordedFirst reports whether a recorded batch may be missing in the sink: it is of a query that delivers at most once. An entry that cannot be read does not say so.
func (r *repairer) recordedFirst(ctx context.Context, id ident.BatchID) bool {
	e, err := r.checkpoint.ReadEntry(ctx, id)
	return err == nil && e.Offsets.AtMostOnce()
}

// mendOffsets makes offsets/<top> and below readable and dense; it returns the newest id that is left.
func (r *repairer) mendOffsets(ctx context.Context, top ident.BatchID) (ident.BatchID, error) {
	lowest := max(r.low+1, 0)
	if len(r.offsets) > 0 {
		lowest = max(lowest, min(r.offsets[0], top-1))
	} else {
		lowest = max(lowest, top-1)
	}
	for id := top; id >= lowest; id-- {
		why, err := r.broken(ctx, id)
		if err != nil {
			return top, err
		}
		if why == nil {
			continue
		}
		switch rebuilt, err := r.rebuild(ctx, id, why); {
		case err != nil:
			return top, err
		case rebuilt:
		case id == top && r.main.Keeps && r.main.Batch < id && r.rejected.Batch < id && !slices.Contains(r.commits, id):
			r.Step(fmt.Sprintf("offsets/%d is dropped (%v): the sink holds batch %d, so nothing of it is visible", id, why, r.main.Batch))
			if err := r.delete(ctx, r.checkpoint.Offsets, id); err != nil {
				return top, err
			}
			top--
		case id < top-1:
			r.Step(fmt.Sprintf("the low watermark is raised to %d (%v): older entries are not needed to go on", id, why))
			if r.DryRun {
				return top, nil
			}
			r.low = id
			return top, r.checkpoint.Purge(ctx, id, r.offsets, r.commits)
		default:
			return top, errcode.RepairImpossible.Wrap(why, r.checkpoint.Offsets.Key(id), "the sink's log does not hold the text of batch %d", id)
		}
	}
	return top, nil
}

// broken says why an entry cannot be used; nil if it can.
func (r *repairer) broken(ctx context.Context, id ident.BatchID) (why, err error) {
	_, err = r.checkpoint.ReadEntry(ctx, id)
	if errors.Is(err, fs.ErrNotExist) {
		return errors.New("it is missing"), nil
	}
	if d, torn := errors.AsType[checkpointlog.Damaged](err); torn {
		return d.Err, nil
	}
	return nil, err
}

// rebuild puts offsets/<id> from the text in the sink's log.
func (r *repairer) rebuild(ctx context.Context, id ident.BatchID, why error) (bool, error) {
	sink := r.q.Sink
	if id > r.main.Batch {
		if sink = r.q.Rejected; id > r.rejected.Batch {
			return false, nil
		}
	}
	history, ok := sink.(sinks.Historian)
	if !ok {
		return false, nil
	}
	text, err := history.EntryText(ctx, r.info, id)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the text of batch %d from the sink: %w", id, err)
	}
	if _, err := checkpointlog.ParseOffsets(text); err != nil {
		return false, errcode.RepairImpossible.Wrap(err, r.checkpoint.Offsets.Key(id), "the text in the sink's log is no offsets entry")
	}
	r.Step(fmt.Sprintf("offsets/%d is rebuilt from the sink's log (%v)", id, why))
	if r.DryRun {
		return true, nil
	}
	return true, r.checkpoint.Offsets.Replace(ctx, id, text)
}

// mendCommits puts the commits that the sink proves, and drops a damaged one.
func (r *repairer) mendCommits(ctx context.Context, top ident.BatchID) error {
	data, err := checkpointlog.Commits{Entry: r.info.Entry}.Encode()
	if err != nil {
		return err
	}
	proven := top - 1 // a batch is planned only after the one before it was recorded
	if r.main.Keeps {
		proven = min(r.main.Batch, top)
	}
	first := top - 1
	if len(r.commits) > 0 {
		first = min(first, r.commits[0])
	}
	for id := max(first, r.low+1, 0); id <= top; id++ {
		old, err := r.checkpoint.Commits.Get(ctx, id)
		if err == nil {
			if _, err = checkpointlog.ParseCommits(old); err == nil {
				continue
			}
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		} else if id > proven {
			continue // pending: the next start runs it
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = errors.New("it is missing")
		}
		r.Step(fmt.Sprintf("commits/%d is mended (%v)", id, err))
		if err := r.mendCommit(ctx, id, id <= proven, data); err != nil {
			return err
		}
	}
	return nil
}

// mendCommit puts a commit that the sink proves in the place of a damaged or missing one, and drops any other.
func (r *repairer) mendCommit(ctx context.Context, id ident.BatchID, proven bool, data []byte) error {
	switch {
	case !proven:
		return r.delete(ctx, r.checkpoint.Commits, id)
	case r.DryRun:
		return nil
	}
	return r.checkpoint.Commits.Replace(ctx, id, data)
}

// rewind drops what comes after the sink's batch, so that those batches run again: the first with its range, later ones planned anew.
func (r *repairer) rewind(ctx context.Context) error {
	t := r.main.Batch
	at := r.q.Sink.Describe().Name
	switch {
	case r.main.Behind != "": // it has forgotten its batches, and their rows are there: they may not come again
		return errcode.SinkBehind.New(at, "%s, the checkpoint has recorded %d", heldText(t), newest(r.commits)).Advise("%s", r.main.Behind)
	case !r.Rewind:
		return errcode.SinkBehind.New(at, "%s, the checkpoint has recorded %d", heldText(t), newest(r.commits))
	case !slices.Contains(r.offsets, t+1):
		return errcode.RepairImpossible.New(r.checkpoint.Offsets.Key(t+1), "it is purged: the ranges of the lost batches are not known any more")
	case len(r.sinks()) > 1 && r.rejected.Batch > t+1:
		return errcode.RepairImpossible.New(r.q.Rejected.Describe().Name, "it holds rejected rows of batch %d, which would come twice: restore it to the same moment as the table", r.rejected.Batch)
	}
	r.Step(fmt.Sprintf("batches %d to %d are run again: %s", t+1, newest(r.offsets), heldText(t)))
	r.Step("files of the lost batches that are still in the table's folder are in no version: a plain glob sees them until `microbatch table vacuum`")
	for id := max(newest(r.offsets), newest(r.commits)); id > t; id-- { // from the end, so that what is left is dense at every moment
		if err := r.delete(ctx, r.checkpoint.Commits, id); err != nil {
			return err
		}
		if id > t+1 {
			if err := r.delete(ctx, r.checkpoint.Offsets, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// mayRebuild refuses to rebuild entries of a source that keeps more in the checkpoint than where it began.
func (r *repairer) mayRebuild() error {
	for n, s := range r.q.Sources {
		if k, ok := s.(sources.LogKeeper); ok && k.KeepsLog() {
			return errcode.RepairImpossible.New(fmt.Sprintf("sources/%d", n), "its log of what was read already is part of the checkpoint, and the sink does not hold it")
		}
	}
	return nil
}

// delete drops an entry durably, unless a newer epoch is claimed: then another repair or a driver has gone on since we looked, and the entry may be theirs.
func (r *repairer) delete(ctx context.Context, log checkpointlog.Log, id ident.BatchID) error {
	if r.DryRun {
		return nil
	}
	if err := r.checkNewest(ctx); err != nil {
		return err
	}
	return objstore.Remove(ctx, r.q.Checkpoint, []string{log.Key(id)})
}

func newest(ids []ident.BatchID) ident.BatchID {
	if len(ids) == 0 {
		return ident.NoBatch
	}
	return ids[len(ids)-1]
}

func heldText(t ident.BatchID) string {
	if t == ident.NoBatch {
		return "the sink holds no batch"
	}
	return fmt.Sprintf("the sink holds batch %d", t)
}
