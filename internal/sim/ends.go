package sim

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"testing/synctest"
	"time"

	"microbatch/internal/errcode"
	"microbatch/internal/sim/world"
)

// bury takes a process that has ended out of the world.
func (s *simulation) bury(a *actor, err error) {
	s.actors = slices.DeleteFunc(s.actors, func(b *actor) bool { return a == b })
	a.cancel()
	s.expose()
	if t := s.world.Target(); t != nil {
		t.Gone(a.Name)
	}
	s.note("%s ends", a.Name)
	if err != nil {
		s.remark("%s: %v", a.Name, err)
	}
	if n := a.alloc.bytes.Load(); n != 0 {
		s.violate("%s leaves %d bytes of Arrow memory: %v", a.Name, n, err)
	}
	asked := a.role == maintaining && (errors.Is(err, context.Canceled) || errors.Is(err, fs.ErrNotExist)) // it was stopped, or there is no table yet
	if !a.killed && err != nil && !asked {
		s.judgeEnd(a, err)
	}
	if a == s.repair {
		s.repair, s.broken = nil, err != nil
		if !s.broken && s.referee != nil {
			s.referee.begin()
		}
	}
	if a.role == driving {
		s.restartAt = time.Now().Add(time.Duration(s.random.IntN(3000)) * time.Millisecond)
	}
}

// judgeEnd decides whether an error may end a process.
func (s *simulation) judgeEnd(a *actor, err error) {
	e, ok := errors.AsType[*errcode.Error](err)
	if !ok {
		s.violate("%s ends with an error without a code: %v", a.Name, err)
		return
	}
	s.stats.Ends[e.Code.ID]++
	allowed := false
	switch e.Code.ID {
	case errcode.DriverFenced.ID, errcode.KafkaSinkFenced.ID, errcode.TableFenced.ID, errcode.TableHole.ID, errcode.CheckpointUnstable.ID:
		allowed = s.rivals
		s.stats.Counts[countFenced]++
	case errcode.CheckpointLocked.ID:
		allowed = s.Medium == world.Disk && s.rivals
	case errcode.RestartsSpent.ID, errcode.StoreUnreachable.ID, errcode.StoreUncertain.ID, errcode.TableUncertain.ID, errcode.KafkaUnreachable.ID,
		errcode.OutcomeUnknown.ID: // of a driver that was asked to end, and whose time is over
		allowed = s.disturbed
	case errcode.KafkaPartitionVanished.ID, errcode.KafkaBrokerError.ID, errcode.KafkaNoProgress.ID, errcode.KafkaTopicMissing.ID: // hidden partitions
		allowed = s.disturbed && s.Kafka
	case errcode.KafkaRangeLost.ID, errcode.KafkaDataLost.ID: // retention took what others have recorded
		allowed = s.disturbed && s.Kafka && s.rivals
	case errcode.ChangedWhilePending.ID:
		allowed = s.changed
		s.accept = s.random.IntN(2) == 0
		s.former = !s.accept
	case errcode.StoreFsync.ID, errcode.StoreFull.ID, errcode.StoreDiskError.ID:
		allowed = s.disturbed && (s.Medium == world.Disk || s.Sink == "files")
	case errcode.TableConflict.ID, errcode.TableVersion.ID, errcode.TableBusy.ID:
		allowed = a.role != driving
	case errcode.KafkaTruncated.ID:
		allowed = s.lied
	}
	if !allowed {
		s.violate("%s ends with %v", a.Name, err)
	}
}

// end ends all processes, so that nothing is left in the bubble.
func (s *simulation) end() {
	for _, a := range s.actors {
		a.killed = true
		a.Kill()
		a.cancel()
	}
	for range 100 {
		synctest.Wait()
		if s.ending() == 0 {
			break
		}
		time.Sleep(time.Minute)
	}
	for _, a := range slices.Clone(s.actors) {
		select {
		case err := <-a.ended:
			s.bury(a, err)
		default:
			s.violate("%s does not end after it was killed", a.Name)
		}
	}
	for _, place := range world.Places() { // those of killed processes are closed by nobody here
		if d := s.world.Disk(place); d != nil && !s.killed && d.OpenFiles() > 0 {
			s.violate("%d files of the %s are open in the end", d.OpenFiles(), place)
		}
	}
}
