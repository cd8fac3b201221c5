package explore

import (
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"microbatch/internal/errcode"
	"microbatch/internal/sim/gate"
	"microbatch/internal/sim/interleave"
	"microbatch/internal/sim/world"
)

// Drivers are the names of the two drivers of a start.
var drivers = [2]string{"a", "b"}

// Pair are the two drivers of a start.
type Pair [2]*interleave.Actor

// Start is a situation from which all goes on in every possible way.
type Start struct {
	Name string
	// Past is what has happened in the world before; nobody of it lives any more. Nil: nothing.
	Past func(*interleave.Stage)
	// Set builds the situation: two drivers that wait on the floor.
	Set func(*interleave.Stage) Pair
	// Purges says that drivers may delete entries of the checkpoint, so that even reading an entry that is there is no matter of course.
	Purges bool
	// Torn says that a start needs a repair before.
	Torn bool
	// May are the errors with which a driver may end, beside that it is fenced.
	May []errcode.Code
	// Quick and Full are how many operations on the stores each driver may make: in every test run, and in the model.
	Quick, Full int
}

// choice is what may happen next.
type choice struct {
	driver int
	op     int  // which of the driver's waiting operations
	late   bool // it is not answered, and arrives at some later moment: at once, after whatever else, or never
	land   bool // the late operation arrives
}

// run is one run from a start: in a bubble of its own, in which nothing moves but by a choice.
type run struct {
	start   *Start
	depth   int // operations of each driver
	stage   *interleave.Stage
	actors  Pair
	taken   [2]int // operations of each so far
	journal *journal
	watch   *watch
	lost    bool          // the one answer that may be lost is
	late    *gate.Waiting // it is still on its way
	lateSum uint64        // identifies it
	told    []string      // the schedule, if it is to be told
	tells   bool
	broken  error // the first thing that was not as it must be
}

func newRun(stage *interleave.Stage, start *Start, past *past, depth int) *run {
	r := &run{start: start, depth: depth, stage: stage}
	past.restore(stage)
	r.journal = newJournal(stage.World)
	stage.Seen = func(w *gate.Waiting) { r.journal.request(w) }
	plain(stage)
	r.actors = start.Set(stage)
	err := r.journal.open()
	if err == nil {
		r.watch, err = newWatch(stage.World)
	}
	r.note(err)
	r.settle()
	return r
}

func (r *run) note(err error) {
	if r.broken == nil {
		r.broken = err
	}
}

// choices are what may happen now. Their order is the same in every run.
func (r *run) choices() (out []choice) {
	for d, a := range r.actors {
		if r.taken[d] >= r.depth || a.Ended() {
			continue
		}
		for i, w := range a.Waiting() {
			out = append(out, choice{driver: d, op: i})
			if !r.lost && w.Writes() && w.Kind != "sync" {
				out = append(out, choice{driver: d, op: i, late: true})
			}
		}
	}
	if r.late != nil {
		out = append(out, choice{land: true})
	}
	return out
}

// take lets a choice happen.
func (r *run) take(c choice) {
	if c.land {
		w := r.late
		r.late = nil
		r.tell("the late one arrives: %s", w.Op)
		_ = w.Apply() // nobody hears how it went
		r.happened(w.Op)
		return
	}
	a := r.actors[c.driver]
	w := a.Waiting()[c.op]
	if c.late {
		r.taken[c.driver]++
		r.lost, r.late, r.lateSum = true, w, r.journal.request(w)
		r.tell("%s, and it is not answered", w.Op)
		r.journal.hear(w.Process, w.Kind, 2)
		w.Let(gate.Verdict{Fate: gate.Late, Err: interleave.Unanswered(w.Op)})
		r.stage.Settle(a)
	} else {
		r.pass(a, w)
	}
	r.settle()
}

func (r *run) pass(a *interleave.Actor, w *gate.Waiting) {
	r.tell("%s", w.Op)
	if d := slices.Index(drivers[:], w.Process); d >= 0 && w.Place != "topic" {
		r.taken[d]++
	}
	r.journal.request(w)
	r.journal.hear(w.Process, w.Place+w.Kind, r.journal.answer(w.Op))
	w.Let(gate.Verdict{})
	r.stage.Settle(a)
	r.happened(w.Op)
}

// happened looks at what an operation has done.
func (r *run) happened(op gate.Op) {
	if !op.Writes() || op.Kind == "sync" || op.Kind == "abort" {
		return
	}
	r.note(r.journal.done(op))
	r.note(r.watch.look(op))
}

// settle lets go at once what makes no difference when it happens. It is the reduction: such an operation commutes with all that the other driver, and a late
// operation, can ever do, and shows itself in no invariant. So of all schedules that differ only in its place one is enough (a persistent set of one operation), and its
// driver's next choice comes before any other only in the count of states.
func (r *run) settle() {
	for {
		moved := false
		for _, a := range r.actors {
			if a.Ended() {
				continue
			}
			waiting := a.Waiting()
			if i := slices.IndexFunc(waiting, func(w *gate.Waiting) bool { return r.inert(w.Op) }); i >= 0 {
				r.pass(a, waiting[i])
				moved = true
			}
		}
		if !moved {
			return
		}
	}
}

// inert reports whether an operation makes no difference when it happens: what it reads is there and never changes, or what it does nobody sees.
func (r *run) inert(op gate.Op) bool {
	switch {
	case op.Place == "topic": // it does not grow
		return true
	case op.Kind == "create" || op.Kind == "abort": // nothing is visible before the commit
		return true
	case op.Kind == "list" && (op.Key == "state/" || op.Key == "_delta_log/"): // nobody puts anything there
		return true
	case op.Kind == "get" || op.Kind == "sync" || op.Kind == "stat" || op.Kind == "putifabsent":
		return r.journal.has(op) && r.immutable(op)
	}
	return false
}

// immutable are the objects that no driver replaces or deletes once they are there.
func (r *run) immutable(op gate.Op) bool {
	if op.Place == world.Table {
		_, isEntry := versionOf(op.Key)
		return isEntry
	}
	entry := strings.HasPrefix(op.Key, "offsets/") || strings.HasPrefix(op.Key, "commits/")
	return !entry || !r.start.Purges
}

// sum identifies the state.
func (r *run) sum() uint64 {
	state := [5]uint64{r.journal.held, r.journal.heard[drivers[0]], r.journal.heard[drivers[1]]}
	if r.late != nil {
		state[3] = r.lateSum
	}
	if r.lost {
		state[4] = 1
	}
	return maphash.Comparable(seed, state)
}

// judge looks at how the drivers that have ended did so.
func (r *run) judge() {
	for _, a := range r.actors {
		if a.Ended() {
			r.note(r.typed(a))
		}
	}
}

func (r *run) typed(a *interleave.Actor) error {
	err := a.Err()
	if err == nil || errors.Is(err, gate.ErrGone) {
		return nil
	}
	for _, c := range append([]errcode.Code{errcode.DriverFenced, errcode.StoreUncertain}, r.start.May...) {
		if errcode.Has(err, c) {
			return nil
		}
	}
	return fmt.Errorf("driver %s ended with %w", a.Process.Name, err)
}

func (r *run) tell(format string, args ...any) {
	if r.tells {
		r.told = append(r.told, fmt.Sprintf(format, args...))
	}
}
