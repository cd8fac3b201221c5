package sim

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"testing/synctest"
	"time"

	"microbatch/internal/errcode"
	"microbatch/internal/sim/gate"
	"microbatch/internal/sim/kafkamodel"
	"microbatch/internal/sim/world"
	"microbatch/objstore"
)

// simulation is one run. It is used by the scheduler's goroutine, but for what the processes report.
type simulation struct {
	options
	world  *world.World
	in     input
	floor  *gate.Floor
	random *rand.Rand // the scheduler's
	skew   time.Duration

	actors    []*actor
	spawned   int
	starts    int
	restartAt time.Time
	healing   bool
	steps     int

	due    []fault // not yet fired, those that wait for nothing but their operation first
	held   map[*gate.Waiting]time.Time
	lates  []*lateOp
	onLost func() // what happens when a disk has stopped in the middle of an operation

	out            output
	rejected       *witness
	referee        *referee          // nil for foreachbatch
	leaves         []state           // ids of the rows that the batches up to each leave, as far as they were asked for
	ends           map[int64][]int64 // of each batch, as the checkpoint or the table says
	acked          map[string]string // what was put if absent and answered, by place and key
	exposed, lost  map[int64]bool    // batches that something struck while they were under way, and that will never come, if they are delivered at most once
	disturbed      bool              // errors of stores may end a driver
	rivals         bool              // more than one driver may be at work
	changed        bool              // the pipeline was changed
	former, accept bool              // what the next driver does about a batch that was pending at the change
	killed         bool              // a process was killed, or an operation that ends a file may not have been done
	littered       bool              // plain Parquet readers may see files that no version names
	lied           bool              // a broker has understated an end
	broken         bool              // the checkpoint is harmed
	repair         *actor            // who mends it

	mu        sync.Mutex
	violation error

	trace []string // the last lines
	hash  uint64
	stats stats
}

// lateOp is an operation whose caller was told that its outcome is unknown, and that is done later.
type lateOp struct {
	gate.Call
	at int // step
}

// outcome is what a run has come to.
type outcome struct {
	violation error
	trace     []string
	hash      uint64
	stats     stats
}

// simulate does a run. It must be called in a bubble of testing/synctest with the global randomness set to the seed.
func simulate(o options) outcome {
	s := &simulation{
		options: o, world: world.New(o.Medium, o.Partitions), floor: &gate.Floor{}, random: rand.New(rand.NewPCG(o.Seed, 2)),
		due: slices.Clone(o.Faults), held: map[*gate.Waiting]time.Time{}, ends: map[int64][]int64{}, acked: map[string]string{}, exposed: map[int64]bool{}, lost: map[int64]bool{},
		hash: fnv.New64a().Sum64(), stats: newStats(),
	}
	s.world.Format = o.tableFormat()
	s.world.Topic.Bad = o.bad
	s.in = topicInput{s.world.Topic}
	if o.Kafka {
		s.in = newKafkaInput(o)
	}
	s.rejected = newWitness(world.Rejected, s.world.Format, func() objstore.Store { return s.world.Store(world.Rejected) })
	s.out = s.newOutput()
	began := time.Now()
	err := s.run()
	s.end()
	if err == nil {
		err = s.failure()
	}
	count := s.stats.Counts
	count[countSeeds]++
	count[countBatches] = s.batches()
	count[countOperations] = s.steps
	count[countVersions] = int(s.rejected.next)
	if t, ok := s.out.(*tableOutput); ok {
		count[countVersions] += int(t.next)
	}
	count[countHours] = int(time.Since(began).Hours())
	count[countStarts] = s.starts
	count[countTakeovers] = max(0, s.starts-1)
	if err != nil {
		count[countViolations]++
	}
	s.stats.sum(o.writes())
	return outcome{err, s.trace, s.hash, s.stats}
}

func (s *simulation) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.violation
}

// violate notes the first violation.
func (s *simulation) violate(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.violation == nil {
		s.violation = fmt.Errorf(format, args...)
	}
}

// note adds a line to the trace.
func (s *simulation) note(format string, args ...any) {
	line := s.remark(format, args...)
	for i := range len(line) { // FNV-1a
		s.hash = (s.hash ^ uint64(line[i])) * 1099511628211
	}
}

