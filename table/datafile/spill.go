package datafile

import (
	"hash/maphash"
	"io"
	"iter"
	"os"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/internal/errcode"
)

// spillBuckets is over how many temporary files the rows are spread by their partition.
const spillBuckets = 64

// spill keeps rows on local disk, as Arrow IPC streams. A partition's rows are all in one bucket, in order. The files have no names, so nothing is left
// after a crash. Many goroutines may write; then each bucket is read by one.
type spill struct {
	dir     string
	alloc   memory.Allocator
	seed    maphash.Seed
	buckets [spillBuckets]bucket
}

type bucket struct {
	mu      sync.Mutex
	pending pending
	file    *os.File
	ipc     *ipc.Writer
}

func newSpill(dir string, alloc memory.Allocator) *spill {
	s := &spill{dir: dir, alloc: alloc, seed: maphash.MakeSeed()}
	for i := range s.buckets {
		s.buckets[i].pending.alloc = alloc
	}
	return s
}

// bucket is the number of the bucket of a partition.
func (s *spill) bucket(key string) int { return int(maphash.String(s.seed, key) % spillBuckets) }

// write keeps rows, with their partition columns, in a bucket. The record stays the caller's.
func (s *spill) write(bucket int, rec arrow.RecordBatch) error {
	b := &s.buckets[bucket]
	b.mu.Lock()
	defer b.mu.Unlock()
	full, err := b.pending.add(rec)
	if err != nil || !full {
		return err
	}
	return s.flush(b)
}

func (s *spill) flush(b *bucket) error {
	rec, err := b.pending.take()
	if rec == nil || err != nil {
		return err
	}
	defer rec.Release()
	if b.file == nil {
		if b.file, err = os.CreateTemp(s.dir, "microbatch-spill-*"); err != nil {
			return errcode.SpoolFailed.Wrap(err, "", "rows of partitions beyond those whose files are open")
		}
		if err := os.Remove(b.file.Name()); err != nil {
			return errcode.SpoolFailed.Wrap(err, "", "rows of partitions beyond those whose files are open")
		}
		b.ipc = ipc.NewWriter(b.file, ipc.WithSchema(rec.Schema()), ipc.WithAllocator(s.alloc))
	}
	if err := b.ipc.Write(rec); err != nil {
		return errcode.SpoolFailed.Wrap(err, "", "rows of partitions beyond those whose files are open")
	}
	return nil
}

// read yields the records of a bucket. The receiver releases them.
func (s *spill) read(i int) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		if err := s.each(i, func(rec arrow.RecordBatch) bool { return yield(rec, nil) }); err != nil {
			yield(nil, errcode.SpoolFailed.Wrap(err, "", "rows of partitions beyond those whose files are open"))
		}
	}
}

func (s *spill) each(i int, yield func(arrow.RecordBatch) bool) error {
	b := &s.buckets[i]
	if err := s.flush(b); err != nil || b.file == nil {
		return err
	}
	if err := b.ipc.Close(); err != nil {
		return err
	}
	if _, err := b.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	in, err := ipc.NewReader(b.file, ipc.WithAllocator(s.alloc))
	if err != nil {
		return err
	}
	defer in.Release()
	for in.Next() {
		rec := in.RecordBatch()
		rec.Retain()
		if !yield(rec) {
			return nil
		}
	}
	return in.Err()
}

// close frees everything.
func (s *spill) close() {
	for i := range s.buckets {
		b := &s.buckets[i]
		b.pending.drop()
		if b.file != nil {
			b.file.Close() // it has no name and nothing of it is needed
			b.file = nil
		}
	}
}
