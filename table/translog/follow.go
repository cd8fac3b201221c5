package translog

import (
	"context"
	"errors"
	"io/fs"

	"microbatch/internal/errcode"
	"microbatch/table/action"
)

// A Keeper keeps what somebody wants to know of the live files of a table, in whatever form: what Follow tells it adds up to the list at a version.
type Keeper interface {
	// Begin forgets all files.
	Begin()
	// Take lets an action on a file (an add or a remove) replace what had its key. The action stays as it is, but its texts may be parts of larger ones: who keeps a
	// few of them copies those.
	Take(*action.Action)
}

// Follow brings a keeper from one state to a later one: it reads the versions between, or the whole log if from is nil, if to does not continue it, or if one of those
// versions is gone. After an error the keeper is of no version, and from is nil the next time. The versions in memory are one at a time.
func (l *Log) Follow(ctx context.Context, from, to *State, k Keeper) error {
	if to.continues(from) {
		err := l.followOn(ctx, from, to, k)
		if err == nil || !errors.Is(err, fs.ErrNotExist) && !errcode.Has(err, errcode.TableLog) {
			return err
		}
	}
	_, err := l.replay(ctx, -1, to.Version, false, func() func(*action.Action) {
		k.Begin()
		return func(a *action.Action) {
			if a.Add != nil || a.Remove != nil {
				k.Take(a)
			}
		}
	})
	return err
}

// continues reports whether a state was made from an earlier one, version by version: then no clean-up of the log came between, after which something else may have
// landed in the place of a version (T4), for after that a state is read afresh.
func (s *State) continues(from *State) bool {
	if from == nil || from.Version > s.Version || from.base != s.base || from.Metadata.ID != s.Metadata.ID {
		return false
	}
	return from.Version < s.Version || from.tip == s.tip
}

// followOn shows the versions after from, up to that of to.
func (l *Log) followOn(ctx context.Context, from, to *State, k Keeper) error {
	tip := from.tip
	for v := from.Version + 1; v <= to.Version; v++ {
		e, err := l.entry(ctx, v)
		if err != nil {
			return err
		}
		tip = e.tip()
		for i := range e.actions {
			if _, ok := fileOf(&e.actions[i]); ok {
				k.Take(&e.actions[i])
			}
		}
	}
	if tip != to.tip {
		return errcode.TableLog.New(l.store.URL()+"/"+l.format.CommitKey(to.Version), "the entry is not the one that stood there before")
	}
	return nil
}
