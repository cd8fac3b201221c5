package sim

import "fmt"

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