// remark adds a line that is no part of the trace's hash: what two goroutines of one process say first is not the scheduler's choice.
func (s *simulation) remark(format string, args ...any) string {
	line := fmt.Sprintf("%6d %s ", s.steps, time.Since(epoch).Round(time.Millisecond)) + fmt.Sprintf(format, args...)
	s.trace = append(s.trace, line)
	return line
}

// epoch is when a bubble's clock begins.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// run is the safety phase, then heal, then the liveness phase.
func (s *simulation) run() error {
	s.feed()
	limit := 4000 + 200*s.Batches
	for !s.satisfied() {
		if err := s.step(); err != nil {
			return err
		}
		if s.steps > limit {
			return fmt.Errorf("%d of %d batches after %d operations", s.batches(), s.Batches, s.steps)
		}
	}
	if err := s.heal(); err != nil {
		return err
	}
	return s.verdict()
}

// satisfied: all batches are there, and all faults have happened that were going to.
func (s *simulation) satisfied() bool {
	return s.batches() >= s.Batches && (len(s.due) == 0 || s.batches() > s.Batches+8)
}

// batches is how many are visible.
func (s *simulation) batches() int { return int(s.out.newest()) + 1 }

// step lets one operation go, or time pass.
func (s *simulation) step() error {
	synctest.Wait()
	if err := s.look(); err != nil {
		return err
	}
	s.restart()
	synctest.Wait()
	if s.random.IntN(40) == 0 {
		s.feed()
	}
	s.land(false)
	w := s.choose()
	if w == nil {
		s.idle()
		return nil
	}
	s.pass(w)
	return nil
}

// look sees what has become of the last operation.
func (s *simulation) look() error {
	if err := s.failure(); err != nil {
		return err
	}
	if s.powerFailed() {
		return nil
	}
	for _, a := range slices.Clone(s.actors) {
		select {
		case err := <-a.ended:
			s.bury(a, err)
		default:
		}
	}
	return errors.Join(s.failure(), s.check())
}

// alive are the drivers that run; with paused, those that stand still too.
func (s *simulation) alive(paused bool) (out []*actor) {
	for _, a := range s.actors {
		if a.role == driving && !a.killed && (paused || a.resume == 0) {
			out = append(out, a)
		}
	}
	return out
}

// restart starts a driver where none is left.
func (s *simulation) restart() {
	switch {
	case s.broken:
		if s.repair == nil && len(s.actors) == 0 {
			s.mend()
		}
	case !s.healing && len(s.alive(false)) == 0 && !time.Now().Before(s.restartAt):
		s.drive(s.Once)
	}
}

// feed lets rows arrive.
func (s *simulation) feed() {
	if s.healing {
		return
	}
	if s.Growing && s.in.partitions() < 7 && s.random.IntN(6) == 0 {
		s.in.grow()
		s.note("partition %d comes", s.in.partitions()-1)
	}
	n := 1 + s.random.Int64N(3*s.Limit)
	s.produce(s.random.IntN(s.in.partitions()), n)
}

func (s *simulation) produce(partition int, n int64) {
	how := s.in.produce(s.random, partition, n)
	s.note("%d rows for partition %d %s", n, partition, how)
}

// choose takes an operation that may go on.
func (s *simulation) choose() *gate.Waiting {
	var free []*gate.Waiting
	stopped := map[string]bool{}
	for _, a := range s.actors {
		if a.resume > 0 && s.batches() >= a.resume {
			a.resume = 0
			s.note("%s goes on", a.Name)
			s.stats.Counts[countWoken]++
		}
		stopped[a.Name] = a.resume > 0
	}
	for _, w := range s.floor.Waiting() {
		if until, ok := s.held[w]; !stopped[w.Process] && (!ok || !time.Now().Before(until)) {
			free = append(free, w)
		}
	}
	if len(free) == 0 {
		return nil
	}
	return free[s.random.IntN(len(free))]
}

// idle lets time pass until something happens.
func (s *simulation) idle() {
	if s.random.IntN(3) == 0 && s.backlog() < 3*s.Limit {
		s.feed()
	}
	if len(s.alive(false)) == 0 && !s.healing && s.restartAt.After(time.Now()) {
		time.Sleep(time.Until(s.restartAt))
		return
	}
	deadline := time.Now().Add(60 * 24 * time.Hour)
	for time.Now().Before(deadline) {
		synctest.Wait()
		if s.choose() != nil || s.ending() < len(s.actors) {
			return
		}
		if len(s.lates) > 0 && len(s.held) > 0 { // no request is under way for hours
			s.land(true)
			continue
		}
		nap := time.Until(deadline)
		for _, until := range s.held {
			nap = min(nap, max(time.Until(until), time.Millisecond))
		}
		s.floor.Idle(nap)
	}
	s.violate("nothing happens any more")
}

