package foreachbatch

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/sync/errgroup"

	"microbatch/batch"
	"microbatch/internal/errcode"
)

// spool is a batch's rows as an Arrow IPC stream in a file that has no name any more, so a crash leaves nothing behind.
type spool struct {
	file  *os.File
	rows  int64
	bytes int64
}

// writeBuffer gathers the small messages of a stream.
const writeBuffer = 1 << 20

// newSpool pulls all parts at once into one stream.
func newSpool(ctx context.Context, dir string, b *batch.Batch, alloc memory.Allocator) (*spool, error) {
	file, err := unnamedFile(dir)
	if err != nil {
		return nil, errcode.SpoolFailed.Wrap(err, dir, "")
	}
	s := &spool{file: file}
	if err := s.fill(ctx, b, alloc); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return s, nil
}

func unnamedFile(dir string) (*os.File, error) {
	file, err := os.CreateTemp(dir, "microbatch-spool-*")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

func (s *spool) fill(ctx context.Context, b *batch.Batch, alloc memory.Allocator) error {
	buffered := bufio.NewWriterSize(s.file, writeBuffer)
	out := ipc.NewWriter(buffered, ipc.WithSchema(b.Schema), ipc.WithAllocator(alloc))
	var mu sync.Mutex // of out
	write := func(r arrow.RecordBatch) error {
		mu.Lock()
		defer mu.Unlock()
		s.rows += r.NumRows()
		return out.Write(r)
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, part := range b.Parts {
		g.Go(func() error { return pull(ctx, part, write) })
	}
	if err := g.Wait(); err != nil {
		return errors.Join(err, out.Close())
	}
	// Close writes the schema of a batch without rows too.
	if err := errors.Join(out.Close(), buffered.Flush()); err != nil {
		return errcode.SpoolFailed.Wrap(err, "batch "+b.ID.String(), "")
	}
	var err error
	if s.bytes, err = s.file.Seek(0, io.SeekCurrent); err != nil {
		return errcode.SpoolFailed.Wrap(err, "batch "+b.ID.String(), "")
	}
	return nil
}

func pull(ctx context.Context, part batch.Part, write func(arrow.RecordBatch) error) error {
	for chunk, err := range part.Chunks(ctx) {
		if err != nil {
			return err
		}
		if chunk.Rows() > 0 {
			err = write(chunk.Record)
		}
		chunk.Release()
		if err != nil {
			return errcode.SpoolFailed.Wrap(err, "", "")
		}
	}
	return nil
}

// reader reads the stream from its beginning, independently of other readers.
func (s *spool) reader(alloc memory.Allocator) (array.RecordReader, error) {
	r, err := ipc.NewReader(bufio.NewReaderSize(io.NewSectionReader(s.file, 0, s.bytes), writeBuffer), ipc.WithAllocator(alloc))
	if err != nil {
		return nil, fmt.Errorf("foreachbatch: read the spool: %w", err)
	}
	return r, nil
}

// rewind makes the file itself readable from the beginning, for a program that inherits it.
func (s *spool) rewind() (*os.File, error) {
	if _, err := s.file.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("foreachbatch: rewind the spool: %w", err)
	}
	return s.file, nil
}

// close frees the file. It may be called again.
func (s *spool) close() error {
	if err := s.file.Close(); !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}
