package sim

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"microbatch/internal/sim/gate"
	"microbatch/internal/sim/world"
)

// fits reports whether a fault can happen to an operation.
func (s *simulation) fits(f fault, op gate.Op) bool {
	switch f.Kind {
	case late:
		return op.Writes() && op.Kind != "sync" && s.world.Disk(op.Place) == nil
	case lose:
		return op.Writes() && op.Kind != "sync" || isKafka(op)
	case inside, torn, fsync, full:
		return op.Writes() && s.world.Disk(op.Place) != nil
	}
	return true
}

// strike lets a fault happen.
func (s *simulation) strike(a *actor, w *gate.Waiting, f fault) {
	s.note("FAULT %s at %s", f, w)
	s.stats.fault(f)
	s.expose()
	s.killed = s.killed || slices.Contains([]kind{asleep, slow, pause, stop, change}, f.Kind) // operations may be given up on the floor, and do not close what they should
	s.littered = s.littered || slices.Contains([]kind{twin, pause, late, upkeep, foreign, damage, change}, f.Kind)
	if (f.Kind == lose || f.Kind == late) && w.Kind == "putifabsent" {
		s.stats.Counts[countAmbiguous]++
	}
	switch f.Kind {
	case die, dieDone:
		a.killed, s.killed = true, true
		a.cancel()
		fate := gate.Die
		if f.Kind == dieDone {
			fate = gate.DieDone
			s.doneUnheard(w.Call)
		}
		s.let(w, gate.Verdict{Fate: fate})
	case fail:
		s.disturbed, s.killed = true, true
		a.failing = f.Arg - 1
		s.let(w, gate.Verdict{Fate: gate.Fail, Err: s.unreachable(w.Op)})
	case lose:
		s.disturbed = true
		s.doneUnheard(w.Call)
		s.let(w, gate.Verdict{Fate: gate.Lose, Err: s.unknown(w.Op)})
	case late:
		s.disturbed, s.rivals = true, true
		s.doneUnheard(w.Call)
		s.lates = append(s.lates, &lateOp{w.Call, s.steps + f.Arg})
		s.let(w, gate.Verdict{Fate: gate.Late, Err: s.unknown(w.Op)})
	case power:
		s.powerLoss(f.Arg)
	case inside, torn:
		s.world.Disk(w.Place).CrashAt(1 + f.Arg%6)
		s.onLost = func() {
			s.world.Kill()
			s.remount()
		}
		if f.Kind == torn {
			s.onLost = func() { s.powerLoss(f.Arg) }
		}
		s.let(w, gate.Verdict{})
	case fsync:
		s.disturbed = true
		s.failDisk(1, syscall.EIO, "sync", "syncdir")
		s.let(w, gate.Verdict{})
	case full:
		s.disturbed = true
		s.failDisk(f.Arg, syscall.ENOSPC, "write", "create", "mkdir")
		s.let(w, gate.Verdict{})
	default:
		s.disturb(a, w, f)
	}
}

// disturb lets a fault happen that leaves the operation as it is.
func (s *simulation) disturb(a *actor, w *gate.Waiting, f fault) {
	switch f.Kind {
	case twin:
		s.rivals = true
		s.drive(s.Once)
		s.let(w, gate.Verdict{})
	case pause:
		s.rivals, s.disturbed = true, true // deadlines pass
		if a == s.repair {                 // nobody would make the batches that it waits for
			s.let(w, gate.Verdict{})
			return
		}
		a.resume = s.batches() + f.Arg
		s.restartAt = time.Now()
	case slow:
		s.disturbed = true
		for _, o := range s.alike(w) {
			s.held[o] = time.Now().Add(time.Duration(f.Arg) * time.Second)
		}
	case asleep:
		s.disturbed = true // deadlines pass
		s.land(true)       // no request is under way for hours
		time.Sleep(time.Duration(f.Arg) * time.Hour)
		s.let(w, gate.Verdict{})
	case clock:
		s.skew += time.Duration(f.Arg) * time.Minute
		a.skew += time.Duration(f.Arg) * time.Minute
		s.let(w, gate.Verdict{})
	case stop:
		a.cancel()
		s.let(w, gate.Verdict{})
	case leader, hide, lie, retention, compact:
		s.disturbed, s.lied = true, s.lied || f.Kind == lie
		s.note("%s", s.in.(*kafkaInput).calamity(s.random, f.Kind, f.Arg, s.ends[int64(s.batches())-2]))
		s.let(w, gate.Verdict{})
	case foreign:
		s.write(f.Arg)
		s.let(w, gate.Verdict{})
	case change:
		s.changed = true
		a.cancel()
		s.let(w, gate.Verdict{})
	case damage:
		s.damage(f.Arg)
	case upkeep:
		s.keepUp(f.Arg)
		s.let(w, gate.Verdict{})
	}
}

// doneUnheard: after an operation whose end nobody hears of, nothing is promised about its key.
func (s *simulation) doneUnheard(c gate.Call) {
	if c.Kind == "delete" || c.Kind == "put" {
		delete(s.acked, c.Place+"/"+c.Key)
	}
}

// failDisk makes the next n steps of some kinds fail.
func (s *simulation) failDisk(n int, err error, kinds ...string) {
	left := atomic.Int64{}
	left.Store(int64(n))
	s.world.Fault(func(_, op, _ string) error {
		if slices.Contains(kinds, op) && left.Add(-1) >= 0 {
			return err
		}
		return nil
	})
}

// powerFailed sees to it that nothing goes on after a disk has stopped in the middle of an operation.
func (s *simulation) powerFailed() bool {
	if s.onLost == nil {
		return false
	}
	lost := false
	for _, place := range append(world.Places(), world.Output) {
		if d := s.world.Disk(place); d != nil {
			lost = lost || d.Lost()
			d.CrashAt(0)
		}
	}
	after := s.onLost
	s.onLost = nil
	if lost {
		s.killAll()
		after()
	}
	return lost
}

// killAll ends all processes.
func (s *simulation) killAll() {
	s.expose()
	s.killed = true
	for _, a := range s.actors {
		if !a.killed {
			a.killed = true
			s.note("%s is killed", a.Name)
		}
		a.resume = 0
		a.Kill()
		a.cancel()
	}
	clear(s.held)
}

// powerLoss takes the power from the disk, and looks whether what was promised is there.
func (s *simulation) powerLoss(percent int) {
	s.killAll()
	s.world.PowerLoss(s.random, percent)
	s.remount()
	s.world.Fault(nil)
	for name, data := range s.acked {
		place, key, _ := strings.Cut(name, "/")
		got, err := s.world.Store(place).Get(context.Background(), key)
		if err != nil || string(got) != data {
			s.violate("the power was lost, and %s with it, which was answered: %v", name, err)
		}
	}
	if err := errors.Join(s.rejected.powerLost(), s.out.powerLost()); err != nil {
		s.violate("after the power was lost: %v", err)
	}
	s.leaves = s.leaves[:min(len(s.leaves), s.batches())]
	s.expose()
}

// remount is for those who look on.
func (s *simulation) remount() {
	if s.referee != nil {
		s.referee.remount()
	}
}
