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
	metadata *action.Metadata // of the evolved schema, nil if the table's stays
	stage    *datafile.Stage
	adds     []*action.Add
	// unsure: the commit was begun, and it is not proven that it never lands. Then nothing is deleted (K5).
	unsure bool
}

// Staged counts what will become visible.
func (p *pending) Staged() sinks.Staged {
	st := sinks.Staged{Rows: p.stage.Rows(), Files: len(p.adds)}
	for _, a := range p.adds {
		st.Bytes += a.Size
	}
	return st
}

// Prepare writes the batch's rows to files that no version names yet.
func (s *Sink) Prepare(ctx context.Context, b *batch.Batch) (sinks.Pending, error) {
	t := s.opened()
	invariant.Check(t != nil, "Recover comes before Prepare")
	snap := t.Snapshot()
	merged, metadata, err := s.evolve(snap, b.Schema)
	if err != nil {
		return nil, err
	}
	p := &pending{batch: b, snap: snap, metadata: metadata}
	p.stage = datafile.NewStage(s.cfg.Store, datafile.Spec{
		Name:   datafile.Name{Prefix: datafile.PrefixPart, Owner: identityOf(s.query, s.cfg.AppSuffix).owner, Batch: b.ID, Attempt: b.Attempt},
		Schema: merged, Rows: b.Schema, PartitionBy: snap.PartitionBy(),
		Parquet: s.parquet, Indexed: snap.State().Property(datafile.IndexedColumns), TargetBytes: s.cfg.TargetFileBytes, TempDir: s.cfg.TempDir, Alloc: s.cfg.Alloc, Now: s.cfg.Now,
	})
	if err = s.pull(ctx, b, t, p); err == nil {
		p.adds, err = p.stage.Finish(ctx)
	}
	if err != nil {
		ctx, cancel := toDiscard(ctx)
		defer cancel()
		return nil, p.stage.Fail(ctx, err)
	}
	return p, nil
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

// pull writes all parts, several at once. Meanwhile it makes sure that the table is still there.
func (s *Sink) pull(ctx context.Context, b *batch.Batch, t *table.Table, p *pending) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(s.cfg.Parallel + 1)
	group.Go(func() error { return t.Log().Stands(ctx, p.snap.State()) })
	for _, part := range b.Parts {
		group.Go(func() error {
			for chunk, err := range part.Chunks(ctx) {
				if err != nil {
					return err
				}
				if chunk.Record != nil {
					err = p.stage.Write(ctx, chunk.Record)
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
