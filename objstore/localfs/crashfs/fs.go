package crashfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"microbatch/objstore"
	"microbatch/objstore/localfs"
)

// ErrPowerLost is what every operation returns from the crash, or the kill, on.
var ErrPowerLost = errors.New("power lost")

// FS is the file system. The zero value is not usable: see New.
type FS struct {
	mu      sync.Mutex
	root    *node
	locks   map[string]bool
	ops     int
	crashAt int
	fault   func(op, name string) error
	lost    bool
	open    int
}

var _ localfs.FS = (*FS)(nil)

// New is an empty file system that is durable as far as it goes.
func New() *FS { return &FS{root: newFolder(0o777), locks: map[string]bool{}} }

// CrashAt makes the n-th operation from now that changes or syncs something, counted from 1, and everything after it, fail with ErrPowerLost; 0 never.
func (f *FS) CrashAt(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ops, f.crashAt = 0, n
}

// Fault makes a function decide before each changing operation whether it fails, and how: create, write, sync, mkdir, link, rename, remove, syncdir.
// A failed one does nothing.
func (f *FS) Fault(decide func(op, name string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fault = decide
}

// Lost reports whether the power is gone.
func (f *FS) Lost() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lost
}

// OpenFiles is how many files were created or opened and not closed.
func (f *FS) OpenFiles() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.open
}

// Crash takes the power away, if it is still there, and returns the disk as the next process finds it. Of what was not synced each change survives with
// percent in a hundred: 0 keeps what was promised and nothing else.
func (f *FS) Crash(random *rand.Rand, percent int) *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lost = true
	c := crash{random: random, percent: percent, copies: map[*node]*node{}, moves: map[*move]bool{}}
	return &FS{root: c.copy(f.root), locks: map[string]bool{}}
}

// Kill ends the process that uses the file system and returns it as the next process finds it, on a machine that lives on: nothing is lost, but what was not
// synced may be lost later.
func (f *FS) Kill() *FS {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lost = true
	return &FS{root: f.root, locks: map[string]bool{}}
}

// URL is a name for messages.
func (f *FS) URL() string { return "/crashfs" }

// change runs do as one changing operation.
func (f *FS) change(op, name string, do func() error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ops++
	if f.ops == f.crashAt {
		f.lost = true
	}
	err := f.alive()
	if err == nil && f.fault != nil {
		err = f.fault(op, name)
	}
	if err == nil {
		err = do()
	}
	return wrap(op, name, err)
}

func (f *FS) alive() error {
	if f.lost {
		return ErrPowerLost
	}
	return nil
}

