package explore

import (
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"

	"microbatch/internal/sim/interleave"
	"microbatch/internal/sim/world"
)

// Result is what an exploration has found.
type Result struct {
	States      int
	Transitions int
	Leaves      int // states in which neither driver may go on
	Endings     int // states that were brought to an end to count the rows
	Depth       int // transitions of the longest schedule
	Failure     *Failure
}

// Failure is a schedule at whose end something is not as it must be. There is no shorter one.
type Failure struct {
	Err      error
	Schedule []string
}

// Error tells the schedule.
func (f *Failure) Error() string {
	text := f.Err.Error()
	for i, s := range f.Schedule {
		text += fmt.Sprintf("\n%3d  %s", i+1, s)
	}
	return text
}

// node is a state, as the schedule that led to it first.
type node struct {
	parent  int32
	choice  int16 // among the choices of the parent
	choices int16 // how many there are here
	sum     uint64
}

// Options bound an exploration.
type Options struct {
	Depth  int // operations of each driver on the stores
	EndOf  int // every so many states one is brought to its end; 0: leaves only
	States int // stop after so many; 0: no bound
}

// Explore goes through everything that two drivers can do from a start, breadth first.
func Explore(t *testing.T, start Start, o Options) Result {
	e := &explorer{t: t, start: &start, past: playPast(t, &start), o: o, known: map[uint64]int32{}}
	return e.all()
}

type explorer struct {
	t      *testing.T
	start  *Start
	past   *past
	o      Options
	nodes  []node
	known  map[uint64]int32
	result Result
}

// task is a transition to try: a state and one of its choices; or, with choice -1, the state alone.
type task struct {
	from   int32
	choice int16
	ending int // -1: none
}

// outcome is where a task has led.
type outcome struct {
	sum     uint64
	choices int16
	failure *Failure
}

func (e *explorer) all() Result {
	first := e.try(task{from: -1, choice: -1, ending: -1})
	e.arrive(task{from: -1, choice: -1}, first)
	level := []int32{0}
	for len(level) > 0 && e.result.Failure == nil {
		var tasks []task
		for _, n := range level {
			for c := range e.nodes[n].choices {
				tasks = append(tasks, task{n, c, -1})
			}
		}
		tasks = append(tasks, e.endingsOf(level)...)
		level = e.step(tasks)
		if len(level) > 0 {
			e.result.Depth++
		}
		if e.o.States > 0 && len(e.nodes) > e.o.States {
			break
		}
	}
	e.result.States = len(e.nodes)
	return e.result
}

// endingsOf chooses the states of a level that are brought to an end, and how: in each way in turn.
func (e *explorer) endingsOf(level []int32) (tasks []task) {
	for _, n := range level {
		leaf := e.nodes[n].choices == 0
		if leaf {
			e.result.Leaves++
		}
		if leaf || e.o.EndOf > 0 && int(n)%e.o.EndOf == 0 {
			tasks = append(tasks, task{n, -1, e.result.Endings % len(endings)})
			e.result.Endings++
		}
	}
	return tasks
}

// step tries all tasks, on all processors, and returns the states that are new. Results are taken in the order of the tasks, so that they are the same every time.
func (e *explorer) step(tasks []task) (level []int32) {
	outcomes := make([]outcome, len(tasks))
	next := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range next {
				outcomes[i] = e.try(tasks[i])
			}
		})
	}
	for i := range tasks {
		next <- i
	}
	close(next)
	workers.Wait()
	for i, o := range outcomes {
		if tasks[i].ending >= 0 {
			if o.failure != nil && e.result.Failure == nil {
				e.result.Failure = o.failure
			}
			continue
		}
		e.result.Transitions++
		if n, isNew := e.arrive(tasks[i], o); isNew {
			level = append(level, n)
		}
	}
	return level
}

// arrive notes a state.
func (e *explorer) arrive(t task, o outcome) (n int32, isNew bool) {
	if o.failure != nil {
		if e.result.Failure == nil {
			e.result.Failure = o.failure
		}
		return 0, false
	}
	if n, ok := e.known[o.sum]; ok {
		return n, false
	}
	n = int32(len(e.nodes))
	e.known[o.sum] = n
	e.nodes = append(e.nodes, node{parent: t.from, choice: t.choice, choices: o.choices, sum: o.sum})
	return n, true
}

// path are the choices that lead to a task.
func (e *explorer) path(t task) (path []int16) {
	if t.choice >= 0 {
		path = append(path, t.choice)
	}
	for n := t.from; n > 0; n = e.nodes[n].parent {
		path = append(path, e.nodes[n].choice)
	}
	return path // backwards
}

// try runs a task in a bubble of its own; if it fails, once more, to tell how.
func (e *explorer) try(t task) outcome {
	o, _ := e.once(t, false)
	if o.failure != nil {
		var told []string
		if o, told = e.once(t, true); o.failure != nil {
			o.failure.Schedule = told
		}
	}
	return o
}

func (e *explorer) once(t task, tells bool) (o outcome, told []string) {
	path := e.path(t)
	synctest.Test(e.t, func(tt *testing.T) {
		stage := interleave.New(teller{tt}, world.New(world.Objects, 1))
		defer stage.Close()
		defer func() {
			if told, ok := recover().(unplayable); ok {
				o = outcome{failure: &Failure{Err: told}}
			}
		}()
		r := newRun(stage, e.start, e.past, e.o.Depth)
		r.tells = tells
		for i := len(path) - 1; i >= 0 && r.broken == nil; i-- {
			if i == 0 && t.from >= 0 && t.choice >= 0 {
				r.same(e.nodes[t.from].sum)
			}
			r.take(r.choices()[path[i]])
		}
		if t.from >= 0 && t.choice < 0 {
			r.same(e.nodes[t.from].sum)
		}
		r.judge()
		if t.ending >= 0 && r.broken == nil {
			r.tell("ending: %s", endings[t.ending].name)
			endings[t.ending].end(r)
			r.count()
		}
		o = outcome{sum: r.sum(), choices: int16(len(r.choices()))}
		if r.broken != nil {
			o.failure = &Failure{Err: r.broken}
		}
		told = r.told
	})
	return o, told
}

// same makes sure that a schedule that is repeated leads to the same state: else a state is more than is summed up.
func (r *run) same(sum uint64) {
	if r.broken == nil && r.sum() != sum {
		r.note(fmt.Errorf("the same schedule has led to another state"))
	}
}

// teller makes a failure of the stage one of the run: others go on.
type teller struct{ testing.TB }

// unplayable is a failure of the stage.
type unplayable string

func (u unplayable) Error() string { return string(u) }

func (teller) Errorf(format string, args ...any) { panic(unplayable(fmt.Sprintf(format, args...))) }
func (teller) Fatalf(format string, args ...any) { panic(unplayable(fmt.Sprintf(format, args...))) }
func (teller) Fatal(args ...any)                 { panic(unplayable(fmt.Sprint(args...))) }
