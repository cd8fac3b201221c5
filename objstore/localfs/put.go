package localfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"github.com/google/uuid"

	"microbatch/internal/bugs"
	"microbatch/internal/failpoint"
	"microbatch/objstore"
)

// PutIfAbsent creates a file by link(2), which no two callers can win.
func (s *Store) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	return s.createOnce(ctx, key, inMemory(data))
}

// PutContentIfAbsent is PutIfAbsent for content that is copied piece by piece.
func (s *Store) PutContentIfAbsent(ctx context.Context, key string, content objstore.Content) error {
	return s.createOnce(ctx, key, inPieces(content))
}

// inMemory writes what is in memory, and inPieces what need not be.
func inMemory(data []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}
}

func inPieces(content objstore.Content) func(io.Writer) error {
	return func(w io.Writer) error {
		n, err := io.CopyBuffer(struct{ io.Writer }{w}, struct{ io.Reader }{content.Reader()}, make([]byte, 4*writeBuffer)) // by Write alone
		if err == nil && n != content.Size() {
			err = fmt.Errorf("a content of %d bytes has %d", content.Size(), n)
		}
		return err
	}
}

// createOnce creates a file whose content is written by fill.
func (s *Store) createOnce(ctx context.Context, key string, fill func(io.Writer) error) error {
	_, err := s.stat(ctx, key)
	if err == nil {
		err = fs.ErrExist // the loser of a race needs no fsync to learn it
	} else if errors.Is(err, fs.ErrNotExist) {
		err = s.putIfAbsent(key, fill)
	}
	return s.explain("put", key, err)
}

func (s *Store) putIfAbsent(key string, fill func(io.Writer) error) error {
	if bugs.Is(bugs.WriteInPlace) {
		return s.writeInPlace(key, fill)
	}
	temp, err := s.writeTemp(key, fill)
	if err != nil {
		return err // nothing is visible
	}
	failpoint.Hit("localfs.put.written")
	if err := s.link(temp, key); err != nil {
		if errors.Is(err, objstore.ErrUncertain) {
			return err // the temporary file is the proof of whose link it is
		}
		return errors.Join(err, s.removeIfThere(temp))
	}
	failpoint.Hit("localfs.put.linked")
	if err := s.syncs.names(path.Dir(key)); err != nil {
		return err // visible, perhaps not durable
	}
	failpoint.Hit("localfs.put.synced")
	// Done. A temporary name that cannot be removed costs nothing: it is the same file, and Tidy takes it.
	_ = s.fs.Remove(temp)
	return nil
}

// link makes the temporary file visible under key. Over NFS a repeated request can find the link it has made itself: the files tell.
func (s *Store) link(temp, key string) error {
	err := s.fs.Link(temp, key)
	if err == nil {
		return nil
	}
	if same, e := s.fs.Same(temp, key); e == nil && same {
		return nil
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return fs.ErrExist
	case errors.Is(err, syscall.EPERM): // the file itself could be made, so this is vfat's way to say it
		return fmt.Errorf("%w: %w", errNoLinks, err)
	case definite(err):
		return err
	}
	return fmt.Errorf("%w: %w", objstore.ErrUncertain, err)
}

// Put creates or replaces a file by rename(2).
func (s *Store) Put(ctx context.Context, key string, data []byte) error {
	return s.replace(ctx, key, inMemory(data))
}

// PutContent is Put for content that is copied piece by piece.
func (s *Store) PutContent(ctx context.Context, key string, content objstore.Content) error {
	return s.replace(ctx, key, inPieces(content))
}

func (s *Store) replace(ctx context.Context, key string, fill func(io.Writer) error) error {
	if err := errors.Join(ctx.Err(), objstore.ValidKey(key)); err != nil {
		return s.explain("put", key, err)
	}
	return s.explain("put", key, s.put(key, fill))
}

func (s *Store) put(key string, fill func(io.Writer) error) error {
	temp, err := s.writeTemp(key, fill)
	if err != nil {
		return err // the old content stands
	}
	failpoint.Hit("localfs.put.written")
	if err := s.rename(temp, key); err != nil {
		return err
	}
	failpoint.Hit("localfs.put.linked")
	if err := s.syncs.names(path.Dir(key)); err != nil {
		return err // visible, perhaps not durable
	}
	failpoint.Hit("localfs.put.synced")
	return nil
}

// rename makes the temporary file visible under key, in place of what was there. After an error the old content stands, or ErrUncertain.
func (s *Store) rename(temp, key string) error {
	err := s.fs.Rename(temp, key)
	if err == nil {
		return nil
	}
	if definite(err) {
		return errors.Join(err, s.removeIfThere(temp))
	}
	return fmt.Errorf("%w: %w", objstore.ErrUncertain, err)
}

// definite reports whether the kernel refused a link or rename before doing anything. Others, like EIO, leave it open.
func definite(err error) bool {
	var no syscall.Errno
	if !errors.As(err, &no) {
		return errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)
	}
	switch no {
	case syscall.EIO, syscall.ESTALE, syscall.ETIMEDOUT, syscall.EINTR, syscall.ENODEV, syscall.ENXIO:
		return false
	}
	return true
}

// writeTemp writes a durable temporary file for key and removes the Hadoop checksum that the new content would not match.
func (s *Store) writeTemp(key string, fill func(io.Writer) error) (temp string, err error) {
	temp = tempName(key, uuid.NewString())
	var f File
	err = s.inDir(path.Dir(key), func() (err error) {
		f, err = s.fs.Create(temp, s.fileMode)
		return err
	})
	if err != nil {
		return "", err
	}
	err = fill(f)
	if err == nil {
		err = asFsync(f.Sync())
	}
	if bugs.Is(bugs.RetryFsync) && errors.Is(err, objstore.ErrFsync) {
		err = asFsync(f.Sync())
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = s.removeIfThere(sideFile(key))
	}
	if err != nil {
		return "", errors.Join(err, s.removeIfThere(temp))
	}
	return temp, nil
}

// maxName is the longest name of a file on all common file systems, in bytes.
const maxName = 255

// tempName is .<name>.<unique>.tmp beside key, with the name cut where it would be too long.
func tempName(key, unique string) string {
	dir, name := path.Split(key)
	if room := maxName - len("...tmp") - len(unique); len(name) > room {
		name = strings.ToValidUTF8(name[:room], "")
	}
	return dir + "." + name + "." + unique + ".tmp"
}
