package checkpointlog

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"microbatch/ident"
	"microbatch/objstore"
)

// Log is one numbered log: a directory of files with decimal names.
type Log struct {
	store objstore.Store
	dir   string
}

// NewLog is the log in directory dir of the store.
func NewLog(store objstore.Store, dir string) Log { return Log{store, dir} }

// Key is the key of an entry.
func (l Log) Key(id ident.BatchID) string { return l.dir + "/" + id.String() }

// Put creates an entry (C1). fs.ErrExist: somebody else has; objstore.ErrUncertain: nobody knows.
func (l Log) Put(ctx context.Context, id ident.BatchID, data []byte) error {
	return l.store.PutIfAbsent(ctx, l.Key(id), data)
}

// Replace puts an entry whatever stands there, in one step: only repair does, with what the sink proves. At no moment is the slot free, and a repeated or late one
// does no harm.
func (l Log) Replace(ctx context.Context, id ident.BatchID, data []byte) error {
	return l.store.Put(ctx, l.Key(id), data)
}

// Get reads an entry; fs.ErrNotExist if there is none.
func (l Log) Get(ctx context.Context, id ident.BatchID) ([]byte, error) {
	return l.store.Get(ctx, l.Key(id))
}

// Sync makes an entry durable that another process may have linked without finishing.
func (l Log) Sync(ctx context.Context, id ident.BatchID) error {
	return l.store.Sync(ctx, l.Key(id))
}

// Delete removes an entry, not durably: only purge does.
func (l Log) Delete(ctx context.Context, id ident.BatchID) error {
	return l.store.Delete(ctx, l.Key(id))
}

// List is the ids of all entries, ascending. Names that are not plain decimal numbers are no entries.
func (l Log) List(ctx context.Context) ([]ident.BatchID, error) {
	var ids []ident.BatchID
	for info, err := range l.store.List(ctx, l.dir+"/", "") {
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", l.dir, err)
		}
		if id, ok := parseName(strings.TrimPrefix(info.Key, l.dir+"/")); ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids, nil
}

// parseName accepts what this package writes and nothing else: no sign, no leading zero, no other characters.
func parseName(name string) (ident.BatchID, bool) {
	n, err := strconv.ParseInt(name, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != name {
		return 0, false
	}
	return ident.BatchID(n), true
}
