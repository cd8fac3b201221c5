package interleave_test

import (
	"errors"
	"strings"

	"microbatch/internal/errcode"
	"microbatch/internal/sim/interleave"
	"microbatch/internal/sim/world"
)

// lostScenes are about answers and changes that are lost or late.
func lostScenes() []scene {
	return []scene{
		{"recovery acts on an entry that was linked and not synced, then the power is lost", disk, func(s *interleave.Stage) {
			s.World.Topic.Produce(0, 5)
			a := s.Start("a")
			a.Until("checkpoint putifabsent offsets/1")
			restore := noDirectorySync(s, world.Checkpoint)
			a.Ends(errcode.StoreFsync) // offsets/1 is there, and may be gone after a power loss
			restore()
			s.World.Kill() // whoever comes next knows nothing of what was not synced
			b := s.Start("b")
			b.Past(tablePut) // batch 1 is in the table
			s.PowerLoss(0)
			s.Start("c").Ends()
			s.Exact()
			s.NoOrphans()
		}},
		{"recovery acts on a version of the table that was linked and not synced, then the power is lost", disk, func(s *interleave.Stage) {
			s.World.Topic.Produce(0, 5)
			a := s.Start("a")
			a.Past("checkpoint putifabsent offsets/1")
			a.Until(tablePut)
			restore := noDirectorySync(s, world.Table)
			a.Ends(errcode.StoreFsync)
			restore()
			s.World.Kill()
			s.Start("b").DiesAfter("checkpoint putifabsent commits/1")
			s.PowerLoss(0)
			s.Start("c").Ends()
			s.Exact()
		}},
		{"a delayed commit of attempt 1 lands while attempt 2 sweeps: its slot is taken", objects, func(s *interleave.Stage) {
			s.World.Topic.Produce(0, 5)
			a := s.Start("a")
			a.Past("checkpoint putifabsent offsets/1")
			land := a.Late(tablePut)
			a.Past(tablePut) // attempt 2 of the same driver, which has claimed another epoch
			a.Until("table list part-*")
			land()
			a.Ends()
			s.Exact()
			s.NoOrphans()
		}},
		{"a delayed commit of attempt 1 lands before attempt 2 commits: attempt 2 is not needed and leaves nothing", objects, func(s *interleave.Stage) {
			s.World.Topic.Produce(0, 5)
			a := s.Start("a")
			a.Past("checkpoint putifabsent offsets/1")
			land := a.Late(tablePut)
			a.Until(tablePut)
			b := s.Start("b")
			b.Until(tablePut) // attempt 3
			land()
			b.Ends()
			a.Ends(errcode.DriverFenced)
			s.Exact()
			s.NoOrphans()
		}},
		{"rejected rows are committed, then the pipeline changes while the batch is pending", both, func(s *interleave.Stage) {
			s.World.Topic.Bad = func(_ int, n int64) bool { return n%2 == 1 }
			s.World.Topic.Produce(0, 6)
			a := s.Start("a")
			a.Past("checkpoint putifabsent offsets/1")
			a.Past("rejected putifabsent _*.json")
			a.Dies(tablePut)
			s.Start("changed", evolving(s)).Ends(errcode.ChangedWhilePending)
			s.Start("accepted", evolving(s), acceptChange).Ends()
			s.Exact()
			s.NoOrphans()
			if got := strings.Join(s.Rows(world.Rejected, "position"), " "); got != "0-1 0-3 0-5" {
				s.T.Errorf("rejected rows %s", got)
			}
		}},
		{"--once with data arriving meanwhile: it stops at what was there when it began", both, func(s *interleave.Stage) {
			s.World.Topic.Produce(0, 5)
			a := s.Start("a")
			a.Past("checkpoint putifabsent offsets/0")
			s.World.Topic.Produce(0, 4)
			a.Ends()
			s.ExactUpTo(5)
			s.Start("b").Ends()
			s.Exact()
		}},
	}
}

// noDirectorySync makes each sync of a folder of a place fail, until it is restored: names are visible and not durable.
func noDirectorySync(s *interleave.Stage, place string) (restore func()) {
	d := s.World.Disk(place)
	d.Fault(func(op, _ string) error {
		if op == "syncdir" {
			return errors.New("input/output error")
		}
		return nil
	})
	return func() { d.Fault(nil) }
}
