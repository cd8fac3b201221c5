package localfs

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
	"syscall"

	"microbatch/objstore"
)

// Options are how files are made. The zero value follows the process's umask.
type Options struct {
	Private bool // folders 0700 and files 0600: for checkpoints, which hold source positions and sampled rows
}

// Store keeps objects as files of a folder. It holds one file descriptor from its first use until it is garbage.
type Store struct {
	fs       FS
	dirMode  fs.FileMode
	fileMode fs.FileMode
	syncs    syncer
}

var _ objstore.Store = (*Store)(nil)

// New is the store of a folder. Nothing is touched: the folder may be missing, and is made by the first write.
func New(dir string, opts Options) (*Store, error) {
	f, err := OS(dir)
	if err != nil {
		return nil, err
	}
	return NewOn(f, opts), nil
}

// NewOn is a store on another file system, like the one of localfs/crashfs that can lose power.
func NewOn(f FS, opts Options) *Store {
	s := &Store{fs: f, dirMode: 0o777, fileMode: 0o666}
	if opts.Private {
		s.dirMode, s.fileMode = 0o700, 0o600
	}
	s.syncs.sync = f.SyncDir
	return s
}

// URL is the folder's absolute path.
func (s *Store) URL() string { return s.fs.URL() }

// Get reads a whole file.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	f, info, err := s.openFile(ctx, key)
	if err != nil {
		return nil, s.explain("get", key, err)
	}
	defer f.Close()
	data := make([]byte, info.Size())
	n, err := f.ReadAt(data, 0)
	if err != nil && n < len(data) {
		return nil, s.explain("get", key, err)
	}
	return data, nil
}

// Open opens a file for reading by ranges.
func (s *Store) Open(ctx context.Context, key string) (objstore.Object, error) {
	f, info, err := s.openFile(ctx, key)
	if err != nil {
		return nil, s.explain("open", key, err)
	}
	return object{f, info.Size()}, nil
}

type object struct {
	File
	size int64
}

func (o object) Size() int64 { return o.size }

func (s *Store) openFile(ctx context.Context, key string) (File, fs.FileInfo, error) {
	if err := errors.Join(ctx.Err(), objstore.ValidKey(key)); err != nil {
		return nil, nil, err
	}
	f, err := s.fs.Open(path.Clean(key))
	if err != nil {
		return nil, nil, asMissing(err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist // a folder is no object
	}
	if err != nil {
		return nil, nil, errors.Join(err, f.Close())
	}
	return f, info, nil
}

// Stat describes a file.
func (s *Store) Stat(ctx context.Context, key string) (objstore.Info, error) {
	info, err := s.stat(ctx, key)
	if err != nil {
		return objstore.Info{}, s.explain("stat", key, err)
	}
	return objstore.Info{Key: key, Size: info.Size(), Modified: info.ModTime()}, nil
}

func (s *Store) stat(ctx context.Context, key string) (fs.FileInfo, error) {
	if err := errors.Join(ctx.Err(), objstore.ValidKey(key)); err != nil {
		return nil, err
	}
	info, err := s.fs.Stat(key)
	if err != nil {
		return nil, asMissing(err)
	}
	if !info.Mode().IsRegular() {
		return nil, fs.ErrNotExist
	}
	return info, nil
}

// asMissing makes "a part of the path is a file" an object that is missing.
func asMissing(err error) error {
	if errors.Is(err, syscall.ENOTDIR) {
		return fs.ErrNotExist
	}
	return err
}

// Delete removes a file and Hadoop's checksum of it. It is not made durable: until Sync a deleted object may come back after a power failure.
func (s *Store) Delete(ctx context.Context, key string) error {
	_, err := s.stat(ctx, key) // removing by name alone would take an empty folder too
	if err == nil {
		err = s.removeIfThere(key)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return s.explain("delete", key, errors.Join(err, s.removeIfThere(sideFile(key))))
}

func (s *Store) removeIfThere(name string) error {
	err := s.fs.Remove(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENAMETOOLONG) { // no file can have such a name
		return nil
	}
	return err
}

// sideFile is where Hadoop's ChecksumFileSystem keeps the checksum of a file.
func sideFile(key string) string {
	dir, name := path.Split(key)
	return dir + "." + name + ".crc"
}

// Lock takes the lock "dir/.x" for the key dir/x, so that it is no object. Folders made for it go with it if they are still empty.
func (s *Store) Lock(ctx context.Context, key string) (io.Closer, error) {
	if err := errors.Join(ctx.Err(), objstore.ValidKey(key)); err != nil {
		return nil, s.explain("lock", key, err)
	}
	dir, name := path.Split(key)
	file := dir + "." + name
	l := &lock{store: s}
	for try := 0; ; try++ {
		held, err := s.fs.Lock(file, s.fileMode)
		if err == nil {
			l.held = held
			return l, nil
		}
		if !errors.Is(err, fs.ErrNotExist) || try == dirTries {
			return nil, s.explain("lock", key, errors.Join(err, l.leave()))
		}
		made, err := s.makeDirs(path.Dir(file))
		l.made = append(l.made, made...)
		if err != nil {
			return nil, s.explain("lock", key, errors.Join(err, l.leave()))
		}
	}
}

// lock is a held lock and the folders that were made for it, the deepest last.
type lock struct {
	store *Store
	held  io.Closer
	made  []string
}

func (l *lock) Close() error { return errors.Join(l.held.Close(), l.leave()) }

// leave removes the folders that are still empty: a refused start leaves no trace.
func (l *lock) leave() error {
	for i := len(l.made) - 1; i >= 0; i-- {
		if l.made[i] == "." {
			break // the root is held open and may be used again
		}
		l.store.syncs.forget(l.made[i])
		if err := l.store.fs.Remove(l.made[i]); err != nil {
			return nil // in use, which is what the folder is for
		}
	}
	return nil
}
