package sim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

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

// entry is the text of offsets/<id>, as the checkpoint has it.
func (s *simulation) entry(id int64) (string, error) {
	text, err := s.world.Store(world.Checkpoint).Get(context.Background(), fmt.Sprintf("offsets/%d", id))
	return string(text), err
}

// recorded reports whether the checkpoint has commits/<id>.
func (s *simulation) recorded(id int64) bool {
	_, err := s.world.Store(world.Checkpoint).Stat(context.Background(), fmt.Sprintf("commits/%d", id))
	return err == nil
}

// fixed reports whether the checkpoint has offsets/<id>.
func (s *simulation) fixed(id int64) bool {
	_, err := s.entry(id)
	return err == nil
}

// follows makes sure that a batch may be the next one to take effect: the one after the newest, or at most once has lost those between.
func (s *simulation) follows(id, newest int64) error {
	if id == newest+1 || id > newest && s.AtMostOnce {
		return s.lack(newest+1, id)
	}
	return fmt.Errorf("batch %d follows batch %d", id, newest)
}

// lack makes sure that the batches from one to another may be missing: they are recorded, and something has struck while they were under way.
func (s *simulation) lack(from, to int64) error {
	for id := from; id < to; id++ {
		if !s.recorded(id) {
			return fmt.Errorf("batch %d is missing, and is not recorded", id)
		}
		if !s.exposed[id] && !s.rivals {
			return fmt.Errorf("batch %d is lost, and nothing has struck it", id)
		}
		s.lost[id] = true
		s.stats.Counts[countLost]++
	}
	return nil
}

// expose notes that what is under way may be lost, if it is delivered at most once.
func (s *simulation) expose() {
	if !s.AtMostOnce {
		return
	}
	for id := s.out.newest() + 1; s.fixed(id); id++ {
		s.exposed[id] = true
	}
}

// endOf is where a batch ends: as it was seen, or as the checkpoint says.
func (s *simulation) endOf(id int64) ([]int64, error) {
	if end, ok := s.ends[id]; ok || id < 0 {
		return end, nil
	}
	text, err := s.entry(id)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("nothing tells where batch %d ends", id)
	}
	if err != nil {
		return nil, err
	}
	end, err := s.endsOf(text)
	if err == nil {
		s.ends[id] = end
	}
	return end, err
}
