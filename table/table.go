package table

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/google/uuid"

	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/table/action"
	"microbatch/table/translog"
)

// Options are a handle's settings. The zero value is right for an existing table.
type Options struct {
	Format translog.Format  // of a new table: parquet if empty; another than that of an existing table is an error
	Now    func() time.Time // the clock for what is written; time.Now if nil
}

// Table is a handle on a table. Its methods may be called concurrently.
type Table struct {
	log *translog.Log

	mu   sync.Mutex
	snap *Snapshot // the newest seen
}

// Open opens the table in a store. fs.ErrNotExist: there is none. A table that needs an unknown feature to be read is refused (errcode.TableFeature).
func Open(ctx context.Context, store objstore.Store, o Options) (*Table, error) {
	format, err := translog.Detect(ctx, store)
	if err != nil {
		return nil, err
	}
	if o.Format != "" && o.Format != format {
		return nil, errcode.TableFormat.New(store.URL(), "it is a table of format %s, not %s", format, o.Format)
	}
	t := &Table{log: translog.New(store, format, clock(o.Now))}
	state, err := t.log.Load(ctx, translog.Latest)
	if err != nil {
		return nil, err
	}
	if _, err := t.see(state); err != nil {
		return nil, err
	}
	return t, nil
}

func clock(now func() time.Time) func() time.Time {
	if now == nil {
		return time.Now
	}
	return now
}

// Create makes the table's version 0. If somebody else was first, that table is opened instead: the caller compares what it wanted with what there is.
func Create(ctx context.Context, store objstore.Store, o Options, d Definition) (*Table, error) {
	if o.Format == "" {
		o.Format = translog.Parquet
	}
	protocol, metadata, err := d.actions(o.Format)
	if err != nil {
		return nil, err
	}
	if _, err := translog.Detect(ctx, store); err == nil {
		return Open(ctx, store, o) // version 0 may have been cleaned up: its slot must not be tried
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	log := translog.New(store, o.Format, clock(o.Now))
	metadata.ID, metadata.Created = uuid.NewString(), log.Now().UnixMilli()
	blind := true
	err = log.Begin(ctx, translog.Change{
		Info:    action.CommitInfo{Operation: "CREATE TABLE", IsolationLevel: "Serializable", BlindAppend: &blind, EngineInfo: Engine},
		Actions: []action.Action{{Protocol: protocol}, {Metadata: metadata}},
	})
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return Open(ctx, store, o)
}

// Engine is how this program names itself in commits.
const Engine = "microbatch"

// see makes a state the newest snapshot, unless a newer one is known.
func (t *Table) see(state *translog.State) (*Snapshot, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.snap != nil && t.snap.ID() != state.Metadata.ID {
		return nil, errcode.TableReplaced.New(t.log.Store().URL(), "metaData.id was %s and is %s", t.snap.ID(), state.Metadata.ID)
	}
	if t.snap != nil && t.snap.Version() > state.Version {
		return t.snap, nil
	}
	snap, err := newSnapshot(t.log, state, t.snap)
	if err != nil {
		return nil, err
	}
	t.snap = snap
	return snap, nil
}

// Log is the table's log.
func (t *Table) Log() *translog.Log { return t.log }

// Format is the table's format.
func (t *Table) Format() translog.Format { return t.log.Format() }

// Snapshot is the newest version seen so far. It reads nothing.
func (t *Table) Snapshot() *Snapshot {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.snap
}

// Refresh reads what was committed since, and returns the newest version. A handle is bound to the table it was opened on: errcode.TableReplaced if that was
// dropped, whether another one was made or not.
func (t *Table) Refresh(ctx context.Context) (*Snapshot, error) {
	state, err := t.log.Refresh(ctx, t.Snapshot().state)
	if err != nil {
		return nil, err
	}
	return t.see(state)
}

// At is the table at a version (errcode.TableVersion if the log does not reach there).
func (t *Table) At(ctx context.Context, version int64) (*Snapshot, error) {
	state, err := t.log.Load(ctx, version)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errcode.TableVersion.Wrap(err, t.log.Store().URL(), "version %d", version)
	}
	if err != nil {
		return nil, err
	}
	return newSnapshot(t.log, state, t.Snapshot())
}

// AsOf is the table as it was at a time: the newest version that was committed by then.
func (t *Table) AsOf(ctx context.Context, at time.Time) (*Snapshot, error) {
	version := int64(-1)
	err := t.log.History(ctx, func(c *translog.Commit) bool {
		if !c.Time.After(at) {
			version = c.Version
		}
		return version < 0
	})
	if err != nil {
		return nil, err
	}
	if version < 0 {
		return nil, errcode.TableVersion.New(t.log.Store().URL(), "no version of %s or before", at.UTC().Format(time.RFC3339))
	}
	return t.At(ctx, version)
}

// History describes the newest n commits that the log still has, newest first; n 0 means all.
func (t *Table) History(ctx context.Context, n int) ([]translog.Commit, error) {
	var commits []translog.Commit
	err := t.log.History(ctx, func(c *translog.Commit) bool {
		commits = append(commits, *c)
		return len(commits) != n
	})
	return commits, err
}

// Commit makes a change visible in one step, behind the snapshot it was made for: see translog.Log.Commit for the rules and the errors. It returns the newest
// snapshot seen, also with an error.
func (t *Table) Commit(ctx context.Context, snap *Snapshot, c translog.Change) (*Snapshot, error) {
	if c.Info.EngineInfo == "" {
		c.Info.EngineInfo = Engine
	}
	if err := t.log.CheckWrite(snap.state); err != nil {
		return snap, err
	}
	state, err := t.log.Commit(ctx, snap.state, c)
	seen, seeErr := t.see(state)
	if err != nil {
		return snap, err
	}
	if seeErr != nil {
		return snap, fmt.Errorf("after the commit of version %d: %w", state.Version, seeErr)
	}
	return seen, nil
}
