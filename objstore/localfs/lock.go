package localfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"

	"microbatch/objstore"
)

// Lock is an advisory flock(2) on a file whose text names the holder. The file is removed while the lock is still held, so who gets a lock has to
// see that its file is still the one of that name.
func (o *osFS) Lock(name string, perm fs.FileMode) (io.Closer, error) {
	root, err := o.open()
	if err != nil {
		return nil, err
	}
	for {
		f, err := root.OpenFile(name, os.O_CREATE|os.O_RDWR, perm)
		if err != nil {
			return nil, err
		}
		if err := flock(f); err != nil {
			return nil, errors.Join(heldBy(f, err), f.Close())
		}
		mine, err := f.Stat()
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		current, err := root.Stat(name)
		if err == nil && os.SameFile(mine, current) {
			return takeLock(root, name, f)
		}
		f.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
}

func flock(f *os.File) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var locked error
	err = conn.Control(func(fd uintptr) {
		for {
			locked = syscall.Flock(int(fd), syscall.LOCK_EX|syscall.LOCK_NB)
			if locked != syscall.EINTR {
				return
			}
		}
	})
	return errors.Join(err, locked)
}

func heldBy(f *os.File, err error) error {
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return fmt.Errorf("flock: %w", err)
	}
	text := make([]byte, 256)
	n, _ := f.ReadAt(text, 0) // only for the message
	holder := strings.TrimSpace(string(text[:n]))
	if holder == "" {
		holder = "a process that has not given its name yet"
	}
	return fmt.Errorf("%w: %s", objstore.ErrLocked, holder)
}

func takeLock(root *os.Root, name string, f *os.File) (io.Closer, error) {
	l := &heldLock{root: root, name: name, file: f}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	if err := f.Truncate(0); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if _, err := f.WriteAt(fmt.Appendf(nil, "pid %d on host %s\n", os.Getpid(), host), 0); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

type heldLock struct {
	root *os.Root
	name string
	file *os.File
	once sync.Once
	err  error
}

// Close removes the file before it lets go of the lock: afterwards it could be another holder's.
func (l *heldLock) Close() error {
	l.once.Do(func() {
		err := l.root.Remove(l.name)
		if errors.Is(err, fs.ErrNotExist) { // somebody has removed the whole folder
			err = nil
		}
		l.err = errors.Join(err, l.file.Close())
	})
	return l.err
}
