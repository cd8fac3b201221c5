package explore

import (
	"fmt"
	"slices"

	"microbatch/internal/sim/interleave"
	"microbatch/internal/sim/world"
)

// endings are ways in which a state may come to its end, so that the rows can be counted. In each a third driver starts when all others have gone, and must finish without
// an error.
var endings = []struct {
	name string
	end  func(*run)
}{
	{"both are killed, the late answer arrives before the next start", func(r *run) { r.kill(); r.land(); r.finish("c") }},
	{"both are killed, the late answer arrives after the next start has finished", func(r *run) { r.kill(); r.finish("c"); r.land(); r.finish("d") }},
	{"a goes on to its end, then b", func(r *run) { r.goOn(0); r.goOn(1); r.land(); r.finish("c") }},
	{"b goes on to its end, then a", func(r *run) { r.goOn(1); r.goOn(0); r.land(); r.finish("c") }},
	{"both sleep until a third has finished, then they wake up", func(r *run) {
		if r.start.Torn { // a repair does not sleep: it is in somebody's hand
			r.goOn(1)
		}
		r.finish("c")
		r.goOn(0)
		r.goOn(1)
		r.land()
		r.finish("d")
	}},
}

func (r *run) kill() {
	r.tell("both are killed")
	for _, a := range r.actors {
		a.Process.Kill()
	}
	r.stage.Settle(r.actors[:]...)
}

// land lets the late operation arrive, if there is one.
func (r *run) land() {
	if r.late != nil {
		r.take(choice{land: true})
	}
}

// goOn lets a driver go on alone.
func (r *run) goOn(d int) {
	a := r.actors[d]
	for !a.Ended() {
		r.pass(a, a.Waiting()[0])
	}
	r.note(r.typed(a))
}

// finish lets a new driver finish the work.
func (r *run) finish(name string) {
	if r.start.Torn {
		r.alone("a repair", repair(r.stage, name+"r"))
	}
	r.alone("a start", r.stage.Start(name))
}

func (r *run) alone(what string, a *interleave.Actor) {
	for !a.Ended() {
		r.pass(a, a.Waiting()[0])
	}
	if a.Err() != nil {
		r.note(fmt.Errorf("%s after all others have gone: %w", what, a.Err()))
	}
}

// count requires that the table holds each row once.
func (r *run) count() {
	var want []string
	for p, end := range r.stage.World.Topic.Ends {
		for n := range end {
			want = append(want, world.RowID(p, n))
		}
	}
	slices.Sort(want)
	if got := r.stage.Rows(world.Table, "id"); !slices.Equal(got, want) {
		r.note(fmt.Errorf("the table holds rows %v, want %v", got, want))
	}
}
