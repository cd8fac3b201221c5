package sim

import (
	"microbatch/internal/sim/kafkamodel"
	"microbatch/internal/sim/pgmodel"
	"microbatch/internal/sim/world"
	"microbatch/sinks"
	"microbatch/sinks/kafka"
	"microbatch/sinks/postgres"
)

// output is where the rows of a run go, as the simulation follows them.
type output interface {
	// sink is the output as a process writes to it.
	sink(a *actor) sinks.Sink
	// newest is the newest batch that has taken effect; -1: none.
	newest() int64
	// look verifies what has come since the last look. It comes after each operation.
	look() error
	// powerLost is told that the machine has lost its power, and verifies that what was promised is there.
	powerLost() error
	// verdict is the last look, when all is quiet and all batches up to the newest have to be there.
	verdict() error
}

// newOutput makes the output of a run.
func (s *simulation) newOutput() output {
	switch s.Sink {
	case "foreachbatch":
		return &callsOutput{s: s, calls: map[int64]call{}}
	case "parquet", "delta":
		return newTableOutput(s)
	}
	t := s.newTarget()
	s.world.WriteTo(t)
	return newTargetOutput(s, t)
}

// newTarget is the target that the options name.
func (o options) newTarget() world.Target {
	switch o.Sink {
	case "kafka":
		return kafkamodel.NewTarget(kafka.Transactional)
	case "postgres":
		c := postgres.Config{Mode: o.Mode}
		if o.keyed() {
			c.Keys, c.OrderBy = []string{o.Key}, []string{"id"}
		}
		return pgmodel.NewTarget(c)
	case "files":
		return world.NewFiles()
	case "http":
		return world.NewService()
	}
	panic("sim: no sink is called " + o.Sink)
}
