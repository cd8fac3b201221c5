package lakehouse

import (
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"golang.org/x/sync/errgroup"

	"microbatch/batch"
	"microbatch/internal/errcode"
	"microbatch/internal/invariant"
	"microbatch/schema"
	"microbatch/sinks"
	"microbatch/table"
	"microbatch/table/action"
	"microbatch/table/datafile"
)

// pending is a staged batch.
type pending struct {
	batch    *batch.Batch
	snap     *table.Snapshot  // what it was prepared on
	schema   *arrow.Schema    // of the table with the batch
	metadata *action.Metadata // of the evolved schema, nil if the table's stays
	stage    *datafile.Stage  // nil before the schema is known
	adds     []*action.Add

	rows     int64                  // of the batch that take effect
	dropped  int64                  // of the batch that take none: others of their key count, or the table has them
	changes  *sinks.Changes         // of rows with keys; nil: they have none
	replaced []*action.Add          // files that the commit takes out of the table
	read     []*action.Add          // files that stay and that the batch was matched with
	sees     func(*action.Add) bool // translog.Change.Sees
	merged   mergeMetrics

	// unsure: the commit was begun, and it is not proven that it never lands. Then nothing is deleted (K5).
	unsure bool
}

// Staged counts what will become visible.
func (p *pending) Staged() sinks.Staged {
	st := sinks.Staged{Rows: p.rows, Dropped: p.dropped, Changes: p.changes, Files: len(p.adds)}
	for _, a := range p.adds {
		st.Bytes += a.Size
	}
	return st
}

// Prepare writes the batch's rows to files that no version names yet.
func (s *Sink) Prepare(ctx context.Context, b *batch.Batch) (sinks.Pending, error) {
	t := s.opened()
	invariant.Check(t != nil, "Recover comes before Prepare")
	p := &pending{batch: b, snap: t.Snapshot()}
	err := s.prepare(ctx, t, p)
	if err != nil && p.stage != nil {
		ctx, cancel := toDiscard(ctx)
		defer cancel()
		return nil, p.stage.Fail(ctx, err)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// prepare stages the rows. Meanwhile, also while the file of a small batch goes to the store, it makes sure that the table is still there.
func (s *Sink) prepare(ctx context.Context, t *table.Table, p *pending) error {
	state := p.snap.State()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return t.Log().Stands(ctx, state) })
	group.Go(func() error { return s.prepareRows(ctx, t, p) })
	return group.Wait()
}

func (s *Sink) prepareRows(ctx context.Context, t *table.Table, p *pending) error {
	if s.cfg.Merge.keyed() {
		return s.prepareKeyed(ctx, t, p)
	}
	if err := s.newStage(p, p.batch.Schema); err != nil {
		return err
	}
	err := s.pull(ctx, p, func(ctx context.Context, _ int, rec arrow.RecordBatch) error { return p.stage.Write(ctx, rec) })
	if err == nil {
		p.adds, err = p.stage.Finish(ctx)
	}
	if err != nil {
		return err
	}
	p.rows = p.stage.Rows()
	if s.cfg.Merge.replaces() {
		return s.replaceFiles(ctx, t, p)
	}
	return nil
}

// newStage begins to stage rows of a schema for the table as it is in p.snap.
func (s *Sink) newStage(p *pending, rows *arrow.Schema) (err error) {
	if p.schema, p.metadata, err = s.evolve(p.snap, rows); err != nil {
		return err
	}
	p.stage = datafile.NewStage(s.cfg.Store, datafile.Spec{
		Name:   datafile.Name{Prefix: datafile.PrefixPart, Owner: identityOf(s.query, s.cfg.AppSuffix).owner, Batch: p.batch.ID, Attempt: p.batch.Attempt},
		Schema: p.schema, Rows: rows, PartitionBy: p.snap.PartitionBy(),
		Parquet: s.parquet, Indexed: p.snap.State().Property(datafile.IndexedColumns), TargetBytes: s.cfg.TargetFileBytes, TempDir: s.cfg.TempDir, Alloc: s.cfg.Alloc, Now: s.cfg.Now,
	})
	return nil
}

// evolve is the schema of the files to write, and the metaData of a table that gets new columns.
func (s *Sink) evolve(snap *table.Snapshot, rows *arrow.Schema) (*arrow.Schema, *action.Metadata, error) {
	merged, err := s.merged(snap, rows)
	if err != nil || merged == snap.Schema() {
		return merged, nil, err
	}
	text, err := schema.ToDelta(merged)
	if err != nil {
		return nil, nil, errcode.TableColumn.Wrap(err, s.cfg.URL, "")
	}
	metadata := snap.State().Metadata // same id, same createdTime
	metadata.Schema = text
	return merged, &metadata, nil
}

// pull takes the rows of all parts, several at once.
func (s *Sink) pull(ctx context.Context, p *pending, take func(ctx context.Context, part int, rec arrow.RecordBatch) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(s.cfg.Parallel)
	for n, part := range p.batch.Parts {
		group.Go(func() error {
			for chunk, err := range part.Chunks(ctx) {
				if err != nil {
					return err
				}
				if chunk.Record != nil {
					err = take(ctx, n, chunk.Record)
				}
				chunk.Release()
				if err != nil {
					return err
				}
			}
			return ctx.Err()
		})
	}
	return group.Wait()
}

// discardTime bounds the deletion of staged files after the work's own context has ended.
const discardTime = 20 * time.Second

func toDiscard(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), discardTime)
}

func discard(ctx context.Context, stage *datafile.Stage) error {
	ctx, cancel := toDiscard(ctx)
	defer cancel()
	return stage.Abort(ctx)
}

// Abort deletes the staged files, unless they may have become part of the table.
func (s *Sink) Abort(ctx context.Context, p sinks.Pending) error {
	if p := p.(*pending); !p.unsure {
		return discard(ctx, p.stage)
	}
	return nil
}