func wrap(op, name string, err error) error {
	if err == nil {
		return nil
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// find is the node of a name.
func (f *FS) find(name string) (*node, error) {
	if err := f.alive(); err != nil {
		return nil, err
	}
	n := f.root
	if name == "." {
		return n, nil
	}
	for part := range strings.SplitSeq(name, "/") {
		if !n.mode.IsDir() {
			return nil, syscall.ENOTDIR
		}
		if n = n.names[part]; n == nil {
			return nil, syscall.ENOENT
		}
	}
	return n, nil
}

// place is the folder of a name and its last element.
func (f *FS) place(name string) (*node, string, error) {
	folder, err := f.find(path.Dir(name))
	if err == nil && !folder.mode.IsDir() {
		err = syscall.ENOTDIR
	}
	return folder, path.Base(name), err
}

// add makes a new name.
func (f *FS) add(name string, n *node) error {
	if name == "." {
		return syscall.EEXIST
	}
	folder, base, err := f.place(name)
	if err != nil {
		return err
	}
	if folder.names[base] != nil {
		return syscall.EEXIST
	}
	folder.apply(change{names: map[string]*node{base: n}})
	return nil
}

// Create makes a file for writing.
func (f *FS) Create(name string, perm fs.FileMode) (localfs.File, error) {
	n := newFile(perm)
	err := f.change("create", name, func() error {
		err := f.add(name, n)
		if err == nil {
			f.open++
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return &file{fs: f, node: n, name: name}, nil
}

// Open opens a file or folder for reading.
func (f *FS) Open(name string) (localfs.File, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.find(name)
	if err != nil {
		return nil, wrap("open", name, err)
	}
	f.open++
	return &file{fs: f, node: n, name: name}, nil
}

// Mkdir makes a folder. The root is always there.
func (f *FS) Mkdir(name string, perm fs.FileMode) error {
	return f.change("mkdir", name, func() error { return f.add(name, newFolder(perm)) })
}

// Link gives a file a second name.
func (f *FS) Link(old, new string) error {
	return f.change("link", new, func() error {
		n, err := f.find(old)
		if err != nil {
			return err
		}
		return f.add(new, n)
	})
}

// Rename moves a file, over another one if need be, or a folder over an empty one.
func (f *FS) Rename(old, new string) error {
	return f.change("rename", new, func() error {
		n, err := f.find(old)
		if err != nil {
			return err
		}
		from, oldBase, err := f.place(old)
		if err != nil {
			return err
		}
		to, newBase, err := f.place(new)
		if err != nil {
			return err
		}
		if over := to.names[newBase]; over != nil && over.mode.IsDir() {
			switch {
			case !n.mode.IsDir():
				return syscall.EISDIR
			case len(over.names) > 0:
				return syscall.ENOTEMPTY
			}
		}
		if from == to {
			from.apply(change{names: map[string]*node{oldBase: nil, newBase: n}})
			return nil
		}
		both := &move{}
		to.apply(change{map[string]*node{newBase: n}, both})
		from.apply(change{map[string]*node{oldBase: nil}, both})
		return nil
	})
}

// Remove removes a file or an empty folder.
func (f *FS) Remove(name string) error {
	return f.change("remove", name, func() error {
		n, err := f.find(name)
		if err != nil {
			return err
		}
		if len(n.names) > 0 {
			return syscall.ENOTEMPTY
		}
		folder, base, err := f.place(name)
		if err != nil {
			return err
		}
		folder.apply(change{names: map[string]*node{base: nil}})
		return nil
	})
}

// SyncDir makes the names in a folder durable.
func (f *FS) SyncDir(name string) error {
	return f.change("syncdir", name, func() error {
		n, err := f.find(name)
		if err != nil {
			return err
		}
		n.sync()
		return nil
	})
}

// Stat describes a file or folder.
func (f *FS) Stat(name string) (fs.FileInfo, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.find(name)
	if err != nil {
		return nil, wrap("stat", name, err)
	}
	return infoOf(path.Base(name), n), nil
}

// Same reports whether two names are one file.
func (f *FS) Same(a, b string) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	na, errA := f.find(a)
	nb, errB := f.find(b)
	return na == nb, errors.Join(errA, errB)
}

// ReadDir lists a folder.
func (f *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.find(name)
	if err == nil && !n.mode.IsDir() {
		err = syscall.ENOTDIR
	}
	if err != nil {
		return nil, wrap("readdir", name, err)
	}
	var out []fs.DirEntry
	for _, base := range slices.Sorted(maps.Keys(n.names)) { // so that a run can be repeated
		out = append(out, fs.FileInfoToDirEntry(infoOf(base, n.names[base])))
	}
	return out, nil
}

// Lock takes a lock that ends with the power.
func (f *FS) Lock(name string, _ fs.FileMode) (io.Closer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, _, err := f.place(name); err != nil {
		return nil, wrap("lock", name, err)
	}
	if f.locks[name] {
		return nil, fmt.Errorf("%w: this process", objstore.ErrLocked)
	}
	f.locks[name] = true
	return &held{fs: f, name: name}, nil
}

type held struct {
	fs   *FS
	name string
	once sync.Once
}

func (h *held) Close() error {
	h.once.Do(func() {
		h.fs.mu.Lock()
		defer h.fs.mu.Unlock()
		delete(h.fs.locks, h.name)
	})
	return nil
}

// file is an open file.
type file struct {
	fs   *FS
	node *node
	name string
	once sync.Once // of Close
}

func (f *file) Write(p []byte) (int, error) {
	err := f.fs.change("write", f.name, func() error {
		f.node.data = append(f.node.data, p...)
		f.node.modified = time.Now()
		return nil
	})
	if err != nil {
		return 0, err
	}
	return len(p), nil
}

func (f *file) ReadAt(p []byte, off int64) (int, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	if err := f.fs.alive(); err != nil {
		return 0, wrap("read", f.name, err)
	}
	if f.node.mode.IsDir() {
		return 0, wrap("read", f.name, syscall.EISDIR)
	}
	if off >= int64(len(f.node.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.node.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) Sync() error {
	return f.fs.change("sync", f.name, func() error {
		f.node.sync()
		return nil
	})
}

func (f *file) Stat() (fs.FileInfo, error) {
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	return infoOf(path.Base(f.name), f.node), f.fs.alive()
}

func (f *file) Close() error {
	f.once.Do(func() {
		f.fs.mu.Lock()
		defer f.fs.mu.Unlock()
		f.fs.open--
	})
	return nil
}

// info describes a node as it was.
type info struct {
	name     string
	size     int64
	mode     fs.FileMode
	modified time.Time
}

func infoOf(name string, n *node) info { return info{name, int64(len(n.data)), n.mode, n.modified} }

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return i.modified }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return nil }
