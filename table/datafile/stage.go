package datafile

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/sync/errgroup"

	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/table/action"
)

// Spec says what a Stage writes. Zero values mean the defaults.
type Spec struct {
	Name        Name
	Schema      *arrow.Schema // of the table, with the partition columns
	Rows        *arrow.Schema // of the records that Write gets; nil: Schema
	PartitionBy []string
	Parquet     ParquetOptions
	Indexed     string // the value of the table property IndexedColumns
	TargetBytes int64  // a file ends soon after it is this long; 128 MiB
	MaxOpen     int    // files open at once; 64
	TempDir     string // for rows of partitions beyond MaxOpen; the system's
	Alloc       memory.Allocator
	Now         func() time.Time
}

func (s Spec) withDefaults() Spec {
	if s.Rows == nil {
		s.Rows = s.Schema
	}
	if s.TargetBytes <= 0 {
		s.TargetBytes = 128 << 20
	}
	if s.MaxOpen <= 0 {
		s.MaxOpen = 64
	}
	if s.Alloc == nil {
		s.Alloc = memory.DefaultAllocator
	}
	if s.Now == nil {
		s.Now = time.Now
	}
	return s
}

// Stage writes the rows of one attempt into files. Write may be called by several goroutines; then Finish or Abort by one.
type Stage struct {
	store    objstore.Store
	spec     Spec
	file     *arrow.Schema // of the files
	splitter *splitter     // nil without partition columns
	required []string      // columns of Rows that must not be null: a table of another writer may have some

	mu       sync.Mutex
	idle     sync.Cond // a writer was given back
	parts    map[string]*partition
	open     int
	next     int // number of the next file
	spilling map[string]bool
	spill    *spill
	rows     int64
	adds     []*action.Add
	keys     []string // of all files that may exist
	fsync    error    // of a file that could not be made durable
}

// partition is one directory, with the writers that are open in it.
type partition struct {
	dir    string
	values map[string]*string
	named  bool      // a Place's
	free   []*writer // open and used by nobody
	open   int       // free ones and used ones
	bytes  int64     // written to all of them so far
}

// NewStage begins an attempt. Nothing is created before the first row.
func NewStage(store objstore.Store, spec Spec) *Stage {
	s := &Stage{store: store, spec: spec.withDefaults(), parts: map[string]*partition{}, spilling: map[string]bool{}}
	s.idle.L = &s.mu
	s.file = s.spec.Schema
	for _, f := range s.spec.Schema.Fields() {
		if !f.Nullable {
			s.required = append(s.required, f.Name)
		}
	}
	if len(spec.PartitionBy) > 0 {
		s.file = newSplitter(s.spec.Schema, spec.PartitionBy, s.spec.Alloc).schema
		s.splitter = newSplitter(s.spec.Rows, spec.PartitionBy, s.spec.Alloc)
	}
	return s
}

// Write stages the rows of a record, which stays the caller's.
func (s *Stage) Write(ctx context.Context, rec arrow.RecordBatch) error {
	if rec.NumRows() == 0 {
		return nil
	}
	if err := s.count(rec); err != nil {
		return err
	}
	return s.write(ctx, rec)
}

// count takes the rows of a record into account, unless they cannot be in the table.
func (s *Stage) count(rec arrow.RecordBatch) error {
	if err := s.checkNulls(rec); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows += rec.NumRows()
	return nil
}

// checkNulls refuses a null in a column of the table that is NOT NULL.
func (s *Stage) checkNulls(rec arrow.RecordBatch) error {
	for _, name := range s.required {
		for i, f := range rec.Schema().Fields() {
			if strings.EqualFold(f.Name, name) && rec.Column(i).NullN() > 0 {
				return errcode.TableNull.New("column "+name, "%d of %d rows are null", rec.Column(i).NullN(), rec.NumRows())
			}
		}
	}
	return nil
}

func (s *Stage) write(ctx context.Context, rec arrow.RecordBatch) error {
	if s.splitter == nil {
		return s.route(ctx, piece{rec: rec, bucket: none})
	}
	pieces, err := s.splitter.split(ctx, rec, s.buckets)
	if err != nil {
		return err
	}
	for i, p := range pieces {
		err := s.route(ctx, p)
		p.rec.Release()
		if err != nil {
			for _, p := range pieces[i+1:] {
				p.rec.Release()
			}
			return err
		}
	}
	return nil
}

// route writes a piece to a file of its partition, or to the spill if too many files are open.
func (s *Stage) route(ctx context.Context, p piece) error {
	if p.bucket != none {
		return s.overflow(p)
	}
	w, err := s.acquire(p)
	if err != nil {
		return err
	}
	if w == nil {
		return s.overflow(p)
	}
	if err := s.writeTo(ctx, w, p.rec); err != nil {
		s.giveBack(w)
		return err
	}
	if w.size() < s.spec.TargetBytes {
		s.giveBack(w)
		return nil
	}
	return s.end(ctx, w)
}

