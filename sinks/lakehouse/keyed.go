package lakehouse

import (
	"context"
	"path"
	"sync/atomic"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"microbatch/sinks"
	"microbatch/table"
	"microbatch/table/action"
	"microbatch/table/datafile"
	"microbatch/table/merge"
)

// prepareKeyed stages a batch whose rows are matched with those of the table: first all of the batch is collected, then it is put into the newest version.
func (s *Sink) prepareKeyed(ctx context.Context, t *table.Table, p *pending) error {
	rule, err := s.cfg.Merge.rule(p.batch.Schema, s.cfg.PartitionBy, s.cfg.URL)
	if err != nil {
		return err
	}
	rule.TempDir, rule.Alloc, rule.MaxBytes = s.cfg.TempDir, s.cfg.Alloc, s.cfg.MaxKeyBytes
	rows := merge.NewBatch(rule)
	defer rows.Close()
	if err := s.pull(ctx, p, func(_ context.Context, part int, rec arrow.RecordBatch) error { return rows.Add(part, rec) }); err != nil {
		return err
	}
	if err := rows.Resolve(ctx); err != nil {
		return err
	}
	if p.snap, err = s.latest(ctx, t); err != nil {
		return err
	}
	if err := s.newStage(p, merge.Without(p.batch.Schema, s.cfg.Merge.OperationColumn)); err != nil {
		return err
	}
	files, err := s.live.to(ctx, t, p.snap, p.schema, s.cfg.Merge.keys())
	if err != nil {
		return err
	}
	target := &merge.Target{
		Store: s.cfg.Store, Schema: p.schema, PartitionBy: p.snap.PartitionBy(), Batch: rows, Parallel: s.cfg.Parallel, Alloc: s.cfg.Alloc,
	}
	p.sees = target.MayHold
	may := files.For(target)
	if s.cfg.Merge.Mode == Upsert {
		err = s.upsert(ctx, p, target, may)
	} else {
		err = s.deduplicate(ctx, p, target, may)
	}
	if err != nil {
		return err
	}
	p.adds, err = p.stage.Finish(ctx)
	return err
}

// upsert rewrites the files that hold keys of the batch without those rows, and writes the batch's.
func (s *Sink) upsert(ctx context.Context, p *pending, target *merge.Target, may []*action.Add) (err error) {
	if p.replaced, err = target.Holding(ctx, may); err != nil {
		return err
	}
	var copied atomic.Int64
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(s.cfg.Parallel)
	for _, files := range merge.Groups(p.replaced, s.cfg.TargetFileBytes) {
		dir, err := s.directory(files[0])
		if err != nil {
			return err
		}
		place := p.stage.Place(dir, files[0].PartitionValues)
		group.Go(func() error {
			n, err := target.Rewrite(gctx, files, place)
			copied.Add(n)
			if err != nil {
				return err
			}
			return place.End(gctx)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := s.stageRows(ctx, p, target.Batch.Upserts); err != nil {
		return err
	}
	r := target.Batch.Result()
	p.rows, p.dropped = target.Batch.Keys(), target.Batch.Rows()-target.Batch.Keys()
	p.changes = &sinks.Changes{Inserted: r.Inserted, Updated: r.Updated, Deleted: r.TakenOut, Unchanged: r.Absent}
	p.merged = mergeMetrics{Result: r, copied: copied.Load()}
	return nil
}

// directory is where the files of a file's partition are, with a slash at its end.
func (s *Sink) directory(add *action.Add) (string, error) {
	key, err := datafile.Key(s.cfg.Store, add.Path)
	if err != nil {
		return "", err
	}
	return directoryOf(path.Clean(key)), nil
}

// deduplicate writes the rows whose keys the table does not have.
func (s *Sink) deduplicate(ctx context.Context, p *pending, target *merge.Target, may []*action.Add) (err error) {
	if p.read, err = target.Find(ctx, may); err != nil {
		return err
	}
	if err := s.stageRows(ctx, p, target.Batch.Unknown); err != nil {
		return err
	}
	p.rows = target.Batch.Result().Inserted
	p.dropped = target.Batch.Rows() - p.rows
	p.changes = &sinks.Changes{Inserted: p.rows}
	return nil
}

// stageRows writes what a walk over the batch shows, several records at once.
func (s *Sink) stageRows(ctx context.Context, p *pending, walk func(context.Context, func(arrow.RecordBatch) error) error) error {
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(s.cfg.Parallel)
	err := walk(gctx, func(rec arrow.RecordBatch) error {
		rec.Retain()
		group.Go(func() error {
			defer rec.Release()
			return p.stage.Write(gctx, rec)
		})
		return nil
	})
	if failed := group.Wait(); failed != nil {
		return failed
	}
	return err
}
