package translog

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"maps"
	"slices"

	"microbatch/internal/bugs"
	"microbatch/internal/errcode"
	"microbatch/internal/failpoint"
	"microbatch/table/action"
)

// WriteCheckpoint writes the checkpoint of a state's version and returns the state with it. It reads the whole list of files, so it is not for the way
// of a commit; but it holds only what has changed since the last checkpoint, and what it writes. Somebody else's checkpoint of the version is as good as ours.
func (l *Log) WriteCheckpoint(ctx context.Context, s *State) (*State, error) {
	c, err := l.encodeCheckpoint(ctx, s)
	if err != nil {
		return s, fmt.Errorf("checkpoint of version %d: %w", s.Version, err)
	}
	failpoint.Hit("checkpoint.before")
	err = l.store.PutIfAbsent(ctx, l.format.checkpointKey(s.Version), c.data)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return s, fmt.Errorf("put %s: %w", l.format.checkpointKey(s.Version), err)
	}
	failpoint.Hit("checkpoint.after")
	if l.format == Delta {
		if err := l.putHint(ctx, s.Version, c); err != nil {
			return s, err
		}
	}
	next := *s
	next.checkpoint, next.checkpointBytes, next.commits, next.commitBytes = s.Version, int64(len(c.data)), 0, 0
	return &next, nil
}

// encoded is a checkpoint that is not stored yet.
type encoded struct {
	data          []byte
	actions, adds int
}

// An encoder makes a checkpoint of actions.
type encoder interface {
	add(a *action.Action) error
	// close is the whole checkpoint.
	close() ([]byte, error)
}

// encodeCheckpoint makes the checkpoint of a state's version, and reads it back before anybody relies on it: once the entries before it are cleaned up, it is all
// that is left of them.
func (l *Log) encodeCheckpoint(ctx context.Context, s *State) (*encoded, error) {
	changed, err := l.files(ctx, s.checkpoint, s.Version, true)
	if err != nil {
		return nil, err
	}
	c, err := l.encodeBehind(ctx, changed.State.base, changed)
	if errcode.Has(err, errcode.TableLog) { // the list of files in the last checkpoint is damaged; perhaps an older one helps
		if changed, err = l.Files(ctx, s.Version); err != nil {
			return nil, err
		}
		return l.encodeBehind(ctx, nil, changed)
	}
	return c, err
}

// encodeBehind makes the checkpoint of a version from an earlier one (nil: none) and what has changed since. Files that the earlier one names pass through one by one.
func (l *Log) encodeBehind(ctx context.Context, base *checkpoint, changed *Files) (*encoded, error) {
	e, err := l.newEncoder(changed.State)
	if err != nil {
		return nil, err
	}
	c := &encoded{}
	want := newFingerprint(maphash.MakeSeed())
	err = l.summary(ctx, base, changed, func(a *action.Action) error {
		c.actions++
		if a.Add != nil {
			c.adds++
		}
		want.add(a)
		return e.add(a)
	})
	if err != nil {
		return nil, err
	}
	if c.data, err = e.close(); err != nil {
		return nil, err
	}
	return c, l.proofread(ctx, c.data, want)
}

func (l *Log) newEncoder(s *State) (encoder, error) {
	if l.format == Delta {
		return newParquetEncoder(s)
	}
	return newJSONEncoder(s), nil
}

