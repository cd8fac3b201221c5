package translog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"

	"microbatch/internal/bugs"
	"microbatch/internal/errcode"
	"microbatch/table/action"
)

// Latest stands for the newest version.
const Latest int64 = math.MaxInt64

// Load reads the state at a version, or at the newest one (Latest). fs.ErrNotExist: there is no log, or not that version any more or yet.
func (l *Log) Load(ctx context.Context, at int64) (*State, error) {
	s, err := l.replay(ctx, -1, at, true, nothing)
	if err != nil || at != Latest || bugs.Is(bugs.TrustTheList) {
		return s, err
	}
	return l.Advance(ctx, s) // a listing may lag behind
}

// Advance is the newest state, given an earlier one: it reads the versions after it until there is none.
func (l *Log) Advance(ctx context.Context, s *State) (*State, error) {
	for {
		e, err := l.entry(ctx, s.Version+1)
		if errors.Is(err, fs.ErrNotExist) {
			return s, nil
		}
		if err != nil {
			return nil, err
		}
		s = s.apply(s.Version+1, e)
	}
}

// Refresh is Advance for a state that may be old: it first makes sure that the log is still the one that the state was read from.
func (l *Log) Refresh(ctx context.Context, s *State) (*State, error) {
	now, err := l.stands(ctx, s)
	if now != nil || err != nil {
		return now, err
	}
	return l.Advance(ctx, s)
}

// Durable makes the newest entry of a state durable that another process wrote (T2). The entries before it were made durable by who built on them.
func (l *Log) Durable(ctx context.Context, s *State) error {
	if s.durable || s.Version < 0 || bugs.Is(bugs.NoSyncOfForeign) {
		return nil
	}
	err := l.store.Sync(ctx, l.format.CommitKey(s.Version))
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // a checkpoint may have replaced it
		return fmt.Errorf("sync %s: %w", l.format.CommitKey(s.Version), err)
	}
	s.durable = true
	return nil
}

// visitor begins to look at actions, oldest first. It is called once for each try of a replay: what an earlier try has shown does not count.
type visitor func() (take func(*action.Action))

func nothing() func(*action.Action) { return func(*action.Action) {} }

// replay rebuilds the state at a version from the newest usable checkpoint and the commits after it. With light, actions on files in checkpoints are left out.
// from is the version of a checkpoint that is there for all the caller knows, so that what is older need not be listed; -1: it knows of none.
func (l *Log) replay(ctx context.Context, from, at int64, light bool, visit visitor) (*State, error) {
	hinted, err := l.hint(ctx)
	if err != nil {
		return nil, err
	}
	from = max(from, hinted)
	if from > at {
		from = -1
	}
	found, err := l.list(ctx, from, at)
	if err != nil {
		return nil, err
	}
	if from >= 0 && len(found.checkpoints) == 0 { // the hint was wrong
		if found, err = l.list(ctx, 0, at); err != nil {
			return nil, err
		}
	}
	s, err := l.replayListing(ctx, found, at, light, visit)
	if errcode.Has(err, errcode.TableLog) { // perhaps an older checkpoint than that of the hint helps, or clean-up came between the listing and the reading
		again, listErr := l.list(ctx, 0, at)
		if listErr != nil {
			return nil, listErr
		}
		if from >= 0 || again.first() != found.first() || again.newest != found.newest {
			return l.replayListing(ctx, again, at, light, visit)
		}
	}
	return s, err
}

func (l *Log) replayListing(ctx context.Context, found *listing, at int64, light bool, visit visitor) (*State, error) {
	if found.newest < 0 || at != Latest && found.newest != at {
		return nil, fmt.Errorf("table %s: %w", l.store.URL(), l.noVersion(at))
	}
	var first error
	for i := len(found.checkpoints); i >= 0; i-- {
		var base *checkpoint
		if i > 0 {
			base = &found.checkpoints[i-1]
		}
		if base == nil && found.commits[0].Key == "" {
			break
		}
		s, err := l.replayFrom(ctx, base, found, light, visit)
		if err == nil {
			return s, nil
		}
		if !errcode.Has(err, errcode.TableLog) && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		if first == nil {
			first = err
		}
	}
	if first == nil {
		first = errcode.TableLog.New(l.store.URL()+"/"+l.format.CommitKey(0), "the log neither begins at version 0 nor holds a complete checkpoint")
	}
	return nil, first
}

func (l *Log) noVersion(at int64) error {
	if at == Latest {
		return fmt.Errorf("no log: %w", fs.ErrNotExist)
	}
	return fmt.Errorf("version %d: %w", at, fs.ErrNotExist)
}

// replayFrom replays the commits after a checkpoint (nil: from version 0).
func (l *Log) replayFrom(ctx context.Context, base *checkpoint, found *listing, light bool, visit visitor) (*State, error) {
	take := visit()
	s := emptyState()
	if base != nil {
		err := l.readCheckpoint(ctx, base, light, func(a *action.Action) error {
			s.take(a)
			take(a)
			return nil
		})
		if err != nil {
			return nil, err
		}
		s.Version, s.checkpoint, s.checkpointBytes, s.base = base.version, base.version, base.bytes(), base
	}
	for v := s.Version + 1; v <= found.newest; v++ {
		if found.commits[v].Key == "" {
			return nil, errcode.TableLog.New(l.store.URL()+"/"+l.format.CommitKey(v), "the entry is missing, but later ones exist")
		}
		e, err := l.entry(ctx, v)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, l.damaged(l.format.CommitKey(v), err)
		}
		if err != nil {
			return nil, err
		}
		s = s.apply(v, e)
		for i := range e.actions {
			take(&e.actions[i])
		}
	}
	if s.Metadata.ID == "" || s.Protocol.MinReader == 0 {
		return nil, errcode.TableLog.New(l.store.URL()+"/"+l.format.Dir(), "no protocol or metaData up to version %d", s.Version)
	}
	return s, nil
}

// commitInfo is the entry's own description, nil if it has none.
func commitInfo(actions []action.Action) *action.CommitInfo {
	for i := range actions {
		if actions[i].CommitInfo != nil {
			return actions[i].CommitInfo
		}
	}
	return nil
}
