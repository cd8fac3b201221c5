package translog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"maps"
	"slices"

	"microbatch/internal/bugs"
	"microbatch/internal/errcode"
	"microbatch/internal/failpoint"
	"microbatch/objstore"
	"microbatch/table/action"
)

// WriteCheckpoint writes the checkpoint of a state's version and returns the state with it. It reads the whole list of files, so it is not for the way
// of a commit; but it holds only what has changed since the last checkpoint. Somebody else's checkpoint of the version is as good as ours.
func (l *Log) WriteCheckpoint(ctx context.Context, s *State) (*State, error) {
	c, err := l.encodeCheckpoint(ctx, s)
	if err != nil {
		return s, fmt.Errorf("checkpoint of version %d: %w", s.Version, err)
	}
	defer c.close()
	failpoint.Hit("checkpoint.before")
	err = objstore.PutContentIfAbsent(ctx, l.store, l.format.checkpointKey(s.Version), c.content)
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
	next.checkpoint, next.checkpointBytes, next.commits, next.commitBytes = s.Version, c.content.Size(), 0, 0
	return &next, nil
}

// encodeCheckpoint makes the checkpoint of a state's version from the last one and what has changed since.
func (l *Log) encodeCheckpoint(ctx context.Context, s *State) (*encoded, error) {
	changed, err := l.changes(ctx, s.checkpoint, s.Version)
	if err != nil {
		return nil, err
	}
	c, err := l.encodeBehind(ctx, changed.state.base, changed)
	if errcode.Has(err, errcode.TableLog) { // the list of files in the last checkpoint is damaged; perhaps an older one helps
		all, err := l.Files(ctx, s.Version)
		if err != nil {
			return nil, err
		}
		return l.encodeBehind(ctx, nil, allOf(all))
	}
	return c, err
}

// encodeBehind makes the checkpoint of a version from an earlier one (nil: none) and what has changed since: first what a writer needs, then files. Removes older than
// the retention are forgotten (Delta protocol: Action Reconciliation), except that nothing younger than MinRetention ever is.
func (l *Log) encodeBehind(ctx context.Context, base *checkpoint, changed *changes) (c *encoded, err error) {
	e, err := l.newEncoder(changed.state)
	if err != nil {
		return nil, err
	}
	defer e.release()
	for _, a := range l.light(changed.state) {
		if err := e.add(&a); err != nil {
			return nil, err
		}
	}
	s := &sieve{changed, l.now().Add(-max(changed.state.FileRetention(), MinRetention)).UnixMilli()}
	earlier, err := l.pass(ctx, base, s, e)
	if err != nil {
		return nil, err
	}
	err = changed.each(ctx, func(a *action.Action) error {
		if a.Remove != nil && s.forgets(a.Remove) {
			return nil
		}
		return e.add(a)
	})
	if err == nil {
		c, err = e.close()
	}
	if err != nil {
		earlier.Close()
		return nil, err
	}
	c.earlier = earlier
	return c, nil
}

// pass gives an encoder what a sieve lets through of an earlier checkpoint. The caller closes what is returned when the new checkpoint has been read.
func (l *Log) pass(ctx context.Context, base *checkpoint, s *sieve, e encoder) (io.Closer, error) {
	if base == nil {
		return io.NopCloser(nil), nil
	}
	if len(base.files) == 1 && base.json == (l.format == Parquet) && !base.v2 {
		key := base.files[0].Key
		object, err := l.openCheckpoint(ctx, key)
		if err != nil {
			return nil, err
		}
		passed, err := e.pass(ctx, object, s)
		if passed && err == nil {
			return object, nil
		}
		object.Close()
		if err != nil && ctx.Err() == nil {
			return nil, l.damaged(key, err)
		}
		if err != nil {
			return nil, err
		}
	}
	return io.NopCloser(nil), l.readCheckpoint(ctx, base, false, func(a *action.Action) error {
		if !s.keeps(a) {
			return nil
		}
		return e.add(a)
	})
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

// putHint writes _last_checkpoint. It is overwritten, and a reader must not rely on it.
func (l *Log) putHint(ctx context.Context, version int64, c *encoded) error {
	hint := struct {
		Version     int64 `json:"version"`
		Size        int   `json:"size"`
		SizeInBytes int64 `json:"sizeInBytes"`
		Adds        int   `json:"numOfAddFiles"`
	}{version, c.actions, c.content.Size(), c.adds}
	data, err := json.Marshal(hint)
	if err != nil {
		return err
	}
	if err := l.store.Put(ctx, lastCheckpoint, append(data, '\n')); err != nil {
		return fmt.Errorf("put %s: %w", lastCheckpoint, err)
	}
	return nil
}
