package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"microbatch/internal/bugs"
	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/sinks"
)

// conflictDeadline bounds how long a batch is staged again and again because others change the sink.
const conflictDeadline = 10 * time.Minute

// failed decides what an error of a step means. It returns nil when the driver goes on, in the phase it has set, and the error when the query stops:
//
//	conflict                       Abort; a new attempt on the new snapshot, until a deadline
//	the logs moved on, uncertain   delete nothing; new epoch and Recover (P5)
//	retryable: plan, prepare       the same phase again, with backoff
//	retryable: intend and later    as uncertain: what is durable is read, not guessed
//	                               (a batch that was recorded before its commit is then found in the sink, or is lost)
//	everything else                stop; the next process verifies. If a newer epoch was claimed, that is why (overtaken)
func (d *driver) failed(ctx context.Context, err error) error {
	class := errcode.ClassOf(err)
	switch {
	case errors.Is(err, errConflict):
		return d.again(ctx, err)
	case errors.Is(err, errRecover), class == errcode.Uncertain:
		return d.recoverInProcess(ctx, err)
	case class != errcode.Retry:
		return d.overtaken(ctx, err)
	case d.phase == Plan:
		return d.backoff(ctx, err)
	case d.phase == Prepare, d.phase == Commit && !d.current.committing:
		d.unstage(ctx)
		d.phase = Prepare
		return d.backoff(ctx, err)
	default:
		return d.recoverInProcess(ctx, err)
	}
}

// overtaken is the error of a driver that has not tried to commit, unless a newer one has claimed its epoch: whatever it has stumbled over then, as an entry that the newer
// one has purged, is what happens to those who were overtaken.
func (d *driver) overtaken(ctx context.Context, err error) error {
	if errcode.ClassOf(err) == errcode.Fenced || d.current != nil && d.current.committing {
		return err
	}
	if newer := d.checkNewest(ctx); errcode.Has(newer, errcode.DriverFenced) {
		return fmt.Errorf("%w; it was found by: %w", newer, err)
	}
	return err
}

// again aborts the attempt and has it staged anew.
func (d *driver) again(ctx context.Context, err error) error {
	cur := d.current
	if cur.conflicted.IsZero() {
		cur.conflicted = time.Now()
	}
	if time.Since(cur.conflicted) > conflictDeadline {
		return err
	}
	d.warn("batch %d is prepared again: %v", cur.entry.ID, err)
	if !bugs.Is(bugs.AheadIsAnyRange) {
		d.local.prefetch.drop() // it reads what follows; of a source that has nothing in this batch that is the same range
	}
	d.unstage(ctx)
	d.phase = Prepare
	return nil
}

// unstage aborts what is staged and not committed. A failure leaves orphans, which the sweep or vacuum takes.
func (d *driver) unstage(ctx context.Context) {
	cur := d.current
	for _, staged := range []struct {
		sink    sinks.Sink
		pending sinks.Pending
	}{{d.q.Rejected, cur.staged.Rejected}, {d.q.Sink, cur.staged.Sink}} {
		if err := abort(ctx, staged.sink, staged.pending, nil); err != nil {
			d.warn("batch %d: %v", cur.entry.ID, err)
		}
	}
	cur.staged, cur.fence, cur.committing = Staged{}, nil, false
}

// leave removes what a query that stops has staged and not tried to commit, or what the sink has refused for good: if another driver has gone on meanwhile,
// nobody runs the batch again and sweeps. After a failed fsync nothing is deleted.
func (d *driver) leave(ctx context.Context, err error) {
	if errors.Is(err, objstore.ErrFsync) {
		return
	}
	if cur := d.current; cur != nil && (!cur.committing || errcode.Has(err, errcode.DriverFenced)) {
		d.unstage(ctx)
	}
}

// backoff counts a failure and waits before the phase is tried again.
func (d *driver) backoff(ctx context.Context, err error) error {
	d.failures++
	if d.failures > d.q.MaxRestarts {
		return errcode.RestartsSpent.Wrap(err, d.at(), "failures in a row: %d; the last", d.failures)
	}
	pause := min(100*time.Millisecond<<min(d.failures, 10), 30*time.Second)
	d.warn("%s: failure %d of %d, again in %s: %v", d.at(), d.failures, d.q.MaxRestarts, pause, err)
	if !sleep(ctx, pause) {
		return ctx.Err()
	}
	return nil
}

// recoverInProcess claims a new epoch and reads the truth, as a start does, and goes on from it.
func (d *driver) recoverInProcess(ctx context.Context, err error) error {
	d.local.prefetch.drop()
	if d.current != nil && !d.current.committing {
		d.unstage(ctx)
	}
	d.current = nil // what was staged and tried to commit stays: it may have become part of the result
	for {
		if stop := d.backoff(ctx, err); stop != nil {
			return stop
		}
		if err = d.takeOver(ctx, false); err == nil {
			return nil
		}
		if class := errcode.ClassOf(err); class != errcode.Retry && class != errcode.Uncertain && !errors.Is(err, errRecover) {
			return err
		}
	}
}

// at names the place of a failure: the phase, and the batch if there is one.
func (d *driver) at() string {
	if d.current != nil && d.current.entry != nil {
		return d.phase.String() + " of batch " + d.current.entry.ID.String()
	}
	return d.phase.String()
}

// sleep waits; false if ctx ended first.
func sleep(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
