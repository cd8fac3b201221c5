package localfs

import (
	"io"
	"io/fs"
)

// FS is what the store needs of a file system. Names are keys, "." is the folder itself. Errors are those of package os (wrapping fs.ErrNotExist,
// fs.ErrExist, syscall numbers). All methods may be called concurrently.
type FS interface {
	// URL names the folder for people.
	URL() string
	// Create makes a new file for writing; fs.ErrExist if the name is taken.
	Create(name string, perm fs.FileMode) (File, error)
	// Open opens a file for reading.
	Open(name string) (File, error)
	// Mkdir makes a folder in an existing one. "." makes the root, durable in its own parents.
	Mkdir(name string, perm fs.FileMode) error
	// Link gives a file a second name; fs.ErrExist if it is taken.
	Link(old, new string) error
	// Rename moves a file, over another one if need be, or a folder, over an empty one if need be: a folder with names in it refuses with syscall.ENOTEMPTY or
	// fs.ErrExist.
	Rename(old, new string) error
	// Remove removes a file or an empty folder.
	Remove(name string) error
	// Stat describes a file or folder, following links within the root.
	Stat(name string) (fs.FileInfo, error)
	// Same reports whether two names are the same file.
	Same(a, b string) (bool, error)
	// ReadDir lists a folder, in any order.
	ReadDir(name string) ([]fs.DirEntry, error)
	// SyncDir makes the names in a folder durable.
	SyncDir(name string) error
	// Lock takes the lock file name, creating it; an error that wraps objstore.ErrLocked, and says who has it, if it is held. Close gives it back and removes it.
	Lock(name string, perm fs.FileMode) (io.Closer, error)
}

// File is an open file.
type File interface {
	io.Writer
	io.ReaderAt
	io.Closer
	Sync() error
	Stat() (fs.FileInfo, error)
}
