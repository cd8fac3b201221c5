package objstore

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"
)

// ErrUncertain is the outcome of a write that may or may not have happened, or may still happen. Nothing may be deleted or
// retried on its strength with other bytes: the caller stops, and recovery reads the truth.
var ErrUncertain = errors.New("outcome unknown")

// ErrLocked says that another process holds the lock.
var ErrLocked = errors.New("locked by another process")

// ErrFsync is a failed fsync. It is never retried: what is durable is unknown until a new process looks.
var ErrFsync = errors.New("fsync failed")

// Info describes an object.
type Info struct {
	Key      string
	Size     int64
	Modified time.Time
	ETag     string // "" where the store has none
}

// Store is a place for objects. All methods may be called concurrently.
type Store interface {
	// URL names the place for people and logs: a path or s3://bucket/prefix, without secrets.
	URL() string

	// Get reads a whole object. It is for small ones: logs and checkpoints.
	Get(ctx context.Context, key string) ([]byte, error)

	// Open opens an object for reading by ranges. The caller closes it. Where reads go over the network they end with ctx.
	Open(ctx context.Context, key string) (Object, error)

	// Stat describes one object.
	Stat(ctx context.Context, key string) (Info, error)

	// PutIfAbsent creates an object: see (S1), (S2), (S4). fs.ErrExist: the key is taken by somebody else's put.
	PutIfAbsent(ctx context.Context, key string, data []byte) error

	// Put creates or replaces an object atomically.
	Put(ctx context.Context, key string, data []byte) error

	// Create begins a new object of unknown size under a key that nobody else uses (its name is unique by construction).
	// Nothing is visible under key before Commit.
	Create(ctx context.Context, key string) (Writer, error)

	// List yields the objects whose key starts with prefix, in ascending byte order of the keys, through all directories,
	// from the first key greater than after ("" for all). The prefix need not end at a slash. It ends after the first error.
	// Temporary files of this package's writers are not listed.
	List(ctx context.Context, prefix, after string) iter.Seq2[Info, error]

	// Delete removes an object. A missing one is no error.
	Delete(ctx context.Context, key string) error

	// Sync makes an existing object durable that another process may have linked without finishing (S2). Of a missing one it makes durable that it is missing,
	// as far as its directory is there, and returns fs.ErrNotExist.
	Sync(ctx context.Context, key string) error

	// Lock takes an exclusive advisory lock named key until the closer is closed or the process ends; ErrLocked if it is held.
	// Where the store has no locks it does nothing: fencing is by epoch, and the lock only makes an error early and clear.
	Lock(ctx context.Context, key string) (io.Closer, error)
}

// Object is an open object.
type Object interface {
	io.ReaderAt
	io.Closer
	// Size is the object's length in bytes.
	Size() int64
}

// Writer writes a new object. Exactly one of Commit and Abort ends it; Abort after Commit does nothing.
type Writer interface {
	io.Writer
	// Commit makes the object durable and visible. After ErrUncertain the object may exist.
	Commit(ctx context.Context) error
	// Abort discards what was written and leaves nothing behind.
	Abort(ctx context.Context) error
}
