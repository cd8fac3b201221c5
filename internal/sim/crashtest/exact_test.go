//go:build failpoints

package crashtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/checker"
	"microbatch/checkpointlog"
	"microbatch/ident"
	"microbatch/internal/sim/world"
	"microbatch/table"
)

// exact fails unless everything that was produced is where it belongs, once. lax: an attempt may have left files, because one of its writes landed long after it.
func (l *life) exact(lax bool) error {
	if err := l.allRecorded(); err != nil {
		return err
	}
	if l.kind.each {
		return l.exactCalls()
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

// allRecorded fails unless the checkpoint's logs are dense, equal, and end where the topic does.
func (l *life) allRecorded() error {
	ctx := context.Background()
	c := checkpointlog.NewCheckpoint(l.Store(world.Checkpoint))
	offsets, err := c.Offsets.List(ctx)
	if err != nil {
		return err
	}
	commits, err := c.Commits.List(ctx)
	if err != nil {
		return err
	}
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

// exactCalls: each batch was handed over at least once, each time with the rows of its range, or a part of them if the process died in the middle; rejected rows
// are in their table once.
func (l *life) exactCalls() error {
	ctx := context.Background()
	whole, err := l.Topic.Expect(nil, []string{string(world.FormatOffset(l.Topic.Ends))})
	if err != nil {
		return err
	}
	var given []string
	if l.scenario.atMostOnce {
		return l.exactCallsAtMostOnce()
	}
	for id := range ident.BatchID(len(l.given)) {
		calls := l.given[id]
		if len(calls) == 0 {
			return fmt.Errorf("batch %d was not handed over; handed over were %v", id, slices.Sorted(maps.Keys(l.given)))
		}
		last := calls[len(calls)-1]
		for n, rows := range calls {
			if foreign := slices.ContainsFunc(rows, func(row string) bool { return !slices.Contains(last, row) }); foreign || len(rows) != len(last) && len(rows) != len(last)/2 {
				return fmt.Errorf("batch %d was handed over with %v, and at call %d with %v", id, last, n, rows)
			}
		}
		given = append(given, last...)
	}
	if err := same("rows", given, whole.Out); err != nil {
		return err
	}
	rejected, err := column(ctx, l, "position")
	if err != nil {
		return err
	}
	return same("rejected rows", rejected, whole.Rejected)
}

func same(what string, have, want []string) error {
	have, want = slices.Sorted(slices.Values(have)), slices.Sorted(slices.Values(want))
	if !slices.Equal(have, want) {
		return fmt.Errorf("%s: have %v, want %v", what, have, want)
	}
	return nil
}

// column reads a column of text of the table of rejected rows.
func column(ctx context.Context, l *life, name string) (values []string, err error) {
	t, err := table.Open(ctx, l.Store(world.Rejected), table.Options{})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for rec, err := range t.Snapshot().Read(ctx, []string{name}, memory.DefaultAllocator) {
		if err != nil {
			return nil, err
		}
		text := rec.Column(0).(*array.String)
		for i := range text.Len() {
			values = append(values, strings.Clone(text.Value(i)))
		}
		rec.Release()
	}
	return values, nil
}