// ending is how many processes have not ended.
func (s *simulation) ending() (n int) {
	for _, a := range s.actors {
		if len(a.ended) == 0 {
			n++
		}
	}
	return n
}

// actorOf is the process of an operation.
func (s *simulation) actorOf(w *gate.Waiting) *actor {
	for _, a := range s.actors {
		if a.Name == w.Process {
			return a
		}
	}
	panic("sim: an operation of nobody: " + w.String())
}

// pass lets an operation go, as the faults will have it.
func (s *simulation) pass(w *gate.Waiting) {
	s.steps++
	a := s.actorOf(w)
	if w.Kind == "delete" {
		s.checkDelete(w)
	}
	if a.failing > 0 {
		a.failing--
		s.expose()
		s.let(w, gate.Verdict{Fate: gate.Fail, Err: s.unreachable(w.Op)})
		return
	}
	if _, held := s.held[w]; held {
		for _, o := range s.alike(w) {
			delete(s.held, o)
		}
		s.let(w, gate.Verdict{})
		return
	}
	at := phaseOf(a, w.Op)
	for i := range s.due {
		f := &s.due[i]
		if f.After > s.batches() {
			break
		}
		if f.Phase != at || !s.fits(*f, w.Op) {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			break
		}
		now := *f
		s.due = slices.Delete(s.due, i, i+1)
		s.strike(a, w, now)
		return
	}
	s.let(w, gate.Verdict{})
}

// alike are the operations on the floor that are the same as one, that one first: of two goroutines of a process which ask for the same at once, nobody can say which is
// first, so they share their fate.
func (s *simulation) alike(w *gate.Waiting) []*gate.Waiting {
	out := []*gate.Waiting{w}
	for _, o := range s.floor.Waiting() {
		if o != w && o.Op == w.Op && !w.Writes() {
			out = append(out, o)
		}
	}
	return out
}

// let lets an operation go.
func (s *simulation) let(w *gate.Waiting, v gate.Verdict) {
	s.touched(w.Op)
	all := s.alike(w)
	if v.Fate == gate.Pass {
		s.note("%s", w)
		v.Done = func(err error) { s.done(w.Call, err) }
	} else {
		s.note("%s: %s", w, v.Fate)
	}
	for _, o := range all {
		o.Let(v)
	}
}

// done remembers what a store has promised.
func (s *simulation) done(c gate.Call, err error) {
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch name := c.Place + "/" + c.Key; c.Kind {
	case "putifabsent":
		s.acked[name] = string(c.Data)
	case "delete":
		delete(s.acked, name)
	}
}

// land does what was to be done late.
func (s *simulation) land(all bool) {
	for i := 0; i < len(s.lates); i++ {
		if l := s.lates[i]; all || l.at <= s.steps {
			err := l.Apply()
			s.touched(l.Op)
			s.note("late: %s: %v", l, err)
			s.lates = slices.Delete(s.lates, i, i+1)
			i--
		}
	}
}

// touched tells the output of an operation that is done, or may be.
func (s *simulation) touched(op gate.Op) {
	if t, ok := s.out.(*targetOutput); ok && op.Place == world.Output {
		t.touched(op)
	}
}

// unreachable is what a service that is away answers.
func (s *simulation) unreachable(op gate.Op) error {
	switch op.Place {
	case world.Output:
		if s.Sink == "files" {
			return syscall.EIO
		}
		return kafkamodel.ErrCut
	case "topic":
		return errcode.KafkaUnreachable.New(op.Key, "%s", op.Kind)
	case "kafka":
		return kafkamodel.ErrCut
	}
	return errcode.StoreUnreachable.New(op.Place+"/"+op.Key, "%s", op.Kind)
}

// unknown is what is answered when an answer is lost: of a request that may be repeated, the last error.
func (s *simulation) unknown(op gate.Op) error {
	if op.Place != world.Output && (op.Kind == "putifabsent" || op.Kind == "commit") {
		return errcode.StoreUncertain.Wrap(objstore.ErrUncertain, op.Place+"/"+op.Key, "%s", op.Kind)
	}
	return s.unreachable(op)
}
