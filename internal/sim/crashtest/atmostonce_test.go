//go:build failpoints

package crashtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"microbatch/checker"
	"microbatch/checkpointlog"
	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/internal/sim/world"
)

// TestAtMostOnce lets processes of queries with delivery: at_most_once die at each operation, as the matrix does, and checks that no row comes twice, and that none is lost
// but those of whole batches that were recorded when their process died and not committed.
func TestAtMostOnce(t *testing.T) {
	all := []scenario{
		{name: "first batch", atMostOnce: true, rows: batchRows},
		{name: "ordinary batch", atMostOnce: true, history: batches(2), rows: batchRows},
		{name: "rejected rows", atMostOnce: true, bad: true, history: batches(1), rows: batchRows},
		{name: "pending batch", atMostOnce: true, bad: true, history: pendingRecord, rows: batchRows},
		{name: "lost batch", atMostOnce: true, bad: true, history: recordedAndLost, rows: batchRows},
		{name: "read ahead", atMostOnce: true, ahead: true, history: batches(1), rows: 3 * batchRows},
		{name: "shutdown before the record", atMostOnce: true, history: batches(1), shut: &point{"record", "at record.before"}, rows: batchRows},
		{name: "shutdown before the commit", atMostOnce: true, history: batches(1), shut: &point{"commit", "at commit.before"}, rows: batchRows},
	}
	m := &matrix{}
	m.sweepKinds(t, func(k sinkKind) []scenario {
		switch {
		case k.server, k.repeats, k.keyed:
			return nil
		case *fullSweep, k.common() && k.target == nil, k.name == "foreachbatch":
			return all
		}
		return slices.DeleteFunc(slices.Clone(all), func(s scenario) bool { // what the engine does is the same with each
			return s.name != "ordinary batch" && (s.name != "lost batch" || !k.common())
		})
	})
	lost := 0
	for _, r := range m.results {
		if r.Lost > 0 {
			lost++
		}
	}
	t.Logf("%d deaths, %d of them lost a batch", len(m.results), lost)
	if lost == 0 && !t.Failed() {
		t.Error("no death has lost a batch: none came between record and commit")
	}
}

// TestAtMostOnceIsRefused by a query whose sink repeats rows on its own.
func TestAtMostOnceIsRefused(t *testing.T) {
	for _, k := range sinkKinds {
		if !k.repeats {
			continue
		}
		l := newLife(t, &scenario{name: "refused", atMostOnce: true}, k)
		if _, err := l.run(newReaper(l, nil)); !errcode.Has(err, errcode.QueryIncomplete) {
			t.Errorf("%s: %v", k.name, err)
		}
	}
}

// pendingRecord is a query that died when its second batch, whose files were staged, was about to be recorded.
func pendingRecord(t *testing.T, l *life) {
	batches(1)(t, l)
	l.produce(batchRows)
	l.mustDie(t, point{"record", "at record.before"})
}

// recordedAndLost is a query that died twice between record and commit.
func recordedAndLost(t *testing.T, l *life) {
	batches(1)(t, l)
	for range 2 {
		l.produce(batchRows)
		l.mustDie(t, point{"commit", "at commit.before"})
	}
}

// mustDie runs a process that dies at a point.
func (l *life) mustDie(t *testing.T, p point) {
	t.Helper()
	r := newReaper(l, &death{point: p, n: 1, power: stays})
	if _, err := l.run(r); !r.dead {
		t.Fatalf("%s, %s: it did not die: %v", l.scenario.name, l.kind.name, err)
	}
	l.end(r)
	if err := l.noteLost(false); err != nil {
		t.Fatal(err)
	}
}

// noteLost notes the batches that the dead have recorded and not committed: no others may be lost. flying: the record of the last one may be on its way.
func (l *life) noteLost(flying bool) error {
	if !l.scenario.atMostOnce {
		return nil
	}
	there, err := l.thereNow()
	if err != nil {
		return err
	}
	recorded, err := checkpointlog.NewCheckpoint(l.Store(world.Checkpoint)).Commits.List(context.Background())
	if err != nil {
		return err
	}
	if flying {
		fixed, err := checkpointlog.NewCheckpoint(l.Store(world.Checkpoint)).Offsets.List(context.Background())
		if err != nil {
			return err
		}
		recorded = fixed
	}
	l.mayLack = maps.Clone(l.mayLack)
	for _, id := range recorded {
		if !there[id] {
			l.mayLack[id] = true
		}
	}
	return nil
}

// thereNow are the batches that have taken effect: that are in the table, or all of them in the target, or that were handed to the user's code.
func (l *life) thereNow() (map[ident.BatchID]bool, error) {
	there := map[ident.BatchID]bool{}
	switch target := l.Target().(type) {
	case nil:
	case *userCode:
		for id, calls := range target.given {
			there[id] = len(calls) > 0
		}
		return there, nil
	default:
		return l.thereIn(target)
	}
	report, err := checker.Check(context.Background(), checker.Input{Table: l.Store(world.Table), Checkpoint: l.Store(world.Checkpoint)})
	if err != nil {
		return nil, err
	}
	for _, b := range report.Batches {
		there[ident.BatchID(b.ID)] = b.Version >= 0
	}
	return there, nil
}

// thereIn are the batches of which all rows are in a target.
func (l *life) thereIn(target checker.Target) (map[ident.BatchID]bool, error) {
	ctx, c := context.Background(), checkpointlog.NewCheckpoint(l.Store(world.Checkpoint))
	rows, err := target.Rows(ctx)
	if err != nil {
		return nil, err
	}
	fixed, err := c.Offsets.List(ctx)
	if err != nil {
		return nil, err
	}
	there, from := map[ident.BatchID]bool{}, []string(nil)
	for _, id := range fixed {
		entry, err := c.ReadEntry(ctx, id)
		if err != nil {
			return nil, err
		}
		to := []string{string(entry.Offsets.Ends[0])}
		batch, err := l.Topic.Expect(from, to)
		if err != nil {
			return nil, err
		}
		there[id], from = !slices.ContainsFunc(batch.Out, func(row string) bool { return !slices.Contains(rows, row) }), to
	}
	return there, nil
}

// lacking are the recorded batches that are nowhere; an error if one is that nobody died with between record and commit.
func (l *life) lacking() (lacks []ident.BatchID, err error) {
	there, err := l.thereNow()
	if err != nil {
		return nil, err
	}
	recorded, err := checkpointlog.NewCheckpoint(l.Store(world.Checkpoint)).Commits.List(context.Background())
	if err != nil {
		return nil, err
	}
	for _, id := range recorded {
		if there[id] {
			continue
		}
		if lacks = append(lacks, id); !l.mayLack[id] {
			return lacks, fmt.Errorf("batch %d is lost; recorded and not committed when a process died were %v", id, slices.Sorted(maps.Keys(l.mayLack)))
		}
	}
	return lacks, nil
}
