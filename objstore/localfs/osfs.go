package localfs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync/atomic"
	"syscall"
)

// osFS is the operating system's file system below a folder. The folder need not exist yet: reading finds nothing, Mkdir(".") makes it.
type osFS struct {
	dir  string // absolute
	root atomic.Pointer[os.Root]

	anchored atomic.Bool // the way to dir is durable
}

// OS is the operating system's file system below a folder. Nothing is touched.
func OS(dir string) (FS, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("localfs: %s: %w", dir, err)
	}
	return &osFS{dir: abs}, nil
}

func (o *osFS) URL() string { return o.dir }

// open is the root, held open from its first use, so that a folder that is moved or replaced meanwhile is not confused with another one.
func (o *osFS) open() (*os.Root, error) {
	if r := o.root.Load(); r != nil {
		return r, nil
	}
	r, err := os.OpenRoot(o.dir)
	if info, serr := os.Stat(o.dir); err != nil && serr == nil && !info.IsDir() {
		return nil, errNotFolder // package os has no name for it, and on Unix no number of the kernel either
	}
	if err != nil {
		return nil, err
	}
	if !o.root.CompareAndSwap(nil, r) {
		r.Close()
	}
	return o.root.Load(), nil
}

func (o *osFS) Create(name string, perm fs.FileMode) (File, error) {
	f, err := o.file(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return nil, err
	}
	return &pushed{File: f}, nil
}

func (o *osFS) Open(name string) (File, error) {
	f, err := o.file(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (o *osFS) file(name string, flag int, perm fs.FileMode) (*os.File, error) {
	r, err := o.open()
	if err != nil {
		return nil, err
	}
	return r.OpenFile(name, flag, perm)
}

func (o *osFS) Mkdir(name string, perm fs.FileMode) error {
	if name == "." {
		return makeDurable(o.dir, perm)
	}
	r, err := o.open()
	if err != nil {
		return err
	}
	return r.Mkdir(name, perm)
}

// makeDurable makes a folder outside any root, with its parents, each fsynced in its own parent. Only the folder itself may be private: a checkpoint inside of a
// table must not close the table to its readers.
func makeDurable(dir string, perm fs.FileMode) error {
	err := os.Mkdir(dir, perm)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeDurable(filepath.Dir(dir), 0o777); err != nil {
			return err
		}
		err = os.Mkdir(dir, perm)
	}
	if err != nil {
		return err
	}
	parent, err := os.Open(filepath.Dir(dir))
	if err != nil {
		return err
	}
	defer parent.Close()
	return asFsync(parent.Sync())
}

func (o *osFS) Link(old, new string) error {
	r, err := o.open()
	if err != nil {
		return err
	}
	return r.Link(old, new)
}

func (o *osFS) Rename(old, new string) error {
	r, err := o.open()
	if err != nil {
		return err
	}
	return r.Rename(old, new)
}

func (o *osFS) Remove(name string) error {
	r, err := o.open()
	if err != nil {
		return err
	}
	return r.Remove(name)
}

func (o *osFS) Stat(name string) (fs.FileInfo, error) {
	r, err := o.open()
	if err != nil {
		return nil, err
	}
	return r.Stat(name)
}

func (o *osFS) Same(a, b string) (bool, error) {
	ia, err := o.Stat(a)
	if err != nil {
		return false, err
	}
	ib, err := o.Stat(b)
	if err != nil {
		return false, err
	}
	return os.SameFile(ia, ib), nil
}

func (o *osFS) ReadDir(name string) ([]fs.DirEntry, error) {
	r, err := o.open()
	if err != nil {
		return nil, err
	}
	d, err := r.Open(name)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.ReadDir(-1)
	if err != nil {
		return nil, fmt.Errorf("read folder %s: %w", path.Join(o.dir, name), err)
	}
	return entries, nil
}

func (o *osFS) SyncDir(name string) error {
	r, err := o.open()
	if err != nil {
		return err
	}
	d, err := r.Open(name)
	if err != nil {
		return err
	}
	defer d.Close()
	if err := d.Sync(); err != nil {
		return err
	}
	return o.anchor()
}

// anchor makes the way to the root durable, once: a process that was killed in Mkdir(".") may have left folders that are not.
// A parent that may not be opened, or is on a read-only file system, was not made by us.
func (o *osFS) anchor() error {
	if o.anchored.Load() {
		return nil
	}
	for dir := filepath.Dir(o.dir); ; dir = filepath.Dir(dir) {
		d, err := os.Open(dir)
		if errors.Is(err, fs.ErrPermission) {
			break
		}
		if err != nil {
			return err
		}
		err = errors.Join(d.Sync(), d.Close())
		if err != nil && !errors.Is(err, syscall.EROFS) && !errors.Is(err, syscall.EINVAL) {
			return err
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	o.anchored.Store(true)
	return nil
}
