package checkpointlog

import (
	"fmt"

	"microbatch/ident"
	"microbatch/internal/bugs"
	"microbatch/internal/errcode"
)

// Logs is what was listed and read of a checkpoint.
type Logs struct {
	LowWatermark ident.BatchID
	Offsets      []ident.BatchID // all ids, ascending
	Commits      []ident.BatchID
	Last         *Entry // offsets/L, the newest above the low watermark; nil if there is none
	Previous     *Entry // offsets/L-1; nil if there is none
}

// Entry is an entry of offsets with its bytes.
type Entry struct {
	ID      ident.BatchID
	Bytes   []byte
	Offsets *Offsets
}

// Digest identifies the batch.
func (e *Entry) Digest() ident.Digest { return ident.DigestOf(e.Bytes) }

// Visible is what a sink says it holds of the query.
type Visible struct {
	Sink      string // for messages: "the table s3://lake/orders"
	Exempt    bool   // it keeps no ids: nothing is compared
	Batch     ident.BatchID
	Digest    ident.StoredDigest
	HasDigest bool
	Behind    string // what it means, and what to do, when the sink holds less than the checkpoint has recorded; "": it was restored or deleted
}

// PlanKind says how a query begins.
type PlanKind int

// The ways to begin.
const (
	Fresh PlanKind = iota // batch 0, from the sources' initial positions
	Rerun                 // the last batch again, with its ranges, time and watermark
	Next                  // a new batch after the last one
)

// Plan is what Recover decides.
type Plan struct {
	Kind PlanKind
	ID   ident.BatchID // of the batch to run
	// Pending is the batch to run again; nil unless Rerun.
	Pending *Entry
	// Before is the batch before ID: its ends are where ID starts; nil for batch 0.
	Before *Entry
	// Visible says that the sink holds the pending batch already: its commit will be a no-op.
	Visible bool
	// Lost are batches that are recorded and not in the sink, ascending, as far as their entries are there: they were recorded first (Offsets.AtMostOnce), and never run again.
	Lost []ident.BatchID
	// Notices are things to tell the user.
	Notices []string
}

// Recover decides how a query goes on, from what its checkpoint and its sink hold. rejected is the table of rejected rows (nil: none). starting is
// false for a driver that recovers while it runs: then a batch without a digest, which a start accepts from Spark, is refused.
func Recover(logs Logs, visible Visible, rejected *Visible, starting bool) (Plan, error) {
	offsets, commits := above(logs.Offsets, logs.LowWatermark), above(logs.Commits, logs.LowWatermark)
	if len(offsets) == 0 {
		return recoverEmpty(commits, logs.LowWatermark, visible, rejected)
	}
	last := offsets[len(offsets)-1]
	if err := checkDense("offsets", offsets); err != nil {
		return Plan{}, err
	}
	if err := checkDense("commits", commits); err != nil {
		return Plan{}, err
	}
	if last > 0 && logs.Previous == nil {
		return Plan{}, errcode.CheckpointGap.New(fmt.Sprintf("offsets/%d", last-1), "it is missing, and batch %d starts where it ends", last)
	}
	done := ident.NoBatch
	if len(commits) > 0 {
		done = commits[len(commits)-1]
	}
	switch {
	case done > last:
		return Plan{}, errcode.CheckpointGap.New(fmt.Sprintf("offsets/%d", done), "it is missing, but commits/%d is there", done)
	case done < last-1:
		return Plan{}, errcode.CheckpointGap.New(fmt.Sprintf("commits/%d", last-1), "it is missing, but offsets/%d is there", last)
	}
	plan := Plan{Kind: Next, ID: last + 1, Before: logs.Last}
	if done == last-1 || bugs.Is(bugs.LostRunsAgain) && logs.atMostOnce(last) {
		plan = Plan{Kind: Rerun, ID: last, Pending: logs.Last, Before: logs.Previous}
	}
	return plan, plan.compare(done, logs, visible, rejected, starting)
}

// recoverEmpty is for a checkpoint without offsets.
func recoverEmpty(commits []ident.BatchID, low ident.BatchID, visible Visible, rejected *Visible) (Plan, error) {
	if len(commits) > 0 {
		return Plan{}, errcode.CheckpointGap.New(fmt.Sprintf("offsets/%d", commits[len(commits)-1]), "offsets has no entries, but commits/%d is there", commits[len(commits)-1])
	}
	if low != ident.NoBatch {
		return Plan{}, errcode.CheckpointGap.New(fmt.Sprintf("offsets/%d", low+1), "offsets has no entries above the low watermark %d", low)
	}
	for _, v := range []*Visible{&visible, rejected} {
		if v != nil && !v.Exempt && v.Batch != ident.NoBatch {
			return Plan{}, errcode.CheckpointBehind.New(v.Sink, "it holds batch %d of this query, but the checkpoint has no batch: entries of offsets were deleted", v.Batch)
		}
	}
	return Plan{Kind: Fresh}, nil
}

