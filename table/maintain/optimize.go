package maintain

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strconv"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/arrowparquet"
	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/internal/failpoint"
	"microbatch/schema"
	"microbatch/table/action"
	"microbatch/table/datafile"
	"microbatch/table/translog"
)

// OptimizeOptions say how files are joined. Zero values mean the defaults.
type OptimizeOptions struct {
	TargetBytes int64 // of the files to make; 128 MiB. Files above three quarters of it are left alone.
	Parquet     arrowparquet.Options
	TempDir     string
	Alloc       memory.Allocator
	// Force is needed for format parquet: plain Parquet readers see replaced files until they are vacuumed (errcode.TableForce).
	Force bool
}

// OptimizeResult counts what was done.
type OptimizeResult struct {
	Version       int64 // the newest that Optimize made, -1 if there was nothing to do
	Removed, Made int   // files
	BytesBefore   int64 // of the files removed
	BytesAfter    int64 // of the files made
	Rows          int64
}

// rounds is how often a plan is made anew after another writer was first.
const rounds = 5

// Optimize joins the small files of each partition, and drops rows that deletion vectors mark (N1).
func Optimize(ctx context.Context, log *translog.Log, o OptimizeOptions) (OptimizeResult, error) {
	total := OptimizeResult{Version: -1}
	if log.Format() == translog.Parquet && !o.Force {
		return total, errcode.TableForce.New(log.Store().URL(), "optimize replaces files")
	}
	if o.TargetBytes <= 0 {
		o.TargetBytes = 128 << 20
	}
	if o.Alloc == nil {
		o.Alloc = memory.DefaultAllocator
	}
	var err error
	for range rounds {
		if err = optimizeOnce(ctx, log, o, &total); !errcode.Has(err, errcode.TableConflict) {
			break
		}
	}
	return total, err
}

// optimizeOnce makes a plan and carries it out, one commit for each group of files.
func optimizeOnce(ctx context.Context, log *translog.Log, o OptimizeOptions, total *OptimizeResult) error {
	files, err := log.Files(ctx, translog.Latest)
	if err != nil {
		return err
	}
	if err := log.CheckWrite(files.State); err != nil {
		return err
	}
	table, err := schema.FromDelta(files.State.Metadata.Schema)
	if err != nil {
		return fmt.Errorf("optimize %s: %w", log.Store().URL(), err)
	}
	r := &rewriter{log: log, options: o, schema: table, state: files.State, attempt: ident.NewAttempt()}
	for _, group := range plan(files.Sorted(), o.TargetBytes) {
		if err := r.rewrite(ctx, group, total); err != nil {
			return err
		}
	}
	return nil
}

// rewriter replaces groups of files.
type rewriter struct {
	log     *translog.Log
	options OptimizeOptions
	schema  *arrow.Schema
	state   *translog.State
	attempt ident.Attempt
	groups  int64 // so far
}

// rewrite replaces the files of a group, all of one partition, by fewer.
func (r *rewriter) rewrite(ctx context.Context, group []*action.Add, total *OptimizeResult) error {
	key, err := datafile.Key(r.log.Store(), group[0].Path)
	if err != nil {
		return err
	}
	dir := path.Dir(key) + "/"
	if dir == "./" {
		dir = ""
	}
	stage := datafile.NewStage(r.log.Store(), datafile.Spec{
		Name: datafile.Name{
			Prefix: datafile.PrefixOptimize, Owner: datafile.OwnerOf(r.state.Metadata.ID, ident.Shard{}), Batch: ident.BatchID(r.groups), Attempt: r.attempt,
		},
		Schema: r.schema, PartitionBy: r.state.Metadata.PartitionBy,
		Parquet: r.options.Parquet, Indexed: r.state.Property(datafile.IndexedColumns), TargetBytes: r.options.TargetBytes, TempDir: r.options.TempDir, Alloc: r.options.Alloc, Now: r.log.Now,
	})
	r.groups++
	adds, err := r.copy(ctx, group, stage, stage.Place(dir, group[0].PartitionValues))
	if err != nil {
		return stage.Fail(context.WithoutCancel(ctx), err)
	}
	failpoint.Hit("optimize.before")
	// Always behind the state that the plan was made from: what others have removed since, also before the last group, is met on the way.
	state, err := r.log.Commit(ctx, r.state, r.change(group, adds))
	if errcode.Has(err, errcode.TableConflict) { // proven to be another's: what was staged is of no use to anyone
		return errors.Join(err, stage.Abort(context.WithoutCancel(ctx)))
	}
	if err != nil {
		return err
	}
	failpoint.Hit("optimize.after")
	total.Version = state.Version
	total.Removed += len(group)
	total.Made += len(adds)
	total.Rows += stage.Rows()
	for _, a := range group {
		total.BytesBefore += a.Size
	}
	for _, a := range adds {
		total.BytesAfter += a.Size
	}
	return nil
}

// copy writes the live rows of a group, and makes sure that none is missing.
func (r *rewriter) copy(ctx context.Context, group []*action.Add, stage *datafile.Stage, place *datafile.Place) ([]*action.Add, error) {
	reader := datafile.Reader{Store: r.log.Store(), Schema: datafile.FileSchema(r.schema, r.state.Metadata.PartitionBy), Alloc: r.options.Alloc}
	promised := int64(0)
	for _, add := range group {
		before := stage.Rows()
		for rec, err := range reader.Read(ctx, add) {
			if err == nil {
				err = place.Write(ctx, rec)
				rec.Release()
			}
			if err != nil {
				return nil, err
			}
		}
		if rows := add.Rows(); rows >= 0 && stage.Rows()-before != rows {
			return nil, errcode.TableFile.New(r.log.Store().URL()+"/"+add.Path, "it has %d rows and the log says %d", stage.Rows()-before, rows)
		}
		promised += stage.Rows() - before
	}
	adds, err := stage.Finish(ctx)
	if err != nil {
		return nil, err
	}
	for _, a := range adds {
		a.DataChange = false
		promised -= a.Rows()
	}
	if promised != 0 {
		return nil, fmt.Errorf("optimize %s: %d rows were not written", r.log.Store().URL(), promised)
	}
	return adds, nil
}

func (r *rewriter) change(group, adds []*action.Add) translog.Change {
	blind := false
	c := translog.Change{
		Info: action.CommitInfo{
			Operation: "OPTIMIZE", OperationParameters: map[string]any{"predicate": "[]", "zOrderBy": "[]"}, IsolationLevel: "SnapshotIsolation", BlindAppend: &blind,
			OperationMetrics: map[string]string{"numAddedFiles": strconv.Itoa(len(adds)), "numRemovedFiles": strconv.Itoa(len(group))},
			EngineInfo:       "microbatch",
		},
	}
	now := r.log.Now().UnixMilli()
	for _, a := range group {
		c.Actions = append(c.Actions, action.Action{Remove: a.Tombstone(now, false)})
	}
	for _, a := range adds {
		c.Actions = append(c.Actions, action.Action{Add: a})
	}
	return c
}
