package sim

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/engine"
	"microbatch/internal/sim/gate"
	"microbatch/internal/sim/world"
	"microbatch/sinks"
	"microbatch/sinks/foreachbatch"
	"microbatch/sinks/lakehouse"
	"microbatch/sources"
)

// role is what a process does.
type role int

// The roles.
const (
	driving role = iota
	maintaining
)

// actor is a process of the simulation.
type actor struct {
	*gate.Process
	role   role
	cancel context.CancelFunc
	ended  chan error
	begun  atomic.Bool // the driver has started
	alloc  *counting

	killed  bool
	failing int // further operations that fail
	resume  int // stands still until so many batches are done; 0: it runs
	skew    time.Duration
	evolved bool // it runs the changed pipeline
}

func (s *simulation) spawn(name string, r role, work func(ctx context.Context, a *actor) error) *actor {
	s.spawned++
	a := &actor{
		Process: gate.NewProcess(fmt.Sprintf("%s%d", name, s.spawned), s.floor), role: r, ended: make(chan error, 1), alloc: &counting{Allocator: memory.NewGoAllocator()},
	}
	if s.random.IntN(2) == 0 {
		a.skew = s.skew
	}
	var ctx context.Context
	ctx, a.cancel = context.WithCancel(context.Background())
	s.actors = append(s.actors, a)
	s.note("%s starts", a.Name)
	go func() {
		a.ended <- work(ctx, a)
		s.floor.Nudge()
	}()
	return a
}

func (a *actor) now() time.Time { return time.Now().Add(a.skew) }

// drive starts a driver.
func (s *simulation) drive(once bool) *actor {
	s.starts++
	evolved, accept := s.changed && !s.former, s.accept
	s.former, s.accept = false, false
	return s.spawn("driver", driving, func(ctx context.Context, a *actor) error {
		a.evolved = evolved
		q := s.query(a, once)
		q.AcceptChange = accept
		return q.Run(ctx)
	})
}

// query is the pipeline as a process runs it.
func (s *simulation) query(a *actor, once bool) engine.Query {
	q := engine.Query{
		Name: "q", Sources: []sources.Source{s.in.source(a)}, Transforms: s.transforms(a.evolved),
		Rejected:   s.tableSink(a, world.Rejected, lakehouse.Config{AppSuffix: "/rejected"}),
		Checkpoint: a.Store(world.Checkpoint, s.world.Mount(world.Checkpoint)), Parallelism: 1, MaxRestarts: 5, ShutdownTimeout: time.Second,
		Trigger: engine.Trigger{Every: s.Every, Once: once}, Limit: sources.Limit{Rows: s.Limit}, BatchTimeout: s.Timeout, Now: a.now, Alloc: a.alloc,
	}
	if once {
		q.Trigger.Every = 0
	}
	q.Listener.Started = func(engine.Started) { a.begun.Store(true) }
	q.Listener.Progress = func(p engine.Progress) { s.progress(a, p) }
	if s.AtMostOnce {
		q.Delivery = engine.AtMostOnce
	}
	q.Sink = s.out.sink(a)
	return q
}

// tableSink is a table as a process writes it.
func (s *simulation) tableSink(a *actor, place string, c lakehouse.Config) sinks.Sink {
	c.Now, c.Alloc = a.now, a.alloc
	return s.world.Sink(a.Process, place, c)
}

// tableFormat is the format of the run's tables: that of rejected rows is always one.
func (o options) tableFormat() string {
	if o.tables() {
		return o.Sink
	}
	return "parquet"
}

func rowsOf(b foreachbatch.Batch) (out []string, err error) {
	reader, err := b.Rows()
	if err != nil {
		return nil, err
	}
	defer reader.Release()
	for reader.Next() {
		record := reader.RecordBatch()
		for n := range int(record.NumRows()) {
			r := row{}
			for i, f := range record.Schema().Fields() {
				switch c := record.Column(i).(type) {
				case *array.String:
					r[f.Name] = c.Value(n)
				default:
					r[f.Name] = c.ValueStr(n)
				}
			}
			out = append(out, r.String())
		}
	}
	return out, reader.Err()
}

// counting counts what is not freed.
type counting struct {
	memory.Allocator
	bytes atomic.Int64
}

func (c *counting) Allocate(n int) []byte {
	c.bytes.Add(int64(n))
	return c.Allocator.Allocate(n)
}

func (c *counting) Reallocate(n int, b []byte) []byte {
	c.bytes.Add(int64(n - len(b)))
	return c.Allocator.Reallocate(n, b)
}

func (c *counting) Free(b []byte) {
	c.bytes.Add(-int64(len(b)))
	c.Allocator.Free(b)
}
