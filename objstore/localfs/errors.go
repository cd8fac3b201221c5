package localfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"syscall"

	"microbatch/internal/errcode"
	"microbatch/objstore"
)

// errNoLinks is a link(2) that the file system does not have.
var errNoLinks = errors.New("no hard links here")

// errNotFolder is a root that is a file.
var errNotFolder = errors.New("it is a file, not a folder")

// asFsync marks the error of a sync (L3).
func asFsync(err error) error {
	if err == nil || errors.Is(err, objstore.ErrFsync) {
		return err
	}
	return fmt.Errorf("%w: %w", objstore.ErrFsync, err)
}

// explain gives an error of the disk its code.
func (s *Store) explain(op, key string, err error) error { return Explain(s.fs, op, key, err) }

// Explain gives an error of a file system its code, with the place. All of them keep their cause: errors.Is still finds fs.ErrExist, fs.ErrNotExist,
// objstore.ErrFsync and the number of the kernel.
func Explain(f FS, op, key string, err error) error {
	if err == nil {
		return nil
	}
	code, ok := codeOf(err)
	if !ok {
		return fmt.Errorf("localfs: %s %s: %w", op, key, err)
	}
	return code.Wrap(err, path.Join(f.URL(), key), "%s: %s", op, code.Title)
}

func codeOf(err error) (errcode.Code, bool) {
	is := func(targets ...error) bool {
		for _, t := range targets {
			if errors.Is(err, t) {
				return true
			}
		}
		return false
	}
	switch {
	case is(context.Canceled, context.DeadlineExceeded):
		return errcode.Code{}, false
	case is(objstore.ErrUncertain):
		return errcode.StoreUncertain, true
	case is(objstore.ErrLocked):
		return errcode.StoreLocked, true
	case is(syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG): // EFBIG: the limit of the shell or the unit file (ulimit -f)
		return errcode.StoreFull, true
	case is(syscall.EMFILE, syscall.ENFILE): // also of a folder that could not be opened for its fsync
		return errcode.StoreOpenFiles, true
	case is(objstore.ErrFsync):
		return errcode.StoreFsync, true
	case is(errNotFolder):
		return errcode.StoreNotFolder, true
	case is(fs.ErrExist, fs.ErrNotExist):
		return errcode.Code{}, false
	case is(syscall.EROFS):
		return errcode.StoreReadOnly, true
	case is(errNoLinks, syscall.EXDEV, syscall.EOPNOTSUPP, syscall.ENOSYS, syscall.EMLINK):
		return errcode.StoreNoLinks, true
	case is(fs.ErrPermission):
		return errcode.StoreNoPermission, true
	case is(syscall.EIO, syscall.ESTALE):
		return errcode.StoreDiskError, true
	case strings.Contains(err.Error(), "path escapes from parent"): // package os has no name for it
		return errcode.StoreLeavesRoot, true
	}
	return errcode.Code{}, false
}
