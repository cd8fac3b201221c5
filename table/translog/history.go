package translog

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"microbatch/table/action"
)

// Commit describes one version.
type Commit struct {
	Version int64
	Time    time.Time
	Info    *action.CommitInfo // nil if the writer left none
	Actions []action.Action
}

// Files counts the data files that the commit added and removed, and the rows of those added as far as statistics tell.
func (c *Commit) Files() (added, removed int, rows int64) {
	for i := range c.Actions {
		switch a := &c.Actions[i]; {
		case a.Add != nil:
			added++
			rows += max(0, a.Add.Rows())
		case a.Remove != nil:
			removed++
		}
	}
	return added, removed, rows
}

// History shows the commits that the log still has, newest first, for as long as more wants another after each. None is kept: a log may hold years.
func (l *Log) History(ctx context.Context, more func(*Commit) bool) error {
	found, err := l.list(ctx, 0, Latest)
	if err != nil {
		return err
	}
	for _, v := range slices.Backward(found.versions()) {
		actions, _, err := l.Read(ctx, v)
		if errors.Is(err, fs.ErrNotExist) { // cleaned up since the listing
			return nil
		}
		if err != nil {
			return err
		}
		c := Commit{Version: v, Time: found.commits[v].Modified, Info: commitInfo(actions), Actions: actions}
		if c.Info != nil && c.Info.Timestamp > 0 {
			c.Time = time.UnixMilli(c.Info.Timestamp)
		}
		if !more(&c) {
			return nil
		}
	}
	return nil
}
