package sim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"microbatch/ident"
	"microbatch/internal/sim/gate"
	"microbatch/internal/sim/world"
)

// fits reports whether a fault can happen to an operation.
func fits(f fault, op gate.Op) bool {
	switch f.Kind {
	case lose, late:
		return op.Writes() && op.Kind != "sync" || f.Kind == lose && isKafka(op)
	case inside, torn, fsync, full:
		return op.Writes()
	}
	return true
}

// strike lets a fault happen.
func (s *simulation) strike(a *actor, w *gate.Waiting, f fault) {
	s.note("FAULT %s at %s", f, w)
	s.stats.fault(f)
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
		s.let(w, gate.Verdict{Fate: gate.Fail, Err: unreachable(w.Op)})
	case lose:
		s.disturbed = true
		s.doneUnheard(w.Call)
		s.let(w, gate.Verdict{Fate: gate.Lose, Err: unknown(w.Op)})
	case late:
		s.disturbed, s.rivals = true, true
		s.doneUnheard(w.Call)
		s.lates = append(s.lates, &lateOp{w.Call, s.steps + f.Arg})
		s.let(w, gate.Verdict{Fate: gate.Late, Err: unknown(w.Op)})
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
		s.held[w] = time.Now().Add(time.Duration(f.Arg) * time.Second)
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

// disk sets how all disks fail; nil: they do not.
func (s *simulation) disk(decide func(op, name string) error) {
	for _, place := range world.Places() {
		if d := s.world.Disk(place); d != nil {
			d.Fault(decide)
		}
	}
}

// failDisk makes the next n steps of some kinds fail.
func (s *simulation) failDisk(n int, err error, kinds ...string) {
	left := atomic.Int64{}
	left.Store(int64(n))
	s.disk(func(op, _ string) error {
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
	for _, place := range world.Places() {
		lost = lost || s.world.Disk(place).Lost()
		s.world.Disk(place).CrashAt(0)
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
	s.disk(nil)
	for name, data := range s.acked {
		place, key, _ := strings.Cut(name, "/")
		got, err := s.world.Store(place).Get(context.Background(), key)
		if err != nil || string(got) != data {
			s.violate("the power was lost, and %s with it, which was answered: %v", name, err)
		}
	}
	for _, w := range []*witness{s.main, s.rejected} {
		if err := w.powerLost(); err != nil {
			s.violate("after the power was lost: %v", err)
		}
	}
	if s.referee != nil && !s.broken {
		s.referee.PowerLoss()
		s.referee.looked = 0
	}
}

// remount is for those who look on.
func (s *simulation) remount() {
	if s.referee != nil {
		s.referee.remount()
	}
}

// check looks at what is new in the tables.
func (s *simulation) check() error {
	err := s.main.advance(func(id int64, b landed) error { return s.checkBatch(id, b) })
	if err == nil {
		err = s.rejected.advance(func(id int64, b landed) error { return s.checkRejected(id, b) })
	}
	if err == nil && s.referee != nil && !s.broken {
		err = s.referee.look(false)
	}
	return err
}

// checkBatch compares a batch with the model.
func (s *simulation) checkBatch(id int64, b landed) error {
	if prev := int64(len(s.main.batches)) - 1; id != prev {
		return fmt.Errorf("batch %d follows batch %d", id, prev-1)
	}
	e, err := s.expected(id, b.text)
	if err != nil {
		return err
	}
	if err := sameRows(fmt.Sprintf("batch %d", id), b.rows, e.rows); err != nil {
		if !s.changed || sameRows("", b.rows, e.changed) != nil {
			return err
		}
	}
	if _, ok := s.rejected.batches[id]; !ok && len(e.rejected) > 0 {
		return fmt.Errorf("batch %d is visible, and its %d rejected rows are not", id, len(e.rejected))
	}
	return nil
}

func (s *simulation) checkRejected(id int64, b landed) error {
	e, err := s.expected(id, b.text)
	if err != nil {
		return err
	}
	return sameRows(fmt.Sprintf("rejected rows of batch %d", id), b.rows, e.rejected)
}

// expected is what a batch holds whose entry of the checkpoint has a text; the text is that of the checkpoint, if it is still there.
func (s *simulation) expected(id int64, text string) (expectation, error) {
	end, err := s.endsOf(text)
	if err != nil {
		return expectation{}, err
	}
	stored, err := s.world.Store(world.Checkpoint).Get(context.Background(), fmt.Sprintf("offsets/%d", id))
	if err == nil && string(stored) != text {
		return expectation{}, fmt.Errorf("offsets/%d is not what batch %d was made from", id, id)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return expectation{}, err
	}
	begin, ok := s.ends[id-1]
	if !ok && id > 0 {
		return expectation{}, fmt.Errorf("batch %d comes before batch %d", id, id-1)
	}
	if was, ok := s.ends[id]; ok && !slices.Equal(was, end) {
		return expectation{}, fmt.Errorf("batch %d ended at %v and ends at %v", id, was, end)
	}
	s.ends[id] = end
	return s.expect(s.in, begin, end)
}

// endsOf reads the end of the source from the text of an entry of offsets.
func (s *simulation) endsOf(text string) (out []int64, err error) {
	lines := strings.Split(text, "\n")
	if len(lines) != 3 {
		return nil, fmt.Errorf("the entry has %d lines: %q", len(lines), text)
	}
	return s.in.parse(ident.Offset(lines[2]))
}

// sameRows compares sorted rows with a set.
func sameRows(what string, got []string, want map[string]bool) error {
	for i, r := range got {
		if i > 0 && got[i-1] == r {
			return fmt.Errorf("%s: %q stands there twice", what, r)
		}
		if !want[r] {
			return fmt.Errorf("%s: %q should not be there", what, r)
		}
	}
	if len(got) != len(want) {
		for r := range want {
			if _, ok := slices.BinarySearch(got, r); !ok {
				return fmt.Errorf("%s: %d rows instead of %d: %q is missing", what, len(got), len(want), r)
			}
		}
	}
	return nil
}

// checkDelete looks at what is about to be deleted from a table: nothing that is part of it, or that a put which is still under way would make part of it.
func (s *simulation) checkDelete(w *gate.Waiting) {
	table := map[string]*witness{world.Table: s.main, world.Rejected: s.rejected}[w.Place]
	if table == nil {
		return
	}
	if !strings.HasSuffix(w.Key, ".parquet") || strings.HasPrefix(w.Key, "_") {
		if s.referee != nil && !s.broken { // entries of the log go, which the checker has to have seen
			if err := s.referee.look(true); err != nil {
				s.violate("%v", err)
			}
		}
		return
	}
	name := path.Base(w.Key)
	for file := range table.live {
		if path.Base(file) == name {
			s.violate("%s: the file is part of version %d", w, table.next-1)
		}
	}
	for _, l := range s.lates {
		if l.Place != w.Place || l.Kind != "putifabsent" || !strings.Contains(string(l.Data), name) {
			continue
		}
		if _, err := s.world.Store(l.Place).Stat(context.Background(), l.Key); errors.Is(err, fs.ErrNotExist) {
			s.violate("%s: the file is named by a put of %s that is still under way", w, l.Key)
		}
	}
}

// called checks a call of the user's function.
func (s *simulation) called(id int64, digest string, rows []string) error {
	slices.Sort(rows)
	c := call{digest, strings.Join(rows, "\n")}
	if was, ok := s.calls[id]; ok {
		if was != c {
			s.violate("batch %d was handed over with other rows, or another digest, than before", id)
		}
		return nil
	}
	if id != int64(len(s.calls)) {
		s.violate("batch %d was handed over after batch %d", id, len(s.calls)-1)
	}
	s.calls[id] = c
	text, err := s.world.Store(world.Checkpoint).Get(context.Background(), fmt.Sprintf("offsets/%d", id))
	if err != nil {
		s.violate("batch %d was handed over, and offsets/%d: %v", id, id, err)
		return nil
	}
	e, err := s.expected(id, string(text))
	if err == nil {
		err = sameRows(fmt.Sprintf("batch %d", id), rows, e.rows)
	}
	if err != nil {
		s.violate("%v", err)
	}
	return nil
}

// verdict is the last look, when all is quiet.
func (s *simulation) verdict() error {
	for _, w := range []*witness{s.main, s.rejected} {
		if err := errors.Join(w.unchanged(), w.whole()); err != nil {
			return err
		}
	}
	if s.referee != nil {
		if err := s.referee.finish(); err != nil {
			return err
		}
		if orphans := s.referee.orphans(); s.Format == "parquet" && !s.littered && len(orphans) > 0 {
			return fmt.Errorf("files that no version names are left: %v", orphans)
		}
	}
	last := int64(s.batches()) - 1
	e, err := s.expect(s.in, nil, s.ends[last])
	if err != nil {
		return err
	}
	if n := s.rejected.count(); n != len(e.rejected) {
		return fmt.Errorf("%d rejected rows in the end, %d should be there", n, len(e.rejected))
	}
	if s.Format != "foreachbatch" {
		if n := s.main.count(); n != len(e.rows)+s.main.foreign {
			return fmt.Errorf("%d rows in the end, %d should be there, and %+d by foreign writers", n, len(e.rows), s.main.foreign)
		}
	}
	for id := max(0, last-50); id <= last; id++ {
		if _, err := s.world.Store(world.Checkpoint).Stat(context.Background(), fmt.Sprintf("commits/%d", id)); err != nil {
			return fmt.Errorf("batch %d is not recorded: %w", id, err)
		}
	}
	return nil
}