// summary shows the actions that a version adds up to, those that a writer needs first. Removes older than the retention are forgotten (Delta protocol:
// Action Reconciliation), except that nothing younger than MinRetention ever is.
func (l *Log) summary(ctx context.Context, base *checkpoint, changed *Files, show func(*action.Action) error) error {
	for _, a := range l.light(changed.State) {
		if err := show(&a); err != nil {
			return err
		}
	}
	cutoff := l.now().Add(-max(changed.State.FileRetention(), MinRetention)).UnixMilli()
	remove := func(a *action.Action) error {
		if a.Remove.Deleted <= cutoff || bugs.Is(bugs.ForgetRemoves) {
			return nil
		}
		return show(a)
	}
	for _, key := range slices.SortedFunc(maps.Keys(changed.Removed), action.FileKey.Compare) {
		if err := remove(&action.Action{Remove: changed.Removed[key]}); err != nil {
			return err
		}
	}
	if base != nil {
		err := l.readCheckpoint(ctx, base, false, func(a *action.Action) error {
			switch {
			case a.Add != nil && !changed.names(a.Add.Key()):
				return show(a)
			case a.Remove != nil && !changed.names(a.Remove.Key()):
				return remove(a)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	for _, a := range changed.Sorted() {
		if err := show(&action.Action{Add: a}); err != nil {
			return err
		}
	}
	return nil
}

// light are the actions of a version that a writer needs.
func (l *Log) light(s *State) []action.Action {
	actions := []action.Action{{Protocol: &s.Protocol}, {Metadata: &s.Metadata}}
	for _, id := range slices.Sorted(maps.Keys(s.Txns)) {
		t := s.Txns[id]
		if bugs.Is(bugs.ExpireTxn) && t.LastUpdated < l.now().Add(-s.FileRetention()).UnixMilli() {
			continue
		}
		actions = append(actions, action.Action{Txn: &t})
	}
	for _, name := range slices.Sorted(maps.Keys(s.Domains)) {
		d := s.Domains[name]
		actions = append(actions, action.Action{DomainMetadata: &d})
	}
	return actions
}

// proofread reads a checkpoint back.
func (l *Log) proofread(ctx context.Context, data []byte, want *fingerprint) error {
	got := newFingerprint(want.hash.Seed())
	see := func(a *action.Action) error {
		got.add(a)
		return nil
	}
	var err error
	if l.format == Delta {
		err = readParquetCheckpoint(ctx, inMemory{bytes.NewReader(data)}, false, see)
	} else {
		err = readJSONCheckpoint(inMemory{bytes.NewReader(data)}, false, see)
	}
	if err != nil {
		return fmt.Errorf("read back: %w", err)
	}
	if got.n != want.n || got.sum != want.sum {
		return fmt.Errorf("read back: %d actions of %d are there as they should be, or others", got.n, want.n)
	}
	return nil
}

// A fingerprint is that of a set of actions, in any order: two sets have the same one if they are the same, and otherwise with a chance of one in 2^64. It takes
// no memory for each, which a checkpoint of 100,000 files has no room for.
type fingerprint struct {
	hash maphash.Hash // of one action
	n    int
	sum  uint64
}

func newFingerprint(seed maphash.Seed) *fingerprint {
	f := &fingerprint{}
	f.hash.SetSeed(seed)
	return f
}

func (f *fingerprint) add(a *action.Action) {
	f.hash.Reset()
	switch {
	case a.Protocol != nil:
		fmt.Fprint(&f.hash, "protocol ", *a.Protocol)
	case a.Metadata != nil:
		fmt.Fprint(&f.hash, "metaData ", a.Metadata.ID, a.Metadata.Schema)
	case a.Txn != nil:
		fmt.Fprint(&f.hash, "txn ", a.Txn.AppID, a.Txn.Version)
	case a.DomainMetadata != nil:
		fmt.Fprint(&f.hash, "domainMetadata ", a.DomainMetadata.Domain)
	case a.Add != nil:
		f.file("add ", a.Add.Key(), a.Add.Size, a.Add.Modified)
		f.hash.WriteString(a.Add.Stats)
	case a.Remove != nil:
		f.file("remove ", a.Remove.Key(), a.Remove.Size, a.Remove.Deleted)
	default: // no part of a table's state
		return
	}
	f.n++
	f.sum += f.hash.Sum64()
}

func (f *fingerprint) file(kind string, key action.FileKey, numbers ...int64) {
	f.hash.WriteString(kind)
	f.hash.WriteString(key.Path)
	f.hash.WriteByte(0)
	f.hash.WriteString(key.DV)
	for _, n := range numbers {
		maphash.WriteComparable(&f.hash, n)
	}
}

// inMemory is an object that is not stored yet.
type inMemory struct{ *bytes.Reader }

func (inMemory) Close() error { return nil }

// putHint writes _last_checkpoint. It is overwritten, and a reader must not rely on it.
func (l *Log) putHint(ctx context.Context, version int64, c *encoded) error {
	hint := struct {
		Version     int64 `json:"version"`
		Size        int   `json:"size"`
		SizeInBytes int   `json:"sizeInBytes"`
		Adds        int   `json:"numOfAddFiles"`
	}{version, c.actions, len(c.data), c.adds}
	data, err := json.Marshal(hint)
	if err != nil {
		return err
	}
	if err := l.store.Put(ctx, lastCheckpoint, append(data, '\n')); err != nil {
		return fmt.Errorf("put %s: %w", lastCheckpoint, err)
	}
	return nil
}
