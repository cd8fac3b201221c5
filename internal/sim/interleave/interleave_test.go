package interleave_test

import (
	"testing"

	"microbatch/internal/errcode"
	"microbatch/internal/sim/interleave"
	"microbatch/internal/sim/world"
)

// both plays a schedule on both media.
func both(t *testing.T, play func(*interleave.Stage)) {
	for _, m := range []world.Medium{world.Objects, world.Disk} {
		t.Run(m.String(), func(t *testing.T) { interleave.Play(t, m, play) })
	}
}

func TestInterleavings(t *testing.T) {
	t.Run("a twin meets the other's offsets/N: exactly one goes on", func(t *testing.T) {
		interleave.Play(t, world.Objects, func(s *interleave.Stage) {
			s.World.Topic.Produce(0, 10)
			a := s.Start("a")
			a.Until("checkpoint putifabsent offsets/2")
			b := s.Start("b")
			b.Past("checkpoint putifabsent offsets/2")
			a.Ends(errcode.DriverFenced)
			b.Ends()
			s.Exact()
			s.NoOrphans()
		})
	})
}
