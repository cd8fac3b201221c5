package gate

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// Floor holds every operation until a scheduler lets it go.
type Floor struct {
	mu      sync.Mutex
	waiting []*Waiting
	arrived int
	nudged  chan struct{}
}

// Waiting is an operation on the floor.
type Waiting struct {
	Call
	floor   *Floor
	number  int
	verdict chan Verdict
}

// Judge waits for a verdict.
func (f *Floor) Judge(ctx context.Context, c Call) (Verdict, error) {
	w := &Waiting{Call: c, floor: f, verdict: make(chan Verdict, 1)}
	f.mu.Lock()
	f.arrived++
	w.number = f.arrived
	f.waiting = append(f.waiting, w)
	f.mu.Unlock()
	f.Nudge()
	select {
	case v := <-w.verdict:
		return v, nil
	case <-ctx.Done():
		w.leave()
		select {
		case v := <-w.verdict: // it was let go before it left
			return v, nil
		default:
			return Verdict{}, context.Cause(ctx)
		}
	}
}

// Waiting are the operations on the floor, in an order that does not depend on how goroutines were scheduled: by process, place, kind and key.
func (f *Floor) Waiting() []*Waiting {
	f.mu.Lock()
	defer f.mu.Unlock()
	ws := slices.Clone(f.waiting)
	slices.SortStableFunc(ws, func(a, b *Waiting) int {
		return cmp.Or(cmp.Compare(a.Process, b.Process), cmp.Compare(a.Place, b.Place), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Key, b.Key), a.number-b.number)
	})
	return ws
}

// Idle waits until an operation has arrived since the last call, or somebody has nudged, at most for d.
func (f *Floor) Idle(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-f.nudge():
	case <-timer.C:
	}
}

// Nudge ends Idle.
func (f *Floor) Nudge() {
	select {
	case f.nudge() <- struct{}{}:
	default: // it is to end already
	}
}

func (f *Floor) nudge() chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.nudged == nil {
		f.nudged = make(chan struct{}, 1)
	}
	return f.nudged
}

// Let gives the operation its verdict.
func (w *Waiting) Let(v Verdict) {
	if w.leave() {
		w.verdict <- v
	}
}

func (w *Waiting) leave() bool {
	w.floor.mu.Lock()
	defer w.floor.mu.Unlock()
	i := slices.Index(w.floor.waiting, w)
	if i < 0 {
		return false
	}
	w.floor.waiting = slices.Delete(w.floor.waiting, i, i+1)
	return true
}
