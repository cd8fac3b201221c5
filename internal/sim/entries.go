package sim

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"microbatch/internal/sim/world"
)

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