// compare holds the sink's last batch against the checkpoint's, done.
func (p *Plan) compare(done ident.BatchID, logs Logs, visible Visible, rejected *Visible, starting bool) error {
	if !visible.Exempt {
		switch {
		case visible.Batch > logs.Last.ID:
			return errcode.CheckpointBehind.New(visible.Sink, "it holds batch %d of this query, but the checkpoint ends at %d: the checkpoint was restored from a copy, or a copy of it runs elsewhere", visible.Batch, logs.Last.ID)
		case visible.Batch < done && logs.atMostOnce(done):
			p.lose(visible, done, logs)
		case visible.Batch < done && visible.Behind != "":
			return errcode.SinkBehind.New(visible.Sink, "%s of this query, but the checkpoint has recorded batch %d", holds(visible.Batch), done).Advise("%s", visible.Behind)
		case visible.Batch < done:
			return errcode.SinkBehind.New(visible.Sink, "%s of this query, but the checkpoint has recorded batch %d: the table was restored to an older version, deleted or replaced", holds(visible.Batch), done)
		}
		if err := p.compareDigest(visible, logs, starting); err != nil {
			return err
		}
		p.Visible = p.Kind == Rerun && visible.Batch == p.ID
	}
	if rejected != nil && !rejected.Exempt && rejected.Batch > done {
		if p.Kind != Rerun || rejected.Batch != p.ID {
			return errcode.CheckpointBehind.New(rejected.Sink, "it holds rejected rows of batch %d, but the checkpoint has recorded %d: the checkpoint was restored from a copy, or a copy of it runs elsewhere", rejected.Batch, done)
		}
		return p.compareDigest(*rejected, logs, starting)
	}
	return nil
}

// atMostOnce reports whether a batch, the last one or the one before, is recorded before its rows are committed.
func (l *Logs) atMostOnce(id ident.BatchID) bool {
	for _, e := range []*Entry{l.Last, l.Previous} {
		if e != nil && e.ID == id {
			return e.Offsets.AtMostOnce()
		}
	}
	return false
}

// lose notes the recorded batches that the sink does not hold. They are not run again: whether a crash took their rows, or somebody took them out of the sink, it is
// not told here, and rows that never come are what at_most_once allows.
func (p *Plan) lose(visible Visible, done ident.BatchID, logs Logs) {
	for _, id := range above(logs.Offsets, logs.LowWatermark) {
		if id > visible.Batch && id <= done {
			p.Lost = append(p.Lost, id)
		}
	}
	what := fmt.Sprintf("batch %d was recorded and is not in %s: its rows are lost", done, visible.Sink)
	if first := visible.Batch + 1; first < done {
		what = fmt.Sprintf("batches %d to %d were recorded and are not in %s: their rows are lost", first, done, visible.Sink)
	}
	p.Notices = append(p.Notices, "at most once: "+what)
}

// compareDigest checks that the newest visible batch is the one that the checkpoint has under this id.
func (p *Plan) compareDigest(v Visible, logs Logs, starting bool) error {
	var entry *Entry
	for _, e := range []*Entry{logs.Last, logs.Previous} {
		if e != nil && e.ID == v.Batch {
			entry = e
		}
	}
	if entry == nil {
		return nil
	}
	if !v.HasDigest || !v.Digest.OfBatch(v.Batch) {
		if !starting {
			return errcode.ForeignDriver.New(v.Sink, "batch %d was committed by a writer that stores no digest, such as Spark, while this driver ran", v.Batch)
		}
		p.Notices = append(p.Notices, fmt.Sprintf("%s holds batch %d from a writer that stores no digest, such as Spark: accepted", v.Sink, v.Batch))
		return nil
	}
	if v.Digest != entry.Digest().Stored(v.Batch) {
		return errcode.ForeignDigest.New(v.Sink, "batch %d there was made from other offsets than offsets/%d here says: another checkpoint commits under this query id", v.Batch, v.Batch)
	}
	return nil
}

func holds(b ident.BatchID) string {
	if b == ident.NoBatch {
		return "it holds no batch"
	}
	return fmt.Sprintf("it holds batch %d", b)
}

// above drops the ids at or below the low watermark.
func above(ids []ident.BatchID, low ident.BatchID) []ident.BatchID {
	for len(ids) > 0 && ids[0] <= low {
		ids = ids[1:]
	}
	return ids
}

func checkDense(log string, ids []ident.BatchID) error {
	for i := 1; i < len(ids); i++ {
		if want := ids[i-1] + 1; ids[i] != want {
			return errcode.CheckpointGap.New(fmt.Sprintf("%s/%d", log, want), "it is missing, but %s/%d is there", log, ids[i])
		}
	}
	return nil
}
