package translog

import (
	"context"
	"maps"
	"slices"

	"microbatch/table/action"
)

// changes are what the entries behind a checkpoint have done to files. Their names alone are in memory: a few hundred bytes of statistics each are not, and are read
// again by each.
type changes struct {
	state *State
	last  map[action.FileKey]int // the newest action on each file, by its number
	paths map[string]bool        // of all files
	// each shows the newest action on each file.
	each func(ctx context.Context, show func(*action.Action) error) error
}

// file reports whether something was done to a file.
func (c *changes) file(key action.FileKey) bool { return c.last[key] > 0 }

// take numbers the actions on files.
func (c *changes) take(a *action.Action, number *int) {
	if key, ok := fileOf(a); ok {
		*number++
		c.last[key] = *number
		c.paths[key.Path] = true
	}
}

// fileOf is the file that an action is on; ok false: on none.
func fileOf(a *action.Action) (key action.FileKey, ok bool) {
	switch {
	case a.Add != nil:
		return a.Add.Key(), true
	case a.Remove != nil:
		return a.Remove.Key(), true
	}
	return key, false
}

// changes replays the log at a version, without the files of the checkpoint that it begins with (changes.state.base). from: see replay.
func (l *Log) changes(ctx context.Context, from, at int64) (*changes, error) {
	c := &changes{}
	var err error
	c.state, err = l.replay(ctx, from, at, true, func() func(*action.Action) {
		c.last, c.paths = map[action.FileKey]int{}, map[string]bool{}
		number := 0
		return func(a *action.Action) { c.take(a, &number) }
	})
	if err != nil {
		return nil, err
	}
	c.each = func(ctx context.Context, show func(*action.Action) error) error { return l.newest(ctx, c, show) }
	return c, nil
}

// newest reads the entries once more, and shows those actions on files that no later one replaces.
func (l *Log) newest(ctx context.Context, c *changes, show func(*action.Action) error) error {
	number := 0
	for v := c.state.begin(); v <= c.state.Version; v++ {
		actions, _, err := l.Read(ctx, v)
		if err != nil {
			return err
		}
		for i := range actions {
			key, ok := fileOf(&actions[i])
			if !ok {
				continue
			}
			if number++; c.last[key] != number {
				continue
			}
			if err := show(&actions[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// allOf are all files as changes: for a checkpoint that is made from no other.
func allOf(files *Files) *changes {
	c := &changes{state: files.State, last: map[action.FileKey]int{}, paths: map[string]bool{}}
	c.each = func(_ context.Context, show func(*action.Action) error) error {
		for _, key := range slices.SortedFunc(maps.Keys(files.Removed), action.FileKey.Compare) {
			if err := show(&action.Action{Remove: files.Removed[key]}); err != nil {
				return err
			}
		}
		for _, a := range files.InLogOrder() {
			if err := show(&action.Action{Add: a}); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}
