package translog

import (
	"context"
	"errors"
	"io/fs"

	"microbatch/internal/errcode"
)

// Stands makes sure that the newest entry of a state is still what it was: else the log is another one (errcode.TableReplaced, TableLog). Of an entry that was just
// put behind a fresh state it makes sure that this stood: if somebody has removed the table meanwhile, what shows it is not our own entry (TableHole).
func (l *Log) Stands(ctx context.Context, s *State) error {
	if s.before != nil && l.fresh(s) {
		return l.follows(ctx, s.before, l.store.URL()+"/"+l.format.CommitKey(s.Version))
	}
	_, err := l.stands(ctx, s)
	return err
}

// stands is Stands. If the entry was cleaned up, now is the newest state, read afresh: what stands behind the place of the entry may be no part of the log, but have landed
// there after the clean-up (T4).
func (l *Log) stands(ctx context.Context, s *State) (now *State, err error) {
	if s.tip == "" {
		return nil, nil
	}
	tip, err := l.readTip(ctx, s.Version)
	if errors.Is(err, fs.ErrNotExist) {
		return l.sameTable(ctx, s) // cleaned up, or gone with the table
	}
	if err != nil {
		return nil, err
	}
	return nil, l.sameTip(ctx, s, tip)
}

// sameTip compares the entry that stands at a state's version, by its tip, with the one that the state was read from.
func (l *Log) sameTip(ctx context.Context, s *State, tip string) error {
	if s.tip == "" || s.tip == tip {
		return nil
	}
	if _, err := l.sameTable(ctx, s); err != nil {
		return err
	}
	return errcode.TableLog.New(l.store.URL()+"/"+l.format.CommitKey(s.Version), "the entry is not the one that stood there before: the log was restored or rewritten")
}

// sameTable makes sure that the table of a state still stands, and returns its newest state.
func (l *Log) sameTable(ctx context.Context, s *State) (now *State, err error) {
	now, err = l.Load(ctx, Latest)
	if errors.Is(err, fs.ErrNotExist) || errcode.Has(err, errcode.TableLog) {
		return nil, errcode.TableReplaced.Wrap(err, l.store.URL(), "its log is gone")
	}
	if err != nil {
		return nil, err
	}
	if now.Metadata.ID != s.Metadata.ID {
		return nil, errcode.TableReplaced.New(l.store.URL(), "metaData.id was %s and is %s", s.Metadata.ID, now.Metadata.ID)
	}
	return now, nil
}

// follows makes sure that the entry at a key, which was put after a state, follows what the state was read from.
func (l *Log) follows(ctx context.Context, s *State, key string) error {
	tip, err := l.readTip(ctx, s.Version)
	if err == nil {
		return l.sameTip(ctx, s, tip)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	found, err := l.list(ctx, s.Version, s.Version)
	if err != nil {
		return err
	}
	if len(found.checkpoints) > 0 { // the checkpoint is all that clean-up by another program left of it
		return nil
	}
	if _, err := l.sameTable(ctx, s); err != nil {
		return err
	}
	return errcode.TableHole.New(key, "version %d is gone", s.Version)
}
