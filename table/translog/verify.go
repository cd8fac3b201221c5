package translog

import (
	"context"
	"errors"

	"microbatch/internal/errcode"
	"microbatch/table/action"
)

// Verify reads every file of the log and returns what is wrong, by key, and the oldest version that can be read (-1: none). Entries that the log's clean-up
// may have deleted are not missed.
func (l *Log) Verify(ctx context.Context) (problems map[string]string, oldest int64, err error) {
	problems, oldest = map[string]string{}, -1
	found, err := l.list(ctx, 0, Latest)
	if err != nil {
		return nil, -1, err
	}
	bases := map[int64]bool{} // versions that can be read without an earlier one
	for i := range found.checkpoints {
		c := &found.checkpoints[i]
		err := l.readCheckpoint(ctx, c, false, func(*action.Action) error { return nil })
		if err = note(problems, c.files[0].Key, err); err != nil {
			return nil, -1, err
		}
		bases[c.version] = problems[c.files[0].Key] == ""
	}
	versions := found.versions()
	for _, v := range versions {
		_, _, err := l.Read(ctx, v)
		if err = note(problems, l.format.CommitKey(v), err); err != nil {
			return nil, -1, err
		}
	}
	return problems, l.oldest(found, bases, problems), nil
}

// oldest is the first version from which on all can be read. If the newest cannot, it is -1, and the entries that it lacks are problems. A gap that a later
// checkpoint covers is what clean-up by other programs leaves.
func (l *Log) oldest(found *listing, bases map[int64]bool, problems map[string]string) int64 {
	oldest, readable := int64(-1), false
	var missing []int64
	for v := found.first(); v <= found.newest; v++ {
		_, present := found.commits[v]
		readable = bases[v] || present && (readable || v == 0)
		switch {
		case !readable:
			oldest = -1
			if !present {
				missing = append(missing, v)
			}
		case oldest < 0:
			oldest, missing = v, nil
		}
	}
	for _, v := range missing {
		problems[l.format.CommitKey(v)] = "the entry is missing, but later ones exist"
	}
	return oldest
}

// note keeps an error that says that a file is damaged, and returns any other.
func note(problems map[string]string, key string, err error) error {
	if e, ok := errors.AsType[*errcode.Error](err); ok && e.Code.ID == errcode.TableLog.ID {
		problems[key] = e.Error()
		return nil
	}
	return err
}
