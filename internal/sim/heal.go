package sim

import (
	"fmt"
	"testing/synctest"
	"time"
)

// heal ends all faults: what stands still goes on and all processes end; then one driver has to finish everything.
func (s *simulation) heal() error {
	s.note("heal")
	s.healing, s.due = true, nil
	clear(s.held)
	for _, a := range s.actors {
		a.resume, a.failing = 0, 0
	}
	s.world.Fault(nil)
	if err := s.until(s.random.IntN(60), func() bool { return false }); err != nil {
		return err
	}
	for _, a := range s.actors {
		if a != s.repair {
			a.cancel()
		}
	}
	if err := s.until(3000, func() bool { return len(s.actors) == 0 && !s.broken }); err != nil {
		return err
	}
	if len(s.actors) > 0 {
		return fmt.Errorf("%s does not end", s.actors[0].Name)
	}
	for p := range s.in.partitions() {
		s.produce(p, 1) // the marker
	}
	s.in.settle()
	for tries := len(s.lates) + 3; ; tries-- {
		began := time.Now()
		a := s.drive(true)
		if err := s.until(1000+400*int(s.backlog()), func() bool { return len(s.actors) == 0 }); err != nil {
			return err
		}
		if len(s.actors) > 0 {
			return fmt.Errorf("%s does not catch up", a.Name)
		}
		if took := time.Since(began); took > time.Hour {
			return fmt.Errorf("%s takes %s", a.Name, took)
		}
		if s.backlog() == 0 {
			break
		}
		if tries == 0 {
			return fmt.Errorf("the last driver has ended and %d rows are not there", s.backlog())
		}
	}
	s.land(true)
	return s.look()
}

// until goes on for some steps, or until something holds.
func (s *simulation) until(steps int, holds func() bool) error {
	for range steps {
		synctest.Wait()
		if err := s.look(); err != nil {
			return err
		}
		if holds() {
			return nil
		}
		s.land(false)
		if s.broken {
			s.restart()
			synctest.Wait()
		}
		if w := s.choose(); w != nil {
			s.pass(w)
		} else if len(s.actors) > 0 {
			s.idle()
		}
	}
	synctest.Wait()
	return s.look()
}

// backlog is how many rows no batch covers.
func (s *simulation) backlog() (n int64) {
	last := s.ends[int64(s.batches())-1]
	for p, end := range s.in.ends() {
		n += end
		if p < len(last) {
			n -= last[p]
		}
	}
	return n
}
