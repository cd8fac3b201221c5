package explore

import (
	"context"
	"testing"
	"testing/synctest"

	"microbatch/internal/sim/interleave"
	"microbatch/internal/sim/world"
)

// past is what the past of a start has left: it is played once, and put in place for each run.
type past struct {
	ends   []int64
	stores map[string]map[string][]byte // by place and key
}

func playPast(t *testing.T, start *Start) *past {
	p := &past{stores: map[string]map[string][]byte{}}
	synctest.Test(t, func(t *testing.T) {
		s := interleave.New(t, world.New(world.Objects, 1))
		defer s.Close()
		plain(s)
		s.World.Topic.Produce(0, 3)
		if start.Past != nil {
			start.Past(s)
		}
		p.ends = s.World.Topic.Ends
		for _, place := range []string{world.Checkpoint, world.Table} {
			p.stores[place] = map[string][]byte{}
			for _, key := range s.Keys(place, "") {
				data, err := s.World.Store(place).Get(context.Background(), key)
				s.Must(err)
				p.stores[place][key] = data
			}
		}
	})
	return p
}

func (p *past) restore(s *interleave.Stage) {
	copy(s.World.Topic.Ends, p.ends)
	for place, objects := range p.stores {
		for key, data := range objects {
			s.Must(s.World.Store(place).Put(context.Background(), key, data))
		}
	}
}
