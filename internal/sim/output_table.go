package sim

import (
	"errors"
	"fmt"
	"time"

	"microbatch/internal/sim/world"
	"microbatch/objstore"
	"microbatch/sinks"
	"microbatch/sinks/lakehouse"
)

// tableOutput is a table.
type tableOutput struct {
	s *simulation
	*witness
}

func newTableOutput(s *simulation) *tableOutput {
	t := &tableOutput{s: s, witness: newWitness(world.Table, s.Sink, func() objstore.Store { return s.world.Store(world.Table) })}
	t.replaces, t.totals = s.replaces(), s.Mode != ""
	s.referee = newReferee(s, func() int64 { return t.next })
	return t
}

func (t *tableOutput) sink(a *actor) sinks.Sink {
	c := lakehouse.Config{
		AllowReplacedFiles: true, SchemaEvolution: lakehouse.AddColumns, Maintenance: lakehouse.Maintenance{VacuumRetain: 48 * time.Hour}, Merge: t.s.merging(),
	}
	if t.s.PartitionBy != "" {
		c.PartitionBy = []string{t.s.PartitionBy}
	}
	return t.s.tableSink(a, world.Table, c)
}

// merging is the mode as the sink has it.
func (o options) merging() (m lakehouse.Merge) {
	order := []string{"id"}
	switch o.Mode {
	case "upsert":
		m = lakehouse.Merge{Mode: lakehouse.Upsert, Keys: []string{o.Key}, OrderBy: order}
	case "deduplicate":
		m = lakehouse.Merge{DeduplicateBy: []string{o.Key}, OrderBy: order}
	case "overwrite":
		m = lakehouse.Merge{Mode: lakehouse.Overwrite}
	}
	return m
}

func (t *tableOutput) newest() int64 { return t.batch }

func (t *tableOutput) look() error {
	if err := t.advance(t.check); err != nil {
		return err
	}
	return t.s.referee.look(false)
}

// check compares a batch with the model.
func (t *tableOutput) check(id int64, b landed) error {
	if err := t.s.follows(id, t.was); err != nil {
		return err
	}
	e, err := t.s.expected(id, b.text)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("batch %d", id)
	if err := t.compare(what, b, e.made); err != nil {
		if !t.s.changed || t.compare(what, b, e.changed) != nil {
			return err
		}
	}
	return t.s.hasRejected(id, e)
}

// compare holds a batch, or the table before and after it, against the model.
func (t *tableOutput) compare(what string, b landed, made []made) error {
	if t.s.Mode == "" {
		return sameRows(what, b.rows, setOf(made))
	}
	before := state{}
	for _, text := range b.before {
		before[text] = keyOf(text, t.s.Key)
	}
	return sameRows("the table after "+what, b.after, t.s.merge(before, made))
}

func (t *tableOutput) powerLost() error {
	t.s.referee.powerLost()
	return t.witness.powerLost()
}

func (t *tableOutput) verdict() error {
	if err := errors.Join(t.unchanged(), t.whole()); err != nil {
		return err
	}
	if err := t.s.referee.finish(); err != nil {
		return err
	}
	if orphans := t.s.referee.orphans(); t.s.Sink == "parquet" && !t.s.littered && len(orphans) > 0 {
		return fmt.Errorf("files that no version names are left: %v", orphans)
	}
	if t.s.Mode != "" || t.s.AtMostOnce { // each version was held against the model as a whole, or lacks batches
		return nil
	}
	e, err := t.s.expect(t.s.in, nil, t.s.ends[t.batch])
	if err != nil {
		return err
	}
	if n := t.count(); n != len(e.made)+t.foreign {
		return fmt.Errorf("%d rows in the end, %d should be there, and %+d by foreign writers", n, len(e.made), t.foreign)
	}
	return nil
}
