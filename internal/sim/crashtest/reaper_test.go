//go:build failpoints

package crashtest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"microbatch/internal/errcode"
	"microbatch/internal/sim/gate"
	"microbatch/internal/sim/kafkamodel"
	"microbatch/internal/sim/world"
	"microbatch/objstore"
	"microbatch/objstore/localfs/crashfs"
)

// fate is how a process dies at an operation; the package's comment draws them.
type fate int

const (
	before fate = iota
	lost
	kept
	after
	late
	unheard
)

var fates = [...]fate{before, lost, kept, after, late, unheard}

func (f fate) String() string {
	return [...]string{"before", "lost", "kept", "after", "late", "unheard"}[f]
}

// power is what happens to the machine of a process that has died.
type power int

const (
	stays power = -1 // the machine lives on; otherwise so many in a hundred of what was not synced survives
)

func (p power) String() string {
	if p == stays {
		return "the machine lives on"
	}
	return fmt.Sprintf("power lost, %d%% of what was unsynced is left", int(p))
}

// death says where a process dies.
type death struct {
	point  point
	n      int // the so many-th operation at the point, from 1
	fate   fate
	cut    int   // lost, kept: before the so many-th change of a disk in the operation, from 1; 0: the operation as a whole
	writes bool  // the operation has an effect: otherwise what is left is what the next one that has is about to change
	edge   bool  // the cut is just before or just after the change that others see
	power  power // of a disk
	late   int   // lands when the successor begins its so many-th operation
}

func (d death) String() string {
	text := fmt.Sprintf("%s: %s, no. %d, %s", d.point.phase, d.point.name, d.n, d.fate)
	if d.cut > 0 {
		text += fmt.Sprintf(", change %d", d.cut)
	}
	if d.fate == late {
		text += fmt.Sprintf(", landing at the successor's operation %d", d.late)
	}
	return text + ", " + d.power.String()
}

// repairs says when a checkpoint is repaired.
type repairs int

const (
	never repairs = iota
	first
	only
)

// step is an operation that was seen.
type step struct {
	point  point
	n      int
	writes bool     // has an effect
	lands  bool     // is a request that may be under way after its process has died
	inside []string // changes of a disk that it was made of
}

// reaper is the judge of one process: it writes down what the process does, and ends it.
type reaper struct {
	world   *world.World
	remote  bool   // the target is behind a network
	process string // its name
	at      *death // nil: nobody dies
	// shut ends the query's context when it is about to do this operation; nil: never. cancel does it.
	shut   *death
	cancel context.CancelFunc
	// repairs says whether the process repairs the checkpoint before it runs the query, or only that.
	repairs repairs

	mu      sync.Mutex
	phase   string
	steps   []step
	count   map[point]int
	writing int  // the step that changes of a disk belong to; -1 before the first
	armed   int  // changes until the cut, from 1; 0: none is coming
	struck  bool // what was to happen has happened
	// restarted is what the process found, after it was not answered, when it began anew; "": it went on.
	restarted string
	finished  bool // the process came to the end of what there was, alive
	dead      bool // dies at its next operation
	off       bool // changes no disk any more
	shutting  bool // the query's context has ended
	flying    func() error
	pending   func() error // lands at operation landAt, of the predecessor
	landAt    int
}

func newReaper(l *life, at *death) *reaper {
	r := &reaper{world: l.World, remote: l.kind.remote, at: at, phase: "start", count: map[point]int{}, writing: -1}
	l.Fault(r.change)
	return r
}

// Judge writes the operation down and decides.
func (r *reaper) Judge(_ context.Context, c gate.Call) (gate.Verdict, error) {
	land, shut, v := r.decide(c)
	if land != nil {
		land() // nobody hears how it went
	}
	if shut {
		r.cancel()
		time.Sleep(time.Second) // the time that a shut down query has is over
	}
	return v, nil
}

func (r *reaper) decide(c gate.Call) (land func() error, shut bool, v gate.Verdict) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dead {
		return nil, false, gate.Verdict{Fate: gate.Die}
	}
	if c.Place == faultPoint && r.phase != "repair" {
		if phase, place, _ := strings.Cut(c.Key, "."); place == "before" && slices.Contains(phases[:], phase) {
			r.phase = phase
		}
	}
	p := pointOf(r.phase, c.Op)
	if r.shutting && (strings.HasSuffix(p.name, "delete data file (not needed)") || p.name == "end the transaction") {
		p = pointOf("shutdown", c.Op)
	}
	r.count[p]++
	writes := c.Writes() || c.Kind == "create" || c.Kind == "call" || c.Kind == "half"
	lands := c.Writes() && c.Kind != "sync" && c.Kind != "abort" && r.far(c.Op)
	r.steps = append(r.steps, step{point: p, n: r.count[p], writes: writes, lands: lands})
	if c.Writes() || c.Kind == "create" {
		r.writing = len(r.steps) - 1
	}
	if r.pending != nil && len(r.steps) >= r.landAt {
		land, r.pending = r.pending, nil
	}
	if r.is(r.at, p) {
		v = r.sentence(c)
	}
	if shut = r.is(r.shut, p); shut {
		r.shutting = true
	}
	return land, shut, v
}

// recovered ends the phase of the start: what follows belongs to a batch.
func (r *reaper) recovered() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.phase = "plan"
}

func (r *reaper) is(d *death, p point) bool { return d != nil && d.point == p && d.n == r.count[p] }

// far: the operation goes over a network.
func (r *reaper) far(op gate.Op) bool {
	if op.Place == world.Output {
		return r.remote
	}
	return r.world.Medium() == world.Objects
}

// sentence is how the process dies at the operation, or does not hear of it.
func (r *reaper) sentence(c gate.Call) gate.Verdict {
	r.struck = true
	switch {
	case r.at.fate == unheard:
		return gate.Verdict{Fate: gate.Lose, Err: silence(c.Op)}
	case r.at.fate == after:
		r.dead = true
		return gate.Verdict{}
	case r.at.cut > 0:
		r.armed = r.at.cut
		return gate.Verdict{}
	case r.at.fate == kept:
		r.dead = true
		return gate.Verdict{Fate: gate.DieDone}
	case r.at.fate == late:
		r.flying = c.Apply
	}
	r.dead = true
	return gate.Verdict{Fate: gate.Die}
}

// silence is what a process is told of an operation that was not answered.
func silence(op gate.Op) error {
	if op.Place == world.Output {
		return kafkamodel.ErrCut
	}
	if op.Kind == "putifabsent" || op.Kind == "commit" {
		return errcode.StoreUncertain.Wrap(objstore.ErrUncertain, op.Place+"/"+op.Key, "%s", op.Kind)
	}
	return errcode.StoreUnreachable.New(op.Place+"/"+op.Key, "%s: no answer", op.Kind)
}

// change is asked before each change of a disk.
func (r *reaper) change(_, op, _ string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.armed > 0 {
		r.armed--
		r.off = r.armed == 0
		r.dead = r.off
	}
	if r.off {
		return crashfs.ErrPowerLost
	}
	if r.writing >= 0 {
		r.steps[r.writing].inside = append(r.steps[r.writing].inside, op)
	}
	return nil
}

// visible is the number of the change, from 1, with which an operation of a store on disk becomes visible; more than there are if it never does.
func (s step) visible() int {
	for i, op := range s.inside {
		switch op {
		case "link", "rename":
			return i + 1
		case "remove":
			if strings.HasPrefix(strings.TrimPrefix(s.point.name, "rejected: "), "delete") {
				return i + 1
			}
		}
	}
	return len(s.inside) + 1
}
