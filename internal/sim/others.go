package sim

import (
	"context"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"microbatch/engine"
	"microbatch/ident"
	"microbatch/internal/sim/world"
	"microbatch/schema"
	"microbatch/table"
	"microbatch/table/action"
	"microbatch/table/datafile"
	"microbatch/table/maintain"
	"microbatch/table/translog"
)

// What a maintenance process does.
const (
	checkpointing = iota
	optimizing
	vacuuming
	cleaning
	upkeeps
)

// keepUp starts a process that does maintenance.
func (s *simulation) keepUp(what int) {
	s.spawn("upkeep", maintaining, func(ctx context.Context, a *actor) error {
		t, err := s.open(ctx, a)
		if err != nil {
			return err
		}
		switch what {
		case checkpointing:
			_, err = t.Log().WriteCheckpoint(ctx, t.Snapshot().State())
		case optimizing:
			_, err = t.Optimize(ctx, maintain.OptimizeOptions{Alloc: a.alloc, Force: true})
		case vacuuming:
			_, err = t.Vacuum(ctx, maintain.VacuumOptions{Retain: new(translog.MinRetention)})
		case cleaning:
			_, err = t.CleanLog(ctx)
		}
		return err
	})
}

func (s *simulation) open(ctx context.Context, a *actor) (*table.Table, error) {
	return table.Open(ctx, a.Store(world.Table, s.world.Mount(world.Table)), table.Options{Now: a.now})
}

// What a foreign writer does.
const (
	appending = iota
	deleting
	widening
	writings
)

// foreignOperation is how the commits of foreign writers name themselves.
const foreignOperation = "FOREIGN"

// write starts a foreign writer.
func (s *simulation) write(what int) {
	chance := s.random.IntN(1 << 20)
	if s.Mode == "deduplicate" && what == deleting { // a key that is gone is new again: package checker is told the input alone, and cannot say
		what = appending
	}
	s.spawn("foreign", maintaining, func(ctx context.Context, a *actor) error {
		t, err := s.open(ctx, a)
		if err != nil {
			return err
		}
		var actions []action.Action
		snap := t.Snapshot()
		switch what {
		case appending:
			actions, err = appendRows(ctx, a, t, snap, chance)
		case deleting:
			actions, err = deleteFile(ctx, a, snap, chance)
		case widening:
			actions, err = widen(snap, chance)
		}
		if err != nil || len(actions) == 0 {
			return err
		}
		_, err = t.Commit(ctx, snap, translog.Change{Info: action.CommitInfo{Operation: foreignOperation}, Actions: actions})
		return err
	})
}

func appendRows(ctx context.Context, a *actor, t *table.Table, snap *table.Snapshot, chance int) (out []action.Action, err error) {
	stage := datafile.NewStage(t.Log().Store(), datafile.Spec{
		Name: datafile.Name{Prefix: datafile.PrefixPart, Owner: "foreign", Attempt: ident.NewAttempt()}, Schema: snap.Schema(), PartitionBy: snap.PartitionBy(), Alloc: a.alloc, Now: a.now,
	})
	b := array.NewRecordBuilder(a.alloc, snap.Schema())
	defer b.Release()
	for i := range 2 {
		for n, f := range snap.Schema().Fields() {
			if f.Name == "id" {
				b.Field(n).(*array.StringBuilder).Append(fmt.Sprintf("foreign-%s-%d-%d", a.Name, chance, i))
			} else {
				b.Field(n).AppendNull()
			}
		}
	}
	rec := b.NewRecordBatch()
	defer rec.Release()
	if err := stage.Write(ctx, rec); err != nil {
		return nil, err
	}
	adds, err := stage.Finish(ctx)
	for _, add := range adds {
		out = append(out, action.Action{Add: add})
	}
	return out, err
}

func deleteFile(ctx context.Context, a *actor, snap *table.Snapshot, chance int) ([]action.Action, error) {
	files, err := snap.Files(ctx)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	return []action.Action{{Remove: files[chance%len(files)].Tombstone(a.now().UnixMilli(), true)}}, nil
}

// widen adds a column.
func widen(snap *table.Snapshot, chance int) ([]action.Action, error) {
	wider := arrow.NewSchema(append(snap.Schema().Fields(), arrow.Field{Name: fmt.Sprint("wide", chance), Type: arrow.BinaryTypes.String, Nullable: true}), nil)
	text, err := schema.ToDelta(wider)
	if err != nil {
		return nil, err
	}
	metadata := snap.State().Metadata
	metadata.Schema = text
	return []action.Action{{Metadata: &metadata}}, nil
}

// What happens to a checkpoint.
const (
	tearLast = iota
	loseLast
	loseCommit
	loseOlder
	damages
)

// damage ends all processes and harms the checkpoint in a way that repair can mend; no driver starts before that is done.
func (s *simulation) damage(how int) {
	s.killAll()
	store, last := s.world.Mount(world.Checkpoint), int64(-1)
	for info, err := range store.List(context.Background(), "offsets/", "") {
		var id int64
		if _, scanErr := fmt.Sscanf(strings.TrimPrefix(info.Key, "offsets/"), "%d", &id); err == nil && scanErr == nil {
			last = max(last, id)
		}
	}
	if last < 3 {
		return
	}
	key := fmt.Sprintf("offsets/%d", last)
	switch how {
	case loseCommit:
		key = fmt.Sprintf("commits/%d", last-1)
	case loseOlder:
		key = fmt.Sprintf("offsets/%d", last-2)
	}
	var err error
	if how == tearLast {
		var data []byte
		if data, err = store.Get(context.Background(), key); err == nil {
			err = store.Put(context.Background(), key, data[:len(data)/2])
		}
	} else {
		err = store.Delete(context.Background(), key)
	}
	delete(s.acked, world.Checkpoint+"/"+key)
	s.note("%s is harmed: %v", key, err)
	s.broken = true
}

// mend starts a repair.
func (s *simulation) mend() {
	s.repair = s.spawn("repair", maintaining, func(ctx context.Context, a *actor) error {
		return s.query(a, false).Repair(ctx, engine.Repair{Step: func(string) {}})
	})
}
