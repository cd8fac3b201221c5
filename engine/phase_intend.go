package engine

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"microbatch/checkpointlog"
	"microbatch/ident"
	"microbatch/internal/bugs"
	"microbatch/internal/errcode"
)

// intend fixes the batch: it puts offsets/<id> (P1). Then it starts the check that is awaited before the commit (P3, P4).
func (d *driver) intend(ctx context.Context) (Phase, error) {
	entry, err := d.nextEntry()
	if err != nil {
		return Intend, err
	}
	d.current.entry = entry
	d.report.begin(d.current)
	start := d.checkStart(ctx) // beside the put, and not later beside the sink's: that one is larger
	if err := d.checkpoint.Offsets.Put(ctx, entry.ID, entry.Bytes); err != nil {
		if errors.Is(err, fs.ErrExist) {
			return Intend, d.meet(ctx, entry.ID)
		}
		return Intend, d.putFailed(d.checkpoint.Offsets.Key(entry.ID), err)
	}
	d.startFence(ctx, start)
	return Prepare, nil
}

// putFailed is an error of putting an entry of a log.
func (d *driver) putFailed(key string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return errcode.CheckpointDamaged.Wrap(err, d.q.Checkpoint.URL()+"/"+key, "it cannot be put: the checkpoint's folder was deleted or moved while the query ran")
	}
	return fmt.Errorf("put %s: %w", key, err)
}

// nextEntry is the entry of the planned batch. Its time is read from the clock once, here, and never goes back.
func (d *driver) nextEntry() (*checkpointlog.Entry, error) {
	var before *checkpointlog.Offsets
	id, at := ident.BatchID(0), d.q.Now().UTC().Truncate(time.Millisecond)
	if d.last != nil {
		before, id = d.last.Offsets, d.last.ID+1
		if before.Timestamp.After(at) && !bugs.Is(bugs.TimeGoesBack) {
			at = before.Timestamp
		}
	}
	ends := make([]ident.Offset, len(d.current.ranges))
	aux := make([]map[string]string, len(d.current.ranges))
	for n, r := range d.current.ranges {
		ends[n], aux[n] = r.To, r.Aux
	}
	offsets := before.Next(d.info.Entry, d.facts.Fingerprint, at, ends, aux)
	if d.q.Delivery == AtMostOnce {
		offsets.MarkAtMostOnce()
	}
	data, err := offsets.Encode()
	if err != nil {
		return nil, err
	}
	return &checkpointlog.Entry{ID: id, Bytes: data, Offsets: offsets}, nil
}

// errRecover says that the truth has to be read again: what memory holds is not what the checkpoint says.
var errRecover = errors.New("the checkpoint has moved on")

// meet decides what an entry means that stands where ours should: a newer driver, another engine, or our own past.
func (d *driver) meet(ctx context.Context, id ident.BatchID) error {
	key := d.checkpoint.Offsets.Key(id)
	if err := d.checkNewest(ctx); err != nil && !bugs.Is(bugs.FightOn) {
		return err
	}
	entry, err := d.checkpoint.ReadEntry(ctx, id)
	if err != nil {
		return fmt.Errorf("%w: %w", errRecover, err)
	}
	who, err := entry.Offsets.Entry()
	if err != nil {
		return err
	}
	if who.IsZero() {
		return errcode.ForeignDriver.New(key, "it was written by another engine, such as Spark, while this driver ran")
	}
	return fmt.Errorf("%w: %s was written by %s", errRecover, key, who)
}

// checkNewest returns an error if a newer epoch than ours is claimed.
func (d *driver) checkNewest(ctx context.Context) error {
	return checkNewest(ctx, d.checkpoint, d.info.Epoch)
}

func checkNewest(ctx context.Context, c *checkpointlog.Checkpoint, ours ident.Epoch) error {
	newest, err := c.NewestEpoch(ctx)
	if err != nil {
		return err
	}
	if newest > ours {
		return errcode.DriverFenced.New("_engine/epoch/"+newest.String(), "epoch %d was claimed after ours, %d", newest, ours)
	}
	return nil
}

// startFence begins the check that the commit waits for: after our own put of offsets/<id> no newer epoch is claimed (P3), and the batch starts where it should
// (start). It overlaps with the work.
func (d *driver) startFence(ctx context.Context, start <-chan error) {
	fence := make(chan error, 1)
	c, ours := d.checkpoint, d.info.Epoch
	d.current.fence = fence
	go func() {
		newest := checkNewest(ctx, c, ours)
		fence <- cmp.Or(newest, <-start)
	}()
}

// checkStart begins to compare offsets/<id-1> in the store with what this batch was planned from (P4).
func (d *driver) checkStart(ctx context.Context) <-chan error {
	start := make(chan error, 1)
	c, ours, before := d.checkpoint, d.info.Epoch, d.current.before
	go func() { start <- checkBefore(ctx, c, ours, before) }()
	return start
}

// checkBefore compares the entry that a batch starts from with the durable one.
func checkBefore(ctx context.Context, c *checkpointlog.Checkpoint, ours ident.Epoch, before *checkpointlog.Entry) error {
	if before == nil {
		return nil
	}
	key := c.Offsets.Key(before.ID)
	data, err := c.Offsets.Get(ctx, before.ID)
	if errors.Is(err, fs.ErrNotExist) { // purged by a newer driver, if we slept for long since we looked for one; or lost
		if err := checkNewest(ctx, c, ours); err != nil {
			return err
		}
		return errcode.CheckpointGap.Wrap(err, key, "it is gone, and batch %d starts where it ends", before.ID+1)
	}
	if err != nil {
		return fmt.Errorf("check %s: %w", key, err)
	}
	if !bytes.Equal(data, before.Bytes) && !bugs.Is(bugs.StartFromMemory) {
		return fmt.Errorf("%w: %s is not what this driver started from", errRecover, key)
	}
	return nil
}
