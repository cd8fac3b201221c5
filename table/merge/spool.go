package merge

import (
	"context"
	"io"
	"os"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/internal/errcode"
)

// spoolMemory is how many bytes of rows stay in memory before they go to local disk.
const spoolMemory = 128 << 20

// spool keeps records in the order in which they came: in memory, and those beyond a limit in a temporary file, which has no name and goes with the process.
type spool struct {
	dir    string
	alloc  memory.Allocator
	limit  int64
	bytes  int64
	kept   []arrow.RecordBatch // the first ones
	stored int                 // the others, on disk
	file   *os.File
	ipc    *ipc.Writer
}

// add keeps a record, which stays the caller's, and returns its number.
func (s *spool) add(rec arrow.RecordBatch) (uint32, error) {
	if s.file == nil && s.bytes < s.limit {
		rec.Retain()
		s.kept = append(s.kept, rec)
		for _, c := range rec.Columns() {
			s.bytes += int64(c.Data().SizeInBytes())
		}
		return uint32(len(s.kept) - 1), nil
	}
	if err := s.store(rec); err != nil {
		return 0, errcode.SpoolFailed.Wrap(err, "", "rows of a batch that are put into a table by key")
	}
	s.stored++
	return uint32(len(s.kept) + s.stored - 1), nil
}

func (s *spool) store(rec arrow.RecordBatch) (err error) {
	if s.file == nil {
		if s.file, err = os.CreateTemp(s.dir, "microbatch-merge-*"); err != nil {
			return err
		}
		if err := os.Remove(s.file.Name()); err != nil {
			return err
		}
		s.ipc = ipc.NewWriter(s.file, ipc.WithSchema(rec.Schema()), ipc.WithAllocator(s.alloc))
	}
	return s.ipc.Write(rec)
}

// each shows all records in order, until show returns an error. The records are the spool's.
func (s *spool) each(ctx context.Context, show func(number uint32, rec arrow.RecordBatch) error) error {
	for i, rec := range s.kept {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := show(uint32(i), rec); err != nil {
			return err
		}
	}
	if s.file == nil {
		return nil
	}
	return s.eachStored(ctx, show)
}

func (s *spool) eachStored(ctx context.Context, show func(number uint32, rec arrow.RecordBatch) error) error {
	failed := func(err error) error {
		return errcode.SpoolFailed.Wrap(err, "", "rows of a batch that are put into a table by key")
	}
	if s.ipc != nil {
		if err := s.ipc.Close(); err != nil {
			return failed(err)
		}
		s.ipc = nil
	}
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return failed(err)
	}
	in, err := ipc.NewReader(s.file, ipc.WithAllocator(s.alloc))
	if err != nil {
		return failed(err)
	}
	defer in.Release()
	for i := len(s.kept); in.Next(); i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := show(uint32(i), in.RecordBatch()); err != nil {
			return err
		}
	}
	if err := in.Err(); err != nil {
		return failed(err)
	}
	return nil
}

// close frees everything.
func (s *spool) close() {
	for _, rec := range s.kept {
		rec.Release()
	}
	s.kept = nil
	if s.file != nil {
		s.file.Close() // it has no name and nothing of it is needed
		s.file = nil
	}
}
