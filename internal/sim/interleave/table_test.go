package interleave_test

import (
	"context"

	"microbatch/internal/sim/interleave"
	"microbatch/internal/sim/world"
	"microbatch/table"
	"microbatch/table/maintain"
)

// tableScenes are about other writers of the table.
func tableScenes() []scene {
	return []scene{
		{"a foreign optimize between read and commit", both, func(s *interleave.Stage) {
			s.World.Format = "delta"
			s.World.Topic.Produce(0, 7)
			a := s.Start("a")
			a.Past("checkpoint putifabsent offsets/2")
			a.Until(deltaPut) // batches 0 and 1 have a file each, batch 2 is staged
			t, err := table.Open(context.Background(), s.World.Store(world.Table), table.Options{})
			s.Must(err)
			joined, err := t.Optimize(context.Background(), maintain.OptimizeOptions{})
			s.Must(err)
			if joined.Removed != 2 {
				s.T.Errorf("optimize: %+v, want two files joined", joined)
			}
			a.Ends()
			s.Exact()
		}},
	}
}
