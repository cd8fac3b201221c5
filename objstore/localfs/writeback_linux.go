package localfs

import (
	"errors"
	"os"
	"syscall"
)

// syncFileRangeWrite is SYNC_FILE_RANGE_WRITE of sync_file_range(2): begin, and do not wait.
const syncFileRangeWrite = 2

// beginWriteback lets the kernel begin to write n bytes of a file to the disk. Errors are those of the disk; a file system that has no such call is none.
func beginWriteback(f *os.File, offset, n int64) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Control(func(fd uintptr) { failed = syscall.SyncFileRange(int(fd), offset, n, syncFileRangeWrite) })
	switch {
	case errors.Is(failed, syscall.ENOSYS), errors.Is(failed, syscall.EINVAL), errors.Is(failed, syscall.ESPIPE), errors.Is(failed, syscall.EPERM):
		failed = nil
	}
	return errors.Join(err, failed)
}
