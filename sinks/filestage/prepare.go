package filestage

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"microbatch/batch"
	"microbatch/internal/bugs"
	"microbatch/internal/failpoint"
	"microbatch/objstore/localfs"
	"microbatch/sinks"
)

// pending is an attempt in its folder.
type pending struct {
	dir    string
	record *record
}

// Staged is what the folder holds.
func (p *pending) Staged() sinks.Staged {
	s := sinks.Staged{Rows: p.record.Rows, Files: len(p.record.Files)}
	for _, f := range p.record.Files {
		s.Bytes += f.Bytes
	}
	return s
}

// Prepare writes a file for each part that has rows, all at once, and makes the attempt's folder durable. If the ground of the epoch is gone, somebody newer has
// taken it: the error says so, whatever was staged.
func (s *Sink) Prepare(ctx context.Context, b *batch.Batch) (sinks.Pending, error) {
	p := &pending{
		dir: s.at.attempt(s.query.Epoch, b.Attempt),
		record: &record{
			Pipeline: s.query.Name, Query: s.query.ID, Shard: s.query.Shard.String(), Batch: b.ID, Epoch: s.query.Epoch, Digest: b.Digest.String(),
		},
	}
	err := s.disk.Mkdir(p.dir, 0o777)
	if err == nil {
		err = s.stage(ctx, p, b)
	}
	if errors.Is(err, fs.ErrNotExist) { // the ground was taken
		if fenced := s.disk.fencedBy(s.at, s.query.Epoch); fenced != nil {
			return nil, fenced
		}
	}
	if err != nil {
		return nil, errors.Join(s.disk.failed("stage", p.dir, err), s.disk.removeAll(p.dir))
	}
	return p, nil
}

func (s *Sink) stage(ctx context.Context, p *pending, b *batch.Batch) error {
	files := make([]file, len(b.Parts))
	g, ctx := errgroup.WithContext(ctx)
	for i, part := range b.Parts {
		g.Go(func() (err error) {
			files[i], err = s.write(ctx, p.dir, fmt.Sprintf("part-%05d.%s", i, s.config.Extension), b.Schema, part)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	p.record.Files = slices.DeleteFunc(files, func(f file) bool { return f.Rows == 0 })
	for _, f := range p.record.Files {
		p.record.Rows += f.Rows
	}
	if err := s.disk.write(path.Join(p.dir, recordName), p.record); err != nil {
		return err
	}
	if err := s.disk.sync(p.dir); err != nil {
		return err
	}
	failpoint.Hit("filestage.staged")
	return nil
}

// write writes the rows of a part into a file, which is made when the first of them comes.
func (s *Sink) write(ctx context.Context, dir, name string, schema *arrow.Schema, part batch.Part) (out file, err error) {
	var w *writer
	out.Name = name
	for chunk, err := range part.Chunks(ctx) {
		if err == nil && chunk.Rows() > 0 {
			if w == nil {
				w, err = s.open(path.Join(dir, name), schema)
			}
			if err == nil {
				err = s.disk.failed("write", path.Join(dir, name), w.rows.Write(chunk.Record))
				out.Rows += chunk.Rows()
			}
		}
		chunk.Release()
		if err != nil {
			return out, errors.Join(err, w.abandon())
		}
	}
	if w != nil {
		out.Bytes, err = w.close()
	}
	return out, s.disk.failed("write", path.Join(dir, name), err)
}

// writer is an open data file.
type writer struct {
	file     localfs.File
	buffered *bufio.Writer
	rows     File
}

// bufferBytes gathers rows before they are written.
const bufferBytes = 256 << 10

func (s *Sink) open(name string, schema *arrow.Schema) (*writer, error) {
	f, err := s.disk.Create(name, 0o666)
	if err != nil {
		return nil, s.disk.failed("create", name, err)
	}
	w := &writer{file: f, buffered: bufio.NewWriterSize(f, bufferBytes)}
	if w.rows, err = s.config.NewFile(w.buffered, schema); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return w, nil
}

// close ends the file and makes it durable. It returns the bytes.
func (w *writer) close() (int64, error) {
	err := w.rows.Close()
	if err == nil {
		err = w.buffered.Flush()
	}
	if err == nil && !bugs.Is(bugs.FilesNotSynced) {
		err = syncFile(w.file)
	}
	var info fs.FileInfo
	if err == nil {
		info, err = w.file.Stat()
	}
	if err = errors.Join(err, w.file.Close()); err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// abandon closes the file as it is, and lets the format free what it holds. Its folder is removed.
func (w *writer) abandon() error {
	if w == nil {
		return nil
	}
	w.buffered.Reset(io.Discard)
	_ = w.rows.Close() // that the file has no end is known
	return w.file.Close()
}
