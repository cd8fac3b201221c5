package translog

import (
	"time"

	"microbatch/objstore"
)

// moment is a time by all clocks that there are.
type moment struct {
	here  time.Time // this machine's, with its monotonic reading
	there time.Time // the store's, which runs on when this machine is suspended and its clocks with it
}

// moment is now; the zero one if the store does not say what time it is there.
func (l *Log) moment() moment {
	there := objstore.Clock(l.store)
	if there.IsZero() {
		return moment{}
	}
	return moment{time.Now(), there}
}

func (m moment) isZero() bool { return m.there.IsZero() }

// until is the time that has passed by the clock that says most.
func (m moment) until(now moment) time.Duration {
	return max(now.here.Sub(m.here), now.here.Round(0).Sub(m.here.Round(0)), now.there.Sub(m.there))
}

// lookBackAfter is how long after a version of ours the next commit does without a look back. Stores date their answers to the second.
const lookBackAfter = 2 * time.Second

// fresh reports that the slot behind a state was not filled and cleaned up again: whatever came there came after the state's moment, and nothing so young is cleaned up.
// So an entry that was put there follows the state, unless somebody deletes the newest entries of the log by hand: Stands sees that, beside the next batch's work. A
// table whose retention is short, by the hand of another program, is never fresh. Of a batch on S3 that saves one of five requests that wait for each other.
func (l *Log) fresh(s *State) bool {
	now := l.moment()
	return !s.ended.isZero() && !now.isZero() && s.ended.until(now) < lookBackAfter && s.LogRetention() >= MinRetention
}