func (s *Stage) writeTo(ctx context.Context, w *writer, rec arrow.RecordBatch) error {
	if s.splitter == nil || w.part.named {
		return w.write(ctx, rec)
	}
	stored := s.splitter.project(rec)
	defer stored.Release()
	return w.write(ctx, stored)
}

// end completes a writer's file.
func (s *Stage) end(ctx context.Context, w *writer) error {
	add, err := w.close(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	w.part.open--
	s.idle.Broadcast()
	if err != nil {
		if errors.Is(err, objstore.ErrFsync) {
			s.fsync = err
		}
		return err
	}
	s.adds = append(s.adds, add)
	return nil
}

// overflow puts a piece on local disk.
func (s *Stage) overflow(p piece) error {
	s.mu.Lock()
	if p.bucket == none {
		p.bucket = s.spilled(p.key)
	}
	spill := s.spill
	s.mu.Unlock()
	return spill.write(p.bucket, p.rec)
}

// buckets are the buckets of the spill that the rows of partitions wait in, none for those that have a file or still get one.
func (s *Stage) buckets(keys []string) []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]int, len(keys))
	for i, key := range keys {
		part := s.parts[key]
		if out[i] = none; s.spilling[key] || s.open >= s.spec.MaxOpen && (part == nil || part.open == 0) {
			out[i] = s.spilled(key)
		}
	}
	return out
}

// spilled is the bucket of a partition whose rows wait from now on: for its turn (F3).
func (s *Stage) spilled(key string) int {
	if s.spill == nil {
		s.spill = newSpill(s.spec.TempDir, s.spec.Alloc)
	}
	s.spilling[key] = true
	return s.spill.bucket(key)
}

// Rows is how many rows were staged so far.
func (s *Stage) Rows() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rows
}

// Finish completes all files and returns what describes them, in order of their numbers (F2).
func (s *Stage) Finish(ctx context.Context) ([]*action.Add, error) {
	if err := s.endAll(ctx, func(string) bool { return true }); err != nil {
		return nil, err
	}
	for s.spill != nil {
		if err := s.drain(ctx); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(s.adds, func(a, b *action.Add) int { return strings.Compare(a.Path, b.Path) })
	return s.adds, nil
}

// drain writes what was spilled, some buckets at a time. A bucket with more partitions than files may be open spills again.
func (s *Stage) drain(ctx context.Context) error {
	spilled := s.spill
	s.spill, s.spilling = nil, map[string]bool{}
	defer spilled.close()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range spilled.buckets {
		group.Go(func() error {
			for rec, err := range spilled.read(i) {
				if err != nil {
					return err
				}
				err = s.write(ctx, rec)
				rec.Release()
				if err != nil {
					return err
				}
			}
			return s.endAll(ctx, func(key string) bool { return spilled.bucket(key) == i })
		})
	}
	return group.Wait()
}

// closers is how many files are completed at once: each waits for a disk or a network, not for a core.
const closers = 8

// endAll completes the files of some partitions, which nobody writes to any more.
func (s *Stage) endAll(ctx context.Context, which func(key string) bool) error {
	s.mu.Lock()
	var all []*writer
	for key, p := range s.parts {
		if which(key) {
			all = append(all, p.free...)
			p.free = nil
		}
	}
	s.mu.Unlock()
	slices.SortFunc(all, func(a, b *writer) int { return strings.Compare(a.key, b.key) })
	var group errgroup.Group
	group.SetLimit(closers)
	for _, w := range all {
		group.Go(func() error { return s.end(ctx, w) })
	}
	return group.Wait()
}

// Fail ends an attempt that has failed: it removes everything that was staged, but after a failed fsync it leaves the files where they are, for the next process
// looks at what is there. It returns why, and what came of it. Of errors at once the first one is told, and a failed fsync before all others.
func (s *Stage) Fail(ctx context.Context, why error) error {
	s.mu.Lock()
	fsync := s.fsync
	s.mu.Unlock()
	switch {
	case errors.Is(why, objstore.ErrFsync):
	case fsync != nil:
		why = errors.Join(fsync, why)
	default:
		return errors.Join(why, s.Abort(ctx))
	}
	return errors.Join(why, s.leave(ctx))
}

// Abort removes everything that was staged, durably. It must not be called once the files may be part of a table.
func (s *Stage) Abort(ctx context.Context) error {
	err := s.leave(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(err, objstore.Remove(ctx, s.store, s.keys))
}

// leave ends the stage without deleting a file that is complete.
func (s *Stage) leave(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, p := range s.parts {
		for _, w := range p.free {
			errs = append(errs, w.abort(ctx))
		}
		p.free = nil
	}
	if s.spill != nil {
		s.spill.close()
		s.spill = nil
	}
	return errors.Join(errs...)
}
