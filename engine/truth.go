package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"microbatch/checkpointlog"
	"microbatch/ident"
	"microbatch/internal/bugs"
	"microbatch/internal/errcode"
	"microbatch/sinks"
)

// truth is what checkpoint and sinks agree on, and what follows from it.
type truth struct {
	logs checkpointlog.Logs
	seen seen
	plan checkpointlog.Plan
}

// seen is what the sinks hold of the query.
type seen struct {
	main     sinks.Visible
	rejected sinks.Visible
}

// settleDeadline bounds how long listings may keep changing while the truth is read.
const settleDeadline = 30 * time.Second

// reconcile asks the sinks between two equal listings of the logs, and decides how to go on.
func (d *driver) reconcile(ctx context.Context, starting bool) (truth, error) {
	deadline := time.Now().Add(settleDeadline)
	for {
		t, err := d.look(ctx)
		if err == nil {
			t.plan, err = d.decide(t, starting)
			return t, err
		}
		if !errors.Is(err, checkpointlog.ErrChanged) {
			return truth{}, damaged(err)
		}
		if time.Now().After(deadline) || !sleep(ctx, 20*time.Millisecond) {
			return truth{}, errcode.CheckpointUnstable.Wrap(err, d.q.Checkpoint.URL(), "for %s", settleDeadline)
		}
	}
}

// look is one try to see logs and sinks at the same moment.
func (d *driver) look(ctx context.Context) (t truth, err error) {
	if t.logs, err = d.checkpoint.ReadLogs(ctx); err != nil {
		return t, err
	}
	if t.seen, err = d.visible(ctx); err != nil {
		return t, err
	}
	same, err := d.checkpoint.SameListing(ctx, t.logs)
	if err == nil && !same && !bugs.Is(bugs.TrustTheListing) {
		err = checkpointlog.ErrChanged
	}
	return t, err
}

// visible asks the sinks.
func (d *driver) visible(ctx context.Context) (s seen, err error) {
	if s.main, err = d.q.Sink.Visible(ctx, d.info); err != nil {
		return s, fmt.Errorf("ask the sink: %w", err)
	}
	s.rejected = sinks.Visible{Batch: ident.NoBatch}
	if len(d.sinks()) > 1 {
		if s.rejected, err = d.q.Rejected.Visible(ctx, d.info); err != nil {
			return s, fmt.Errorf("ask the sink of rejected rows: %w", err)
		}
	}
	return s, nil
}

// decide checks what is known to be impossible to continue, then lets Recover decide.
func (d *driver) decide(t truth, starting bool) (checkpointlog.Plan, error) {
	if !starting && t.seen.main.Epoch > d.info.Epoch {
		return checkpointlog.Plan{}, errcode.DriverFenced.New(d.q.Sink.Describe().Name, "it has seen epoch %d, ours is %d", t.seen.main.Epoch, d.info.Epoch)
	}
	if d.info.ID == "" && len(t.logs.Offsets)+len(t.logs.Commits) > 0 {
		return checkpointlog.Plan{}, errcode.CheckpointDamaged.New("metadata", "it is missing, but the checkpoint has batches: without the query id they would be written twice")
	}
	var rejected *checkpointlog.Visible
	if len(d.sinks()) > 1 {
		r := asVisible(d.q.Rejected, t.seen.rejected)
		rejected = &r
	}
	plan, err := checkpointlog.Recover(t.logs, asVisible(d.q.Sink, t.seen.main), rejected, starting)
	if err != nil {
		return plan, err
	}
	for _, e := range []*checkpointlog.Entry{t.logs.Previous, t.logs.Last} {
		if e != nil && len(e.Offsets.Ends) != len(d.q.Sources) {
			return plan, errcode.CheckpointUnsupported.New(d.checkpoint.Offsets.Key(e.ID), "it has offsets of %d sources, the query has %d", len(e.Offsets.Ends), len(d.q.Sources))
		}
	}
	return plan, nil
}

func asVisible(s sinks.Sink, v sinks.Visible) checkpointlog.Visible {
	return checkpointlog.Visible{Sink: s.Describe().Name, Exempt: !v.Keeps, Batch: v.Batch, Digest: v.Digest, HasDigest: v.HasDigest, Behind: v.Behind}
}

// judge compares the pipeline with the one that the checkpoint belongs to. It reads only.
func (d *driver) judge(ctx context.Context, t truth) error {
	if t.plan.Kind == checkpointlog.Fresh && len(t.seen.main.Others) > 0 && !d.q.NewQuery {
		return errcode.FreshOnUsed.New(d.q.Sink.Describe().Name, "it was filled by pipeline %s under query id %s, and the checkpoint %s has no batch", d.q.Name, t.seen.main.Others[0], d.q.Checkpoint.URL())
	}
	for info, err := range d.q.Checkpoint.List(ctx, "state/", "") {
		if err != nil {
			return fmt.Errorf("list state: %w", err)
		}
		return errcode.CheckpointUnsupported.New(info.Key, "the query keeps state of Spark, which cannot be continued here")
	}
	if t.plan.Kind == checkpointlog.Rerun {
		if was := t.plan.Pending.Offsets.Fingerprint(); was != "" && was != d.facts.Fingerprint && !d.q.AcceptChange {
			return errcode.ChangedWhilePending.New(d.checkpoint.Offsets.Key(t.plan.ID), "batch %d was planned by another version of the pipeline: %s", t.plan.ID, strings.Join(d.evolved, "; "))
		}
	}
	return nil
}

// identify says what the pipeline is and compares it with the one that claimed the newest epoch. Another identity is refused whatever was accepted.
func (d *driver) identify(ctx context.Context) (err error) {
	if d.facts, err = describe(d.q); err != nil {
		return err
	}
	newest, err := d.checkpoint.NewestEpoch(ctx)
	if err != nil || newest == 0 {
		return err
	}
	entry, err := d.checkpoint.ReadEpoch(ctx, newest)
	if err != nil {
		return damaged(err)
	}
	if d.evolved, err = d.facts.compareWith(entry); err != nil {
		return err
	}
	d.facts.inherit(entry)
	for _, e := range d.evolved {
		d.q.Log.Info("the pipeline has changed since the last start", "change", e)
	}
	return nil
}

// damaged gives a damaged file of the checkpoint its code.
func damaged(err error) error {
	if d, ok := errors.AsType[checkpointlog.Damaged](err); ok {
		return errcode.CheckpointDamaged.Wrap(d.Err, d.Key, "it cannot be read")
	}
	return err
}
