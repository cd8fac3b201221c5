//go:build failpoints

package crashtest

import (
	"cmp"
	"slices"
	"strings"
	"testing"

	"microbatch/ident"
	"microbatch/internal/sim/world"
)

// sweep is the deaths of one scenario with one kind of sink.
type sweep struct {
	t     *testing.T
	m     *matrix
	kind  sinkKind
	s     *scenario
	full  bool
	start *life // the history, on which every trial begins
	wrong int
}

// run tries the deaths of the first run, and from some of them those of its recovery, and of the recovery's.
func (w *sweep) run() {
	w.start = newLife(w.t, w.s, w.kind)
	if w.s.history != nil {
		w.s.history(w.t, w.start)
	}
	w.start.evolving = w.s.evolved
	w.start.produce(w.s.rows)
	w.level(0, w.start, nil)
	if w.full && !w.kind.server {
		w.fill(1, w.start, nil)
	}
}

// fill tries in a replay, and in a replay's replay, what was not tried there yet: points that a life passes once are passed by neither if the first death was there.
// So here the first process, and the second, die when they have done nothing.
func (w *sweep) fill(level int, from *life, past []death) {
	steps := w.record(from, past)
	if len(steps) == 0 || w.wrong > 0 {
		return
	}
	nothing := death{point: steps[0].point, n: 1, fate: before, power: stays}
	past = append(past[:len(past):len(past)], nothing)
	if from = w.die(level-1, from, past); from == nil {
		return
	}
	for _, s := range w.record(from, past) {
		if s.n > 1 {
			continue
		}
		for _, d := range w.replays(s, true) {
			if !w.m.tried(level, w.kind, d) {
				w.die(level, from, append(past[:len(past):len(past)], d))
			}
		}
	}
	if level == 1 {
		w.fill(2, from, past)
	}
}

// level tries deaths from a world that the past ones have left, as it stays for the next trial.
func (w *sweep) level(level int, from *life, past []death) {
	steps := w.record(from, past)
	for _, d := range w.deaths(steps, level, past) {
		if w.wrong > 10 {
			return
		}
		all := append(past[:len(past):len(past)], d)
		if next := w.die(level, from, all); next != nil && w.again(level, d) {
			next.goOn()
			w.level(level+1, next, all)
		}
	}
}

// record runs the scenario without a death and returns what was done.
func (w *sweep) record(from *life, past []death) []step {
	l := from.clone(w.t)
	r := w.reaper(l, nil)
	if _, err := l.run(r); err != nil {
		w.fail("after %v, without another death: %v", past, err)
		return nil
	}
	l.end(r)
	return r.steps
}

func (w *sweep) fail(format string, args ...any) {
	w.t.Helper()
	w.wrong++
	w.t.Errorf(format, args...)
}

// reaper is the judge of a process that may die. It is shut down as the scenario says; those that make good are not.
func (w *sweep) reaper(l *life, d *death) *reaper {
	r := newReaper(l, d)
	if w.s.repair {
		r.repairs = only
	}
	if w.s.shut != nil {
		r.shut = &death{point: *w.s.shut, n: 1}
		r.shut.point.name = cmp.Or(w.s.shut.name, "at "+w.kind.commits)
	}
	return r
}

// die lets a process die and checks that the next one makes good. It returns the world as the dead have left it, nil if nothing can go on from it.
func (w *sweep) die(level int, from *life, past []death) *life {
	d := past[len(past)-1]
	l := from.clone(w.t)
	r := w.reaper(l, &d)
	_, err := l.run(r)
	if !r.dead && (d.fate != unheard || !r.struck) {
		w.fail("%v: it did not die: %v", past, err)
		return nil
	}
	r.finished = err == nil && !r.dead
	l.end(r)
	if err := l.noteLost(d.fate == late); err != nil {
		w.fail("%v: what it has left cannot be read: %v", past, err)
		return nil
	}
	if d.fate == late || d.fate == unheard {
		w.recover(level, l, past, r)
		return nil
	}
	w.recover(level, l.clone(w.t), past, r)
	return l
}

// recover runs a process to its end, which goes on where the dead have left, and checks that all is exact. An operation of the dead may still be under way: if the
// process has ended before it lands, it lands then, and another process looks.
func (w *sweep) recover(level int, l *life, past []death, dead *reaper) {
	d := past[len(past)-1]
	r := newReaper(l, nil)
	r.pending, r.landAt = dead.flying, d.late
	if w.s.repair {
		r.repairs = first
	}
	found, err := l.run(r)
	if err == nil && r.pending != nil {
		_ = r.pending() // nobody hears how it went
		_, err = l.run(newReaper(l, nil))
	}
	if err == nil {
		err = l.exact(dead.flying != nil)
	}
	var lost []ident.BatchID
	if err == nil && l.scenario.atMostOnce {
		lost, err = l.lacking()
	}
	if err != nil {
		w.fail("after %v, recovered as %q: %v", past, found, err)
		return
	}
	if dead.finished {
		found = cmp.Or(dead.restarted, "lives")
	}
	w.m.add(result{
		Lost: len(lost), Level: level, Kind: w.kind.name, Scenario: w.s.name, Phase: d.point.phase, Point: d.point.name, Fate: d.fate, Found: found,
		Swept: slices.ContainsFunc(r.steps, func(s step) bool { return s.point.sweeps() }),
		Share: level == 0 && inShare(w.s, w.kind, d) && !d.point.besideWork(),
	})
}

