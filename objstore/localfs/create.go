package localfs

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"path"

	"github.com/google/uuid"

	"microbatch/internal/failpoint"
	"microbatch/objstore"
)

// writeBuffer is what a writer collects before it calls the kernel. Larger writes go straight through: those of a data file, which has a buffer of 64 KiB of its own.
const writeBuffer = 32 << 10

// Create begins a file.
func (s *Store) Create(ctx context.Context, key string) (objstore.Writer, error) {
	if err := errors.Join(ctx.Err(), objstore.ValidKey(key)); err != nil {
		return nil, s.explain("create", key, err)
	}
	w := &writer{store: s, key: key, temp: streamName(key)}
	err := s.inDir(path.Dir(key), func() (err error) {
		w.file, err = s.fs.Create(w.temp, s.fileMode)
		return err
	})
	if err != nil {
		return nil, s.explain("create", key, err)
	}
	w.buf = bufio.NewWriterSize(w.file, writeBuffer)
	return w, nil
}

// streamName is .<name>.tmp: the key is unique, so its temporary name is.
func streamName(key string) string {
	dir, name := path.Split(key)
	if len(name)+len("..tmp") > maxName {
		return tempName(key, uuid.NewString())
	}
	return dir + "." + name + ".tmp"
}

type writer struct {
	store *Store
	key   string
	temp  string
	file  File
	buf   *bufio.Writer
	ended bool
}

func (w *writer) Write(p []byte) (int, error) {
	n, err := w.buf.Write(p)
	return n, w.store.explain("write", w.key, err)
}

// Commit makes the file durable and visible. After an error nothing is visible, except after ErrUncertain and ErrFsync.
func (w *writer) Commit(ctx context.Context) error {
	if w.ended {
		return w.store.explain("commit", w.key, errors.New("the writer has ended"))
	}
	w.ended = true
	return w.store.explain("commit", w.key, w.commit(ctx))
}

func (w *writer) commit(ctx context.Context) error {
	err := errors.Join(ctx.Err(), w.buf.Flush())
	if err == nil {
		failpoint.Hit("localfs.create.written")
		err = asFsync(w.file.Sync())
	}
	err = errors.Join(err, w.file.Close())
	if err == nil {
		err = w.store.removeIfThere(sideFile(w.key))
	}
	if err != nil {
		return errors.Join(err, w.store.removeIfThere(w.temp))
	}
	if err := w.store.rename(w.temp, w.key); err != nil {
		return err
	}
	failpoint.Hit("localfs.create.renamed")
	return w.store.syncs.names(path.Dir(w.key))
}

// Abort removes the temporary file, whatever ctx says: leaving nothing behind is its purpose.
func (w *writer) Abort(context.Context) error {
	if w.ended {
		return nil
	}
	w.ended = true
	return w.store.explain("abort", w.key, errors.Join(w.file.Close(), w.store.removeIfThere(w.temp)))
}

// Sync makes a file durable that another process may have linked without finishing, and the way to it; or that it was removed.
func (s *Store) Sync(ctx context.Context, key string) error {
	f, _, err := s.openFile(ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		if gone := s.syncs.names(path.Dir(key)); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = gone
		}
	}
	if err != nil {
		return s.explain("sync", key, err)
	}
	err = errors.Join(asFsync(f.Sync()), f.Close())
	if err == nil {
		err = s.syncs.names(path.Dir(key))
	}
	return s.explain("sync", key, err)
}
