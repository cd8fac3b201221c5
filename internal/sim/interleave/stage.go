package interleave

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/cryptotest"
	"testing/synctest"

	"microbatch/engine"
	"microbatch/internal/errcode"
	"microbatch/internal/sim/gate"
	"microbatch/internal/sim/world"
	"microbatch/objstore"
)

// Stage is where a schedule is played.
type Stage struct {
	T     testing.TB
	World *world.World
	// Query is what each actor runs; changes of one actor come on top.
	Query func(*gate.Process) engine.Query
	Floor *gate.Floor
	// Seen is told of each operation before its verdict; nil: nobody is.
	Seen func(*gate.Waiting)

	bell   chan struct{} // rung when an operation comes to the floor, or an actor ends
	actors []*Actor
	trace  []string
}

// Actor is a driver in a process of its own.
type Actor struct {
	Process *gate.Process
	stage   *Stage
	done    chan struct{}
	err     error // once done is closed
	never   []string
}

// Play opens a bubble with a world in it and plays a schedule. The query takes two rows a batch, from one partition, until it has caught up.
func Play(t *testing.T, m world.Medium, play func(*Stage)) {
	cryptotest.SetGlobalRandom(t, 1)
	synctest.Test(t, func(t *testing.T) {
		s := New(t, world.New(m, 1))
		defer s.Close()
		play(s)
	})
}

// New is a stage in the bubble of its caller.
func New(t testing.TB, w *world.World) *Stage {
	s := &Stage{T: t, World: w, Floor: &gate.Floor{}, bell: make(chan struct{}, 1)}
	s.Query = func(p *gate.Process) engine.Query {
		q := w.Query(p)
		q.Trigger, q.Limit.Rows = engine.Trigger{Once: true}, 2
		return q
	}
	return s
}

// Judge rings the bell and lets the operation wait on the floor.
func (s *Stage) Judge(ctx context.Context, c gate.Call) (gate.Verdict, error) {
	s.ring()
	return s.Floor.Judge(ctx, c)
}

func (s *Stage) ring() {
	select {
	case s.bell <- struct{}{}:
	default:
	}
}

// Change is what is different about one actor's query.
type Change func(*gate.Process, *engine.Query)

// Start begins a driver. It runs up to its first operation.
func (s *Stage) Start(name string, change ...Change) *Actor {
	return s.StartQuery(name, func(p *gate.Process) engine.Query {
		q := s.Query(p)
		for _, c := range change {
			c(p, &q)
		}
		return q
	})
}

// StartQuery begins a driver of another query, as in another world.
func (s *Stage) StartQuery(name string, query func(*gate.Process) engine.Query) *Actor {
	return s.StartFunc(name, func(p *gate.Process) func(context.Context) error { return query(p).Run })
}

// StartFunc begins a process that does something else. Its context ends with the process.
func (s *Stage) StartFunc(name string, with func(*gate.Process) func(context.Context) error) *Actor {
	a := &Actor{Process: gate.NewProcess(name, s), stage: s, done: make(chan struct{})}
	do := with(a.Process)
	s.actors = append(s.actors, a)
	go func() {
		defer s.ring()
		defer close(a.done)
		a.err = do(a.Process.Life())
	}()
	s.Settle(a)
	return a
}

// Close ends what still runs.
func (s *Stage) Close() {
	for _, a := range s.actors {
		a.Process.Kill()
	}
	for _, a := range s.actors {
		<-a.done
	}
	if s.T.Failed() {
		s.T.Logf("the schedule was:\n%s", strings.Join(s.trace, "\n"))
	}
}

// Settle lets time pass until each of the actors waits on the floor or has ended.
func (s *Stage) Settle(actors ...*Actor) {
	for {
		synctest.Wait()
		settled := true
		for _, a := range actors {
			settled = settled && (a.Ended() || len(a.Waiting()) > 0)
		}
		if settled {
			return
		}
		<-s.bell
	}
}

// Ended reports whether the driver has returned.
func (a *Actor) Ended() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// Err is what the driver that has ended returned.
func (a *Actor) Err() error { return a.err }

// Waiting are the actor's operations on the floor, in a stable order.
func (a *Actor) Waiting() (mine []*gate.Waiting) {
	for _, w := range a.stage.Floor.Waiting() {
		if w.Process == a.Process.Name {
			mine = append(mine, w)
		}
	}
	return mine
}

