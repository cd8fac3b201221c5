package world

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"microbatch/engine"
	"microbatch/internal/sim/gate"
	"microbatch/objstore"
	"microbatch/objstore/localfs"
	"microbatch/objstore/localfs/crashfs"
	"microbatch/objstore/mem"
	"microbatch/sinks"
	"microbatch/sinks/lakehouse"
	"microbatch/sources"
)

// Medium is what the stores are made of.
type Medium int

// The media.
const (
	Objects Medium = iota // as S3
	Disk                  // as a local disk
)

// String names the medium.
func (m Medium) String() string { return [...]string{"objects", "disk"}[m] }

// The places of a world, as operations name them.
const (
	Checkpoint = "checkpoint"
	Table      = "table"
	Rejected   = "rejected"
)

// Places are all places.
func Places() []string { return []string{Checkpoint, Table, Rejected} }

// World is a query's world.
type World struct {
	Topic  *Topic
	Format string // of the tables: "parquet" (default) or "delta"

	medium Medium
	stores map[string]objstore.Store
	disks  map[string]*crashfs.FS // of a Disk, and that of Files
	target Target                 // nil: the table
}

// New is an empty world.
func New(m Medium, partitions int) *World {
	w := &World{Topic: &Topic{Ends: make([]int64, partitions)}, Format: "parquet", medium: m, stores: map[string]objstore.Store{}, disks: map[string]*crashfs.FS{}}
	for _, place := range Places() {
		if m == Objects {
			w.stores[place] = Unlocked{mem.New()}
			continue
		}
		w.mount(place, crashfs.New())
	}
	return w
}

// On is a world of Objects in stores that the caller has made. It cannot be cloned.
func On(stores map[string]objstore.Store, partitions int) *World {
	w := New(Objects, partitions)
	for place, s := range stores {
		w.stores[place] = Unlocked{s}
	}
	return w
}

func (w *World) mount(place string, disk *crashfs.FS) {
	w.disks[place] = disk
	if place == Output {
		w.target.(*Files).disk = disk
		return
	}
	w.stores[place] = w.Mount(place)
}

// WriteTo makes a target what the query writes to, instead of the table. What befalls the machine befalls a target that is on its disk.
func (w *World) WriteTo(t Target) {
	w.target = t
	if f, ok := t.(*Files); ok {
		w.mount(Output, f.disk)
	}
}

// Target is what the query writes to; nil for the table.
func (w *World) Target() Target { return w.target }

// Clone is a second world with the same content; of a Disk the same is unsynced. Nobody may be at work in the world. What reads the topic's rows is shared.
func (w *World) Clone() *World {
	topic := *w.Topic
	topic.Ends = slices.Clone(topic.Ends)
	c := &World{Topic: &topic, Format: w.Format, medium: w.medium, stores: map[string]objstore.Store{}, disks: map[string]*crashfs.FS{}}
	for place, s := range w.stores {
		if d := w.disks[place]; d != nil {
			c.mount(place, d.Clone())
			continue
		}
		c.stores[place] = Unlocked{s.(Unlocked).Store.(*mem.Store).Clone()}
	}
	if w.target != nil {
		c.WriteTo(w.target.Clone())
	}
	return c
}

// Fault makes a function decide about each change of a Disk, below what processes call operations: see crashfs.FS.Fault. nil ends it.
func (w *World) Fault(decide func(place, op, name string) error) {
	for place, d := range w.disks {
		if decide == nil {
			d.Fault(nil)
			continue
		}
		d.Fault(func(op, name string) error { return decide(place, op, name) })
	}
}

// Store is a store of the world as nobody's process sees it: for looking, and for accidents.
func (w *World) Store(place string) objstore.Store { return w.stores[place] }

// Mount is a store of the world as a new process has it: what a process remembers of its disk it does not know.
func (w *World) Mount(place string) objstore.Store {
	if d := w.disks[place]; d != nil {
		return localfs.NewOn(d, localfs.Options{Private: place == Checkpoint})
	}
	return w.stores[place]
}

// Medium is what it is made of.
func (w *World) Medium() Medium { return w.medium }

// Copy copies all objects of a store into one that has none of them.
func Copy(ctx context.Context, to, from objstore.Store) error {
	for info, err := range from.List(ctx, "", "") {
		if err != nil {
			return err
		}
		data, err := from.Get(ctx, info.Key)
		if err == nil {
			err = to.PutIfAbsent(ctx, info.Key, data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// PowerLoss takes the power from a Disk: of what was not synced each change survives with percent in a hundred. All processes must be gone.
func (w *World) PowerLoss(random *rand.Rand, percent int) {
	for _, place := range append(Places(), Output) {
		if d := w.disks[place]; d != nil {
			w.mount(place, d.Crash(random, percent))
		}
	}
}

// Kill ends all processes of a Disk's machine in the middle of what they do, and leaves the machine on: nothing is lost, what was not synced stays so. The processes
// must be gone.
func (w *World) Kill() {
	for place, d := range w.disks {
		w.mount(place, d.Kill())
	}
}

// Disk is the file system of a store, or of Files (Output), for faults; nil for what is on none.
func (w *World) Disk(place string) *crashfs.FS { return w.disks[place] }

// Unlocked is a store without locks.
type Unlocked struct{ objstore.Store }

// Lock is granted to everybody.
func (Unlocked) Lock(context.Context, string) (io.Closer, error) { return io.NopCloser(nil), nil }

// Clock is the inner store's.
func (u Unlocked) Clock() time.Time { return objstore.Clock(u.Store) }

// Query is the world's query as a process runs it: from the topic to the target or the table, rejected rows to their table, as fast as it goes. Callers change what they need.
func (w *World) Query(p *gate.Process) engine.Query {
	var sink sinks.Sink
	if w.target != nil {
		sink = w.target.Sink(p)
	} else {
		sink = w.Sink(p, Table, lakehouse.Config{})
	}
	return engine.Query{
		Name: "q", Sources: []sources.Source{w.Topic.Source(p)}, Sink: sink, Rejected: w.Sink(p, Rejected, lakehouse.Config{AppSuffix: "/rejected"}),
		Checkpoint: p.Store(Checkpoint, w.Mount(Checkpoint)), Parallelism: 1, MaxRestarts: 5, ShutdownTimeout: time.Second,
	}
}

// Sink is a table of the world as a process writes it, with some settings.
func (w *World) Sink(p *gate.Process, place string, c lakehouse.Config) sinks.Sink {
	c.Store, c.Format, c.Parallel = p.Store(place, w.Mount(place)), w.Format, 1
	s, err := lakehouse.New(c)
	if err != nil {
		panic(fmt.Sprintf("world: %v", err)) // a mistake of the test
	}
	return s
}
