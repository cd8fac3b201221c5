package translog

import (
	"context"
	"errors"
	"slices"

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
		err := l.readCheckpoint(ctx, c, false, func(*action.Action) {})
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
	bases[0] = len(versions) > 0 && versions[0] == 0
	for v := range found.newest + 1 {
		if bases[v] {
			oldest = v
			break
		}
	}
	for v := max(oldest, 0) + 1; v <= found.newest; v++ {
		if _, ok := slices.BinarySearch(versions, v); !ok && oldest >= 0 {
			problems[l.format.CommitKey(v)] = "the entry is missing, but later ones exist"
		}
	}
	return problems, oldest, nil
}

// note keeps an error that says that a file is damaged, and returns any other.
func note(problems map[string]string, key string, err error) error {
	if e, ok := errors.AsType[*errcode.Error](err); ok && e.Code.ID == errcode.TableLog.ID {
		problems[key] = e.Error()
		return nil
	}
	return err
}
