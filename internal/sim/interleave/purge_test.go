package interleave_test

import (
	"slices"

	"microbatch/internal/errcode"
	"microbatch/internal/sim/interleave"
	"microbatch/internal/sim/world"
)

// purgeScenes are about what is deleted while somebody sleeps.
func purgeScenes() []scene {
	return []scene{
		{"a crash in the middle of a purge, and a zombie's put into a purged slot", both, func(s *interleave.Stage) {
			s.World.Topic.Produce(0, 2*210)
			zombie := s.Start("zombie", lockLost)
			zombie.Until("checkpoint putifabsent offsets/3")
			b := s.Start("b", lockLost)
			b.Dies("checkpoint delete commits/7") // after 203 batches
			c := s.Start("c", lockLost)
			c.Past("checkpoint delete offsets/10") // it goes on with the purge before anything else
			zombie.Past("checkpoint putifabsent offsets/3")
			zombie.Ends(errcode.DriverFenced)
			c.Ends()
			s.Start("d", lockLost).Ends() // what the zombie has put counts for nobody, and is deleted
			s.Exact()
			if slices.Contains(s.Keys(world.Checkpoint, "offsets/"), "offsets/3") {
				s.T.Error("offsets/3 is still there")
			}
		}},
		{"an orphan attempt whose sweep was cut off twice", both, func(s *interleave.Stage) {
			s.World.Topic.Produce(0, 5)
			a := s.Start("a")
			a.Until("checkpoint putifabsent offsets/1")
			a.Dies(tablePut) // one attempt of batch 1 is staged
			b := s.Start("b")
			b.Dies(tablePut) // and a second
			c := s.Start("c")
			c.Past(tablePut) // the third is the winner
			c.Dies("table delete part-*")
			s.Start("d").DiesAfter("table delete part-*")
			s.Start("e").Ends()
			s.Exact()
			s.NoOrphans()
		}},
		{"a partial upload is abandoned and tried again", both, func(s *interleave.Stage) {
			s.World.Topic.Produce(0, 5)
			a := s.Start("a")
			a.Past("checkpoint putifabsent offsets/1")
			a.Fails("table commit part-*", errcode.StoreUploadGone.New("part", "the store has dropped the upload"))
			a.Past("table commit part-*") // another attempt, under another name
			a.Until("checkpoint putifabsent offsets/2")
			a.Dies("table commit part-*") // a killed one is nowhere
			s.Start("b").Ends()
			s.Exact()
			s.NoOrphans()
		}},
		{"a log entry lands in a cleaned slot: no reader sees it, and its writer stops", both, func(s *interleave.Stage) {
			s.World.Topic.Produce(0, 7)
			zombie := s.Start("zombie", lockLost)
			zombie.Until("checkpoint putifabsent offsets/1")
			zombie.Until(tablePut)
			s.Start("b", lockLost).Ends()
			s.CleanLog()
			zombie.Past(tablePut)
			zombie.MayNot("checkpoint putifabsent commits/*")
			zombie.Ends(errcode.DriverFenced)
			s.World.Topic.Produce(0, 3)
			s.Start("c", lockLost).Ends()
			s.ExactRows()
		}},
	}
}
