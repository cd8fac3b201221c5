package explore

import (
	"context"

	"microbatch/checkpointlog"
	"microbatch/engine"
	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/internal/sim/gate"
	"microbatch/internal/sim/interleave"
	"microbatch/internal/sim/world"
	"microbatch/objstore"
)

// Where drivers wait when an exploration begins.
const (
	claim    = "checkpoint putifabsent _engine/epoch/*"
	tablePut = "table putifabsent _metadata/_0*"
)

// Starts are the situations that are explored. In all but the first two, batch 0 has two rows and is recorded, and batch 1 has one row, because more had not come when it was planned.
func Starts() []Start {
	return []Start{
		{
			Name: "both start on nothing", Quick: 10, Full: 22,
			Set: func(s *interleave.Stage) Pair { return Pair{s.Start("a"), s.Start("b")} },
		},
		{
			Name: "both are about to make the checkpoint", Quick: 6, Full: 16,
			Set: func(s *interleave.Stage) Pair {
				return Pair{startUntil(s, "a", "checkpoint putifabsent metadata"), startUntil(s, "b", "checkpoint putifabsent metadata")}
			},
		},
		{
			Name: "batch 1 is pending and not visible, rows have come since, both are about to claim an epoch", Quick: 6, Full: 18,
			Past: func(s *interleave.Stage) {
				s.Start("z").DiesAfter("checkpoint putifabsent offsets/1")
				s.World.Topic.Produce(0, 2)
			},
			Set: bothClaim,
		},
		{
			Name: "batch 1 is visible and not recorded, both are about to claim an epoch", Quick: 6, Full: 18,
			Past: func(s *interleave.Stage) {
				s.Start("z").Dies("checkpoint putifabsent commits/1")
				s.World.Topic.Produce(0, 2)
			},
			Set: bothClaim,
		},
		{
			Name: "a is about to fix batch 1, b is about to claim an epoch", Quick: 6, Full: 16,
			Past: batch0,
			Set: func(s *interleave.Stage) Pair {
				return Pair{startUntil(s, "a", "checkpoint putifabsent offsets/1"), startUntil(s, "b", claim)}
			},
		},
		{
			Name: "a is about to commit batch 1, b begins to look", Quick: 6, Full: 18,
			Past: batch0,
			Set: func(s *interleave.Stage) Pair {
				return Pair{startUntil(s, "a", "checkpoint putifabsent offsets/1", tablePut), s.Start("b")}
			},
		},
		{
			Name: "a and b are about to commit batch 1", Quick: 6, Full: 16,
			Past: batch0,
			Set: func(s *interleave.Stage) Pair {
				a := startUntil(s, "a", "checkpoint putifabsent offsets/1", tablePut)
				s.World.Topic.Produce(0, 2)
				return Pair{a, startUntil(s, "b", claim, tablePut)}
			},
		},
		{
			Name:  "a was about to fix batch 1 when it fell asleep, its successor has gone on to batch 3 and purged, b is about to claim an epoch",
			Quick: 6, Full: 18, Past: batch0, Purges: true,
			Set: func(s *interleave.Stage) Pair {
				a := startUntil(s, "a", "checkpoint putifabsent offsets/1")
				s.World.Topic.Produce(0, 4)
				s.Start("z").Ends()
				s.Must(purge(context.Background(), s.World.Store(world.Checkpoint), 1))
				s.World.Topic.Produce(0, 1)
				return Pair{a, startUntil(s, "b", claim)}
			},
		},
		{
			Name:  "a was about to commit batch 1 when it fell asleep, its successor has gone on and the log was cleaned up, b is about to claim an epoch",
			Quick: 6, Full: 18, Past: batch0,
			Set: func(s *interleave.Stage) Pair {
				a := startUntil(s, "a", "checkpoint putifabsent offsets/1", tablePut)
				s.World.Topic.Produce(0, 4)
				s.Start("z").Ends()
				s.CleanLog()
				s.World.Topic.Produce(0, 1)
				return Pair{a, startUntil(s, "b", claim)}
			},
		},
		{
			Name: "a purge was cut off, both are about to claim an epoch", Quick: 6, Full: 18, Purges: true,
			Past: func(s *interleave.Stage) {
				s.World.Topic.Produce(0, 4)
				s.Start("y").Ends()
				s.StartFunc("z", func(p *gate.Process) func(context.Context) error {
					return func(ctx context.Context) error {
						return purge(ctx, p.Store(world.Checkpoint, s.World.Store(world.Checkpoint)), 1)
					}
				}).Dies("checkpoint delete commits/1")
				s.World.Topic.Produce(0, 1)
			},
			Set: bothClaim,
		},
		{
			Name:  "a is about to commit batch 1, whose entry was torn, b is about to claim an epoch for a repair",
			Quick: 6, Full: 18, Past: batch0, Purges: true, Torn: true, May: []errcode.Code{errcode.CheckpointDamaged},
			Set: func(s *interleave.Stage) Pair {
				a := startUntil(s, "a", "checkpoint putifabsent offsets/1", tablePut)
				s.World.Topic.Produce(0, 2)
				tear(s, "offsets/1")
				b := repair(s, "b")
				b.Until(claim)
				return Pair{a, b}
			},
		},
	}
}

func bothClaim(s *interleave.Stage) Pair {
	return Pair{startUntil(s, "a", claim), startUntil(s, "b", claim)}
}

// batch0 has a driver that dies between two batches.
func batch0(s *interleave.Stage) { s.Start("y").DiesAfter("checkpoint putifabsent commits/0") }

// plain makes the query as simple as it gets.
func plain(s *interleave.Stage) {
	query := s.Query
	s.Query = func(p *gate.Process) engine.Query {
		q := query(p)
		q.OnError, q.Rejected = engine.FailQuery, nil
		return q
	}
}

// startUntil starts a driver and lets it go past one operation after the other, and wait at the last.
func startUntil(s *interleave.Stage, name string, patterns ...string) *interleave.Actor {
	a := s.Start(name)
	for _, p := range patterns {
		a.Until(p)
	}
	return a
}

// repair starts a repair of the checkpoint.
func repair(s *interleave.Stage, name string) *interleave.Actor {
	return s.StartFunc(name, func(p *gate.Process) func(context.Context) error {
		return func(ctx context.Context) error { return s.Query(p).Repair(ctx, engine.Repair{Step: func(string) {}}) }
	})
}

// tear cuts off an object of the checkpoint.
func tear(s *interleave.Stage, key string) {
	ctx, store := context.Background(), s.World.Store(world.Checkpoint)
	data, err := store.Get(ctx, key)
	s.Must(err)
	s.Must(store.Put(ctx, key, data[:len(data)/2]))
}

// purge purges the checkpoint up to a batch, as a driver does after many more.
func purge(ctx context.Context, store objstore.Store, mark ident.BatchID) error {
	c := checkpointlog.NewCheckpoint(store)
	var ids []ident.BatchID
	for id := range mark + 1 {
		ids = append(ids, id)
	}
	return c.Purge(ctx, mark, ids, ids)
}
