package engine

import (
	"sync"
	"time"
)

// tellEvery is how often the listener hears of rows while they flow.
const tellEvery = 200 * time.Millisecond

// reporter times the executor's phases and tells the listener how a batch gets on. Parts call it at once.
type reporter struct {
	tell func(Working)

	mu    sync.Mutex
	seen  Working
	since time.Time // begin of the phase in seen
	told  time.Time
	watch *stopwatch
}

// begin is told which batch the following phases belong to.
func (r *reporter) begin(cur *current) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = Working{Batch: cur.entry.ID, Phase: Intend, Planned: cur.rows, Behind: cur.behind}
	r.watch, r.since = &cur.watch, time.Now()
}

// enter ends the phase before and begins p.
func (r *reporter) enter(p Phase) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if was := r.seen.Phase; r.watch != nil && (was == Read || was == Transform || was == Prepare) {
		r.watch.add(was, now.Sub(r.since))
	}
	if p == Read {
		r.seen.Rows = 0
	}
	r.seen.Phase, r.since, r.told = p, now, now
	tell(r.tell, r.seen)
}

// rows is told how many source rows have come so far.
func (r *reporter) rows(n int64) {
	if r.tell == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen.Rows = n
	if now := time.Now(); now.Sub(r.told) >= tellEvery {
		r.told = now
		r.tell(r.seen)
	}
}
