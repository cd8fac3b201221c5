package interleave_test

import (
	"slices"

	"microbatch/engine"
	"microbatch/internal/errcode"
	"microbatch/internal/sim/gate"
	"microbatch/internal/sim/interleave"
	"microbatch/internal/sim/world"
	"microbatch/objstore/mem"
	"microbatch/sinks/lakehouse"
)

// driverScenes are about two drivers of one query.
func driverScenes() []scene {
	return []scene{
		{"a checkpoint is copied and both copies run on: the digest stops the second, and no row is lost", both, func(s *interleave.Stage) {
			s.World.Topic.Produce(0, 4)
			s.Start("first").Ends()
			elsewhere := mem.New()
			s.Copy(s.World.Store(world.Checkpoint), elsewhere)
			s.World.Topic.Produce(0, 3)
			original := s.Start("original")
			original.Until(tablePut)
			copied := s.StartQuery("copied", func(p *gate.Process) engine.Query {
				q := s.Query(p)
				q.Checkpoint = p.Store("copy", elsewhere)
				return q
			})
			copied.Until(tablePut) // batch 2 as well, in the same epoch: both passed the check of their own checkpoint
			original.Past(tablePut)
			copied.Ends(errcode.TableForeignBatch)
			original.Ends()
			s.Exact()
		}},
		{"a twin meets the other's offsets/N: exactly one goes on", both, func(s *interleave.Stage) {
			s.World.Topic.Produce(0, 10)
			a := s.Start("a", lockLost)
			a.Until("checkpoint putifabsent offsets/2")
			b := s.Start("b", lockLost)
			b.Past("checkpoint putifabsent offsets/2")
			a.Ends(errcode.DriverFenced)
			b.Ends()
			s.Exact()
			s.NoOrphans()
		}},
		{"two drivers claim one epoch, the winner's answer is lost: the newest claim goes on", both, func(s *interleave.Stage) {
			s.World.Topic.Produce(0, 5)
			a, b := s.Start("a", lockLost), s.Start("b", lockLost)
			a.Until("checkpoint putifabsent _engine/epoch/1")
			b.Until("checkpoint putifabsent _engine/epoch/1")
			a.Losing("checkpoint putifabsent _engine/epoch/1") // it is a's, who does not know
			b.Past("checkpoint putifabsent _engine/epoch/2")   // 1 is taken
			a.Past("checkpoint putifabsent _engine/epoch/3")
			b.Ends(errcode.DriverFenced)
			a.Ends()
			s.Exact()
		}},
		{"two drivers claim one epoch, the loser's claim is still under way: it comes too late and changes nothing", objects, func(s *interleave.Stage) {
			s.World.Topic.Produce(0, 5)
			a, b := s.Start("a"), s.Start("b")
			land := a.Late("checkpoint putifabsent _engine/epoch/1")
			b.Past("checkpoint putifabsent _engine/epoch/1")
			land()
			a.Past("checkpoint putifabsent _engine/epoch/2")
			a.Past("checkpoint putifabsent offsets/0")
			b.Ends(errcode.DriverFenced)
			a.Ends()
			s.Exact()
		}},
		{"a start lists while the running driver commits: it looks again, and goes on behind what was recorded", both, func(s *interleave.Stage) {
			s.World.Topic.Produce(0, 10)
			a := s.Start("a", lockLost)
			a.Past("checkpoint putifabsent offsets/1")
			b := s.Start("b", lockLost)
			b.Past("checkpoint list commits/")         // offsets up to 1, commits up to 0
			a.Past("checkpoint putifabsent commits/2") // now the table is ahead of what b has listed
			b.Past("checkpoint putifabsent _engine/epoch/2")
			a.Ends(errcode.DriverFenced)
			b.Ends()
			s.Exact()
		}},
		{"a start that fails does not stop the running driver", both, func(s *interleave.Stage) {
			s.World.Topic.Produce(0, 6)
			a := s.Start("a", lockLost)
			a.Past("checkpoint putifabsent offsets/1")
			s.Start("other partitions", lockLost, partitioned(s)).Ends(errcode.TablePartitions)
			s.Start("changed", lockLost, evolving(s)).Ends(errcode.ChangedWhilePending)
			s.Start("invalid", func(_ *gate.Process, q *engine.Query) { q.Name = "" }).Ends(errcode.QueryIncomplete)
			a.Ends()
			s.Exact()
			if epochs := s.Keys(world.Checkpoint, "_engine/epoch/"); !slices.Equal(epochs, []string{"_engine/epoch/1"}) {
				s.T.Errorf("epochs %v: a start that fails claims none", epochs)
			}
		}},
		{"a checkpoint is restored from a copy, and its epochs are lower than the table's: the next is higher than both", both, func(s *interleave.Stage) {
			s.World.Topic.Produce(0, 4)
			s.Start("a").Ends() // epoch 1
			backup := mem.New()
			s.Copy(s.World.Store(world.Checkpoint), backup)
			s.World.Topic.Produce(0, 3)
			zombie := s.Start("zombie", lockLost)
			zombie.Until("checkpoint putifabsent offsets/2") // of epoch 2
			fencing := s.Start("fencing", lockLost, acceptChange)
			fencing.Dies("checkpoint putifabsent offsets/2") // the table holds epoch 3
			s.Restore(backup, world.Checkpoint)
			s.Start("b", lockLost).Ends()
			zombie.Ends(errcode.DriverFenced)
			s.Exact()
			if epochs := s.Keys(world.Checkpoint, "_engine/epoch/"); !slices.Equal(epochs, []string{"_engine/epoch/1", "_engine/epoch/4"}) {
				s.T.Errorf("epochs %v, want 1 and 4", epochs)
			}
		}},
	}
}

// partitioned gives the table other partition columns than it has.
func partitioned(s *interleave.Stage) interleave.Change {
	return withTable(s, lakehouse.Config{PartitionBy: []string{"part"}})
}

// evolving lets the table accept new columns, a change that is permitted while no batch is pending.
func evolving(s *interleave.Stage) interleave.Change {
	return withTable(s, lakehouse.Config{SchemaEvolution: lakehouse.AddColumns})
}

func withTable(s *interleave.Stage, c lakehouse.Config) interleave.Change {
	return func(p *gate.Process, q *engine.Query) { q.Sink = s.World.Sink(p, world.Table, c) }
}

func acceptChange(_ *gate.Process, q *engine.Query) { q.AcceptChange = true }
