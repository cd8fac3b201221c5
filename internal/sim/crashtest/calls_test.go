//go:build failpoints

package crashtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/array"

	"microbatch/checker"
	"microbatch/ident"
	"microbatch/internal/sim/gate"
	"microbatch/internal/sim/world"
	"microbatch/sinks"
	"microbatch/sinks/foreachbatch"
)

// userCode is a target that is a function of the user's: it takes the rows of a batch in two halves. It keeps nothing of what a query is, so a batch may come again; it is
// not for a reader to say what has come of its rows.
type userCode struct {
	given map[ident.BatchID][][]string // each call's rows, also of one that was cut off
}

func newUserCode() world.Target { return &userCode{map[ident.BatchID][][]string{}} }

func (u *userCode) Clone() world.Target { return &userCode{maps.Clone(u.given)} }

func (*userCode) Gone(string) {}

func (*userCode) Position(context.Context, string) (checker.Position, error) {
	return checker.Position{}, nil
}

func (*userCode) Rows(context.Context) ([]string, error) { return nil, errors.ErrUnsupported }

// Sink makes a call, and what happens in the middle of it, operations of the process.
func (u *userCode) Sink(p *gate.Process) sinks.Sink {
	s, err := foreachbatch.New(foreachbatch.Config{Func: func(ctx context.Context, b foreachbatch.Batch) error {
		return p.Do(ctx, world.Output, "call", b.ID.String(), func() error { return u.take(p, b) })
	}})
	if err != nil {
		panic(fmt.Sprintf("crashtest: %v", err)) // a mistake of the test
	}
	return s
}

// take is the user's code.
func (u *userCode) take(p *gate.Process, b foreachbatch.Batch) error {
	var rows []string
	reader, err := b.Rows()
	if err != nil {
		return err
	}
	defer reader.Release()
	for reader.Next() {
		ids := reader.RecordBatch().Column(0).(*array.String)
		for i := range ids.Len() {
			rows = append(rows, strings.Clone(ids.Value(i)))
		}
	}
	if err := reader.Err(); err != nil {
		return err
	}
	calls := slices.Clone(u.given[b.ID])
	u.given[b.ID] = append(calls, rows[:len(rows)/2])
	return p.Do(context.Background(), world.Output, "half", b.ID.String(), func() error {
		u.given[b.ID] = append(slices.Clone(calls), rows)
		return nil
	})
}

// exact: each batch was handed over at least once, each time with the rows of its range, or a part of them if the process died in the middle; of a query that delivers
// at most once, none a second time.
func (u *userCode) exact(l *life) error {
	whole, err := l.Topic.Expect(nil, []string{string(world.FormatOffset(l.Topic.Ends))})
	if err != nil {
		return err
	}
	if l.scenario.atMostOnce {
		return u.atMostOnce(whole)
	}
	var given []string
	for id := range ident.BatchID(len(u.given)) {
		calls := u.given[id]
		if len(calls) == 0 {
			return fmt.Errorf("batch %d was not handed over; handed over were %v", id, slices.Sorted(maps.Keys(u.given)))
		}
		last := calls[len(calls)-1]
		for n, rows := range calls {
			if foreign := slices.ContainsFunc(rows, func(row string) bool { return !slices.Contains(last, row) }); foreign || len(rows) != len(last) && len(rows) != len(last)/2 {
				return fmt.Errorf("batch %d was handed over with %v, and at call %d with %v", id, last, n, rows)
			}
		}
		given = append(given, last...)
	}
	return same("rows", given, whole.Out)
}

// atMostOnce: no batch was handed over a second time, and no row stands in two of them.
func (u *userCode) atMostOnce(whole checker.Expect) error {
	seen := map[string]bool{}
	for id, calls := range u.given {
		if len(calls) > 1 {
			return fmt.Errorf("batch %d was handed over %d times", id, len(calls))
		}
		for _, row := range calls[0] {
			if seen[row] || !slices.Contains(whole.Out, row) {
				return fmt.Errorf("row %s of batch %d is of no record, or came before", row, id)
			}
			seen[row] = true
		}
	}
	return nil
}
