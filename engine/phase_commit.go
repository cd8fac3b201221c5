package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"microbatch/internal/bugs"
	"microbatch/internal/errcode"
	"microbatch/internal/failpoint"
	"microbatch/sinks"
)

// oldestAttempt is how old staged files may get: clean-up of orphans, ours and others', takes files that are older than 48 hours.
const oldestAttempt = 24 * time.Hour

// errConflict says that the attempt was refused because of what others did to the sink: it is staged again.
var errConflict = errors.New("the sink has changed")

// commit makes the batch visible: the rejected rows first, so that a visible batch never lacks them, then the rows.
func (d *driver) commit(ctx context.Context) (Phase, error) {
	cur := d.current
	if err := d.ready(ctx); err != nil {
		return Commit, err
	}
	if d.keeps || cur.recorded { // from here on the batch is finished: the stores' own budgets bound it. A sink without batch ids gets it again, unless it is recorded
		ctx = context.WithoutCancel(ctx)
	}
	cur.committing = true
	if d.ahead() {
		d.local.prefetch.start(ctx, d.local, cur.entry.Offsets.Ends)
	}
	if bugs.Seeded {
		if err := d.tooEarly(ctx); err != nil {
			return Commit, err
		}
	}
	if cur.staged.Rejected != nil {
		if _, err := d.commitTo(ctx, d.q.Rejected, cur.staged.Rejected); err != nil {
			return Commit, fmt.Errorf("rejected rows: %w", err)
		}
		cur.staged.Rejected, cur.rejected = nil, true
		failpoint.Hit("commit.rejected")
	}
	result, err := d.commitTo(ctx, d.q.Sink, cur.staged.Sink)
	if err != nil {
		return Commit, err
	}
	d.nearLimit(result.Outcome)
	out := cur.staged.Sink.Staged()
	cur.result, cur.files, cur.bytes, cur.staged.Sink = result, out.Files, out.Bytes, nil
	if result.Outcome == sinks.Committed { // else it was compared with itself
		cur.changes = out.Changes
	}
	if !cur.recorded {
		return Record, nil
	}
	if err := d.sweep(context.WithoutCancel(ctx)); err != nil {
		return Commit, err
	}
	d.settled()
	return Release, nil
}

// ready is the last look before the batch is committed, or recorded if that comes first: what was begun beside the work has to be well, and the attempt young
// enough. A batch that is recorded is committed whatever ctx says: it does not run again.
func (d *driver) ready(ctx context.Context) error {
	cur := d.current
	if fence := cur.fence; fence != nil {
		cur.fence = nil
		if err := <-fence; err != nil && !bugs.Is(bugs.FenceNotAwaited) {
			return err
		}
	}
	if age := d.age(); age > oldestAttempt {
		return errcode.AttemptTooOld.New("batch "+cur.entry.ID.String(), "it was begun %s ago", age.Round(time.Minute))
	}
	if cur.recorded {
		return nil
	}
	return ctx.Err()
}

// commitTo commits one staged output and turns what is no success into an error (the table of outcomes is in failure.go).
func (d *driver) commitTo(ctx context.Context, s sinks.Sink, p sinks.Pending) (sinks.Result, error) {
	result, err := s.Commit(ctx, p)
	if err != nil {
		return result, fmt.Errorf("commit batch %d: %w", d.current.entry.ID, err)
	}
	at := "batch " + d.current.entry.ID.String()
	switch result.Outcome {
	case sinks.Committed, sinks.AlreadyCommitted:
		return result, nil
	case sinks.Conflict:
		return result, fmt.Errorf("%w: %w", errConflict, orUnknown(result.Why))
	case sinks.Fenced:
		return result, errcode.DriverFenced.Wrap(result.Why, at, "the sink has refused epoch %d", d.info.Epoch)
	default:
		return result, errcode.OutcomeUnknown.Wrap(result.Why, at, "the sink cannot say whether it is visible")
	}
}

func orUnknown(err error) error {
	if err == nil {
		return errors.New("no reason given")
	}
	return err
}

// age of the attempt by the clock that runs on, and by the wall clock in case the machine slept.
func (d *driver) age() time.Duration {
	now := time.Now()
	return max(now.Sub(d.current.started), now.Round(0).Sub(d.current.started.Round(0)))
}

// nearLimit warns of a batch that has taken more than half of the time that the sink's service gives it, if none has taken longer before: one that reaches the limit is
// given up by the service and runs again, for ever if nothing changes.
func (d *driver) nearLimit(outcome sinks.Outcome) {
	limit, took := d.q.Sink.Guarantee().BatchLimit, d.age()
	if limit == 0 || outcome != sinks.Committed || took <= max(limit/2, d.longest) {
		return
	}
	d.longest = took
	d.warn("batch %d took %s, and the sink's service gives a batch up after %s: lower trigger.max_rows, or raise that limit (transaction_timeout of a Kafka sink): a batch that reaches it runs again",
		d.current.entry.ID, took.Round(time.Millisecond), limit)
}

// ahead reports whether the next batch will begin as soon as this one has ended, so that its rows may be read already.
func (d *driver) ahead() bool {
	t := d.q.Trigger
	return t.Every == 0 && t.MinPause == 0
}