// again says whether the recovery from a death is swept as well: from each point, once for the operation that was not done and once for one that was.
func (w *sweep) again(level int, d death) bool {
	if w.kind.server || d.n > 1 || d.cut > 0 || d.power != stays || level == 2 || !w.full && (w.s.name != "ordinary batch" || level == 1) {
		return false
	}
	return d.fate == before || d.fate == kept && level == 0 && w.full && w.crosses()
}

// crosses: in these every point of the recovery is tried after every operation of the first run that has an effect; in others the same point again.
func (w *sweep) crosses() bool {
	switch w.s.name {
	case "first batch":
		return w.kind.common() && w.kind.name != "files" // whose changes are too many to do it twice
	case "ordinary batch":
		return w.kind.common()
	case "rejected rows":
		return w.kind.name == "s3"
	case "state":
		return w.kind.name == "disk"
	}
	return false
}

// deaths are those that are tried of a run.
func (w *sweep) deaths(steps []step, level int, past []death) (out []death) {
	total := map[point]int{}
	for _, s := range steps {
		total[s.point]++
	}
	for _, s := range steps {
		switch {
		case level == 0 && w.full && w.s.few && total[s.point] > 6 && s.n != 1 && s.n != (total[s.point]+1)/2 && s.n != total[s.point]:
		case level == 0:
			out = append(out, w.deathsAt(s, len(steps))...)
		case s.point == past[len(past)-1].point && s.n == 1:
			out = append(out, w.replays(s, true)...)
		case level == 1 && s.n == 1 && w.full && w.crosses() && past[0].writes:
			out = append(out, w.replays(s, false)...)
		}
	}
	return out
}

// deathsAt are the ways to die at a step of the first run.
func (w *sweep) deathsAt(s step, steps int) (out []death) {
	add := func(d death, powers ...power) {
		d.point, d.n, d.writes = s.point, s.n, s.writes
		if w.kind.medium == world.Objects {
			powers = []power{stays}
		}
		for _, d.power = range powers {
			if w.full && !w.kind.server || inShare(w.s, w.kind, d) {
				out = append(out, d)
			}
		}
	}
	add(death{fate: before}, stays, 0)
	if !s.writes {
		return out
	}
	if len(s.inside) == 0 {
		add(death{fate: lost}, stays)
	}
	for i := range s.inside {
		fate := lost
		if i >= s.visible() {
			fate = kept
		}
		edge := i+1 == s.visible() || i == s.visible() || i+1 == len(s.inside) && fate == lost
		add(death{fate: fate, cut: i + 1, edge: edge}, stays, 0, 50, 100)
	}
	add(death{fate: kept}, stays, 0)
	add(death{fate: after}, stays, 0)
	if s.lands && s.n == 1 {
		for at := 1; at < steps; at += 4 {
			add(death{fate: late, late: at}, stays)
		}
		add(death{fate: unheard}, stays)
	}
	return out
}

// replays are the ways to die at a step of a recovery. fully: in each way that there is.
func (w *sweep) replays(s step, fully bool) (out []death) {
	out = []death{{point: s.point, n: s.n, fate: before, power: stays}}
	if !s.writes {
		return out
	}
	add := func(d death) {
		d.point, d.n = s.point, s.n
		out = append(out, d)
	}
	if fully {
		if v := s.visible(); v <= len(s.inside) {
			add(death{fate: lost, cut: v, power: 0})
		} else {
			add(death{fate: lost, power: stays})
		}
		add(death{fate: after, power: stays})
		add(death{fate: kept, power: stays})
	}
	if w.kind.medium == world.Disk {
		if v := s.visible(); v < len(s.inside) {
			add(death{fate: kept, cut: v + 1, power: stays})
		}
		add(death{fate: kept, power: 0})
	} else if !fully {
		add(death{fate: kept, power: stays})
	}
	return out
}

// inShare says whether a death of a first run is tried in every run of the tests, and stands in the page.
func inShare(s *scenario, k sinkKind, d death) bool {
	switch {
	case d.n > 1 || d.power > 0:
		return false
	case !shared(s, k):
		return false
	case k.server && d.fate != lost && d.fate != kept:
		return false
	case s.focus != nil && !slices.Contains(s.focus, d.point.phase) && !strings.HasPrefix(d.point.name, "rejected: "):
		return false
	case d.fate == late:
		return d.late == 1 || d.late == 21
	case d.cut > 0:
		return d.edge && (d.fate == kept || d.power == 0)
	case d.fate == before || d.fate == after:
		return d.power == stays
	}
	return true
}
