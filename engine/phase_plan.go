package engine

import (
	"context"
	"fmt"
	"time"

	"microbatch/checkpointlog"
	"microbatch/ident"
	"microbatch/internal/bugs"
	"microbatch/sources"
)

// plan waits for the trigger and asks every source where the next range ends. Nothing new: it stays in plan, or the query is done.
func (d *driver) plan(ctx context.Context) (Phase, error) {
	at := d.q.Trigger.next(d.trigger.began, d.trigger.ended, d.trigger.empty)
	if !sleepUntil(ctx, d.q.Now, at) {
		return Plan, ctx.Err()
	}
	fired := d.q.Now()
	watch := stopwatch{began: time.Now()}
	from := d.ends()
	plans, prefetched := d.local.prefetch.plan(ctx, from)
	rows := planned(plans)
	if !prefetched {
		var err error
		if plans, rows, err = planAll(ctx, d.q, from); err != nil {
			return Plan, err
		}
	}
	d.trigger.began = fired
	if nothingNew(plans, from) {
		d.local.prefetch.drop()
		return d.nothing(ctx, fired)
	}
	d.trigger.empty = false
	d.trigger.idleSince, d.trigger.upkept = time.Time{}, time.Time{}
	d.current = &current{before: d.last, plans: plans, rows: rows, behind: behind(plans), watch: watch, fired: fired}
	for n, p := range plans {
		d.current.ranges = append(d.current.ranges, ident.Range{From: from[n], To: p.To, Aux: p.Aux})
	}
	return Intend, nil
}

// ends is where the next batch starts in each source: "" is the source's initial position.
func (d *driver) ends() []ident.Offset {
	if d.last == nil {
		return make([]ident.Offset, len(d.q.Sources))
	}
	return d.last.Offsets.Ends
}

// planAll asks all sources. rows is about how many rows they plan, -1 if one does not know.
func planAll(ctx context.Context, q *Query, from []ident.Offset) (plans []sources.Planned, rows int64, err error) {
	for n, s := range q.Sources {
		p, err := s.Plan(ctx, from[n], q.Limit)
		if err != nil {
			return nil, 0, fmt.Errorf("plan source %d: %w", n, err)
		}
		plans = append(plans, p)
	}
	return plans, planned(plans), nil
}

func planned(plans []sources.Planned) int64 {
	return sum(plans, func(p sources.Planned) int64 { return p.Rows })
}

func behind(plans []sources.Planned) int64 {
	return sum(plans, func(p sources.Planned) int64 { return p.Behind })
}

// sum adds up, and is -1 if a part is unknown.
func sum(plans []sources.Planned, of func(sources.Planned) int64) (total int64) {
	for _, p := range plans {
		n := of(p)
		if n < 0 {
			return -1
		}
		total += n
	}
	return total
}

// nothingNew reports whether no source has anything after from. A source without rows at its initial position plans no range either.
func nothingNew(plans []sources.Planned, from []ident.Offset) bool {
	for n, p := range plans {
		if p.To != from[n] && p.Rows != 0 {
			return false
		}
	}
	return true
}

// nothing is a plan without news.
func (d *driver) nothing(ctx context.Context, fired time.Time) (Phase, error) {
	if d.q.Trigger.Once {
		return done, nil
	}
	now := d.q.Now()
	d.trigger.ended, d.trigger.empty = now, true
	d.failures = 0 // the services answer: rare failures of a quiet query are not in a row
	if d.trigger.idleSince.IsZero() {
		d.trigger.idleSince = now
	}
	if now.Sub(d.trigger.idleSince) >= idleReport {
		d.trigger.idleSince = now
		tell(d.q.Listener.Idle, Idle{d.info.ID, d.run_, isoMillis(fired)})
	}
	if d.trigger.upkept.IsZero() {
		d.trigger.upkept = now
	}
	if now.Sub(d.trigger.upkept) >= idleUpkeep {
		d.trigger.upkept = now
		return Plan, d.maintain(ctx)
	}
	return Plan, nil
}

// How often a query without data gives a sign of life, and its sinks time for upkeep.
const (
	idleReport = 10 * time.Second
	idleUpkeep = time.Hour
)

// resume makes a batch that is fixed in the checkpoint the current one.
func (d *driver) resume(p checkpointlog.Plan) {
	d.current = &current{
		entry: p.Pending, before: p.Before, rows: -1, behind: -1, replayed: true, visible: p.Visible,
		watch: stopwatch{began: time.Now()}, fired: d.q.Now(),
	}
	for n := range d.q.Sources {
		var from ident.Offset
		if p.Before != nil && n < len(p.Before.Offsets.Ends) {
			from = p.Before.Offsets.Ends[n]
		}
		d.current.ranges = append(d.current.ranges, ident.Range{From: from, To: p.Pending.Offsets.Ends[n], Aux: p.Pending.Offsets.Aux(n)})
	}
	if bugs.Is(bugs.Replan) {
		d.replan()
	}
	d.report.begin(d.current)
}
