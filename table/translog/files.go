package translog

import (
	"context"
	"maps"
	"slices"

	"microbatch/table/action"
)

// Files are the data files of a table at a version.
type Files struct {
	State *State
	Live  map[action.FileKey]*action.Add
	// Removed are the files that are no longer part of the table, as far as the log still knows. Old ones are forgotten by checkpoints.
	Removed map[action.FileKey]*action.Remove
	added   []*action.Add // all that were live at some time, in the order of the log
}

// Files replays the log at a version, or at the newest one (Latest), whole. The list of a table with many files is large; appending does not need it (T6).
func (l *Log) Files(ctx context.Context, at int64) (*Files, error) {
	f := &Files{}
	s, err := l.replay(ctx, -1, at, false, func() func(*action.Action) {
		f.Live, f.Removed, f.added = map[action.FileKey]*action.Add{}, map[action.FileKey]*action.Remove{}, nil
		return f.take
	})
	if err != nil {
		return nil, err
	}
	f.State = s
	return f, nil
}

// take lets one action replace what had its key.
func (f *Files) take(a *action.Action) {
	switch {
	case a.Add != nil:
		key := a.Add.Key()
		delete(f.Removed, key)
		f.Live[key] = a.Add
		f.added = append(f.added, a.Add)
	case a.Remove != nil:
		key := a.Remove.Key()
		delete(f.Live, key)
		f.Removed[key] = a.Remove
	}
}

// Sorted are the live files in order of their paths.
func (f *Files) Sorted() []*action.Add {
	return slices.SortedFunc(maps.Values(f.Live), func(a, b *action.Add) int { return a.Key().Compare(b.Key()) })
}

// InLogOrder are the live files in the order in which the log names them, which is always the same at one version. 100,000 files are not sorted by that, which
// takes a sixth of the time of reading their log.
func (f *Files) InLogOrder() []*action.Add {
	if len(f.added) == len(f.Live) {
		return f.added
	}
	return slices.DeleteFunc(slices.Clone(f.added), func(a *action.Add) bool { return f.Live[a.Key()] != a })
}
