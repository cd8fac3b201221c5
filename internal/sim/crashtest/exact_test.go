//go:build failpoints

package crashtest

import (
	"context"
	"fmt"
	"slices"

	"microbatch/checker"
	"microbatch/checkpointlog"
	"microbatch/ident"
	"microbatch/internal/sim/kafkamodel"
	"microbatch/internal/sim/world"
)

// exact fails unless everything that was produced is where it belongs, once. lax: an attempt may have left files, because one of its writes landed long after it.
func (l *life) exact(lax bool) error {
	if err := l.allRecorded(); err != nil {
		return err
	}
	if l.Target() != nil {
		return l.exactTarget()
	}
	in := checker.Input{
		Table: l.Store(world.Table), Checkpoint: l.Store(world.Checkpoint), IDs: []string{"id"}, Model: l.expect,
		Orphan: func(checker.OrphanFile) bool { return lax || l.Format == "delta" || l.replaces() },
	}
	if l.scenario.bad {
		in.Rejected = l.Store(world.Rejected)
	}
	report, err := checker.Check(context.Background(), in)
	if err == nil {
		err = report.Err()
	}
	return err
}

// replaces: files that optimize has replaced, and its own that it did not live to commit, stay until vacuum.
func (l *life) replaces() bool { return l.scenario.sink.Maintenance.OptimizeEvery > 0 }

// allRecorded fails unless the checkpoint's logs are dense, equal, and end where the topic does. What was purged does not count: after a loss of power it may be back in one
// of them.
func (l *life) allRecorded() error {
	ctx := context.Background()
	c := checkpointlog.NewCheckpoint(l.Store(world.Checkpoint))
	logs, err := c.List(ctx)
	if err != nil {
		return err
	}
	purged := func(id ident.BatchID) bool { return id <= logs.LowWatermark }
	offsets, commits := slices.DeleteFunc(logs.Offsets, purged), slices.DeleteFunc(logs.Commits, purged)
	if !slices.Equal(offsets, commits) || len(offsets) == 0 {
		return fmt.Errorf("offsets %v, commits %v", offsets, commits)
	}
	first, last := offsets[0], offsets[len(offsets)-1]
	if int(last-first)+1 != len(offsets) {
		return fmt.Errorf("offsets have a hole: %v", offsets)
	}
	entry, err := c.ReadEntry(ctx, last)
	if err != nil {
		return err
	}
	if want := world.FormatOffset(l.Topic.Ends); entry.Offsets.Ends[0] != want {
		return fmt.Errorf("the last batch ends at %s, the topic at %s", entry.Offsets.Ends[0], want)
	}
	return nil
}

// exactTarget: the target's position is that of the checkpoint, and each row is there once, unless the sink brings a batch again, or the query delivers at most once;
// rejected rows are in their table once.
func (l *life) exactTarget() error {
	in := checker.TargetInput{Target: l.Target(), Checkpoint: l.Store(world.Checkpoint), Model: l.expect, Keyed: l.kind.keyed, Twice: l.kind.twice}
	if l.scenario.bad {
		in.Rejected = l.Store(world.Rejected)
	}
	report, err := checker.CheckTarget(context.Background(), in)
	if err == nil {
		err = report.Err()
	}
	if err != nil {
		return err
	}
	switch target := l.Target().(type) {
	case *userCode:
		return target.exact(l)
	case *world.Files:
		if left := target.Staged(); len(left) > 0 {
			return fmt.Errorf("what is not visible was left: %v", left)
		}
	case *kafkamodel.Target:
		if ends := target.Progress(); !l.kind.twice && !l.scenario.atMostOnce && !slices.Equal(ends, l.Topic.Ends) {
			return fmt.Errorf("by the positions that were committed with the rows the source is at %v, the topic ends at %v", ends, l.Topic.Ends)
		}
	}
	return nil
}

func same(what string, have, want []string) error {
	have, want = slices.Sorted(slices.Values(have)), slices.Sorted(slices.Values(want))
	if !slices.Equal(have, want) {
		return fmt.Errorf("%s: have %v, want %v", what, have, want)
	}
	return nil
}