// let gives a verdict and waits for what follows.
func (a *Actor) let(w *gate.Waiting, v gate.Verdict) {
	a.note("%s  %s", v.Fate, w.Op)
	for _, pattern := range a.never {
		if Matches(pattern, w.Op) {
			a.stage.T.Errorf("%s: it may not come to this", w.Op)
		}
	}
	if a.stage.Seen != nil {
		a.stage.Seen(w)
	}
	w.Let(v)
	a.stage.Settle(a)
}

func (a *Actor) note(format string, args ...any) {
	a.stage.trace = append(a.stage.trace, fmt.Sprintf(format, args...))
}

// Until lets the actor go on until it waits at an operation.
func (a *Actor) Until(pattern string) *gate.Waiting {
	a.stage.T.Helper()
	for !a.Ended() {
		waiting := a.Waiting()
		for _, w := range waiting {
			if Matches(pattern, w.Op) {
				return w
			}
		}
		a.let(waiting[0], gate.Verdict{})
	}
	a.stage.T.Fatalf("%s ended before %q: %v", a.Process.Name, pattern, a.err)
	return nil
}

// Past lets the actor go on until an operation is done.
func (a *Actor) Past(pattern string) {
	a.stage.T.Helper()
	a.let(a.Until(pattern), gate.Verdict{})
}

// MayNot says that the actor may not come to an operation any more.
func (a *Actor) MayNot(pattern string) { a.never = append(a.never, pattern) }

// Losing lets the actor go on until an operation is done, and loses its answer.
func (a *Actor) Losing(pattern string) {
	a.stage.T.Helper()
	w := a.Until(pattern)
	a.let(w, gate.Verdict{Fate: gate.Lose, Err: Unanswered(w.Op)})
}

// Late lets the actor go on until an operation, which is not answered and still on its way. land is when it arrives.
func (a *Actor) Late(pattern string) (land func()) {
	a.stage.T.Helper()
	w := a.Until(pattern)
	a.let(w, gate.Verdict{Fate: gate.Late, Err: Unanswered(w.Op)})
	return func() {
		a.note("lands %s", w.Op)
		_ = w.Apply() // nobody hears how it went
		a.stage.Settle()
	}
}

// Fails lets the actor go on until an operation, which is not done and answers with an error.
func (a *Actor) Fails(pattern string, err error) {
	a.stage.T.Helper()
	a.let(a.Until(pattern), gate.Verdict{Fate: gate.Fail, Err: err})
}

// Dies lets the actor go on until an operation, and ends its process before that is done.
func (a *Actor) Dies(pattern string) {
	a.stage.T.Helper()
	a.let(a.Until(pattern), gate.Verdict{Fate: gate.Die})
}

// DiesAfter lets the actor go on until an operation is done, and ends its process before it hears of that.
func (a *Actor) DiesAfter(pattern string) {
	a.stage.T.Helper()
	a.let(a.Until(pattern), gate.Verdict{Fate: gate.DieDone})
}

// End lets the actor run to its end and returns its error.
func (a *Actor) End() error {
	for !a.Ended() {
		a.let(a.Waiting()[0], gate.Verdict{})
	}
	a.note("%s ended: %v", a.Process.Name, a.err)
	return a.err
}

// Ends lets the actor run to its end, which must be without an error, or with one of the codes if there are any.
func (a *Actor) Ends(codes ...errcode.Code) {
	a.stage.T.Helper()
	err := a.End()
	if err == nil && len(codes) == 0 {
		return
	}
	for _, c := range codes {
		if errcode.Has(err, c) {
			return
		}
	}
	a.stage.T.Errorf("%s ended with %v, want %v", a.Process.Name, err, codes)
}

// Unanswered is the error of an operation whose answer is lost: of a write nobody knows whether it was done, anything else may be asked again.
func Unanswered(op gate.Op) error {
	if op.Writes() {
		return errcode.StoreUncertain.Wrap(objstore.ErrUncertain, op.Key, "%s", op.Kind)
	}
	return errcode.StoreUnreachable.New(op.Key, "%s", op)
}

// Matches reports whether an operation fits a pattern of "place kind key", in which * stands for any text.
func Matches(pattern string, op gate.Op) bool {
	text := strings.TrimPrefix(op.String(), op.Process+" ")
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return text == pattern
	}
	for i, part := range parts {
		at := strings.Index(text, part)
		if at < 0 || i == 0 && at > 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return text == "" || parts[len(parts)-1] == ""
}
