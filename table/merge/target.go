package merge

import (
	"context"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"golang.org/x/sync/errgroup"

	"microbatch/arrowparquet"
	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/table/action"
	"microbatch/table/datafile"
)

// Target is a table that a batch, which is resolved, goes into.
type Target struct {
	Store       objstore.Store
	Schema      *arrow.Schema // of the table, with its partition columns
	PartitionBy []string
	Batch       *Batch
	Parallel    int // files at once; 1 if 0
	Alloc       memory.Allocator
}

// MayHold reports whether a file may hold one of the batch's keys (U3). It reads nothing.
func (t *Target) MayHold(add *action.Add) bool {
	s := statisticsOf(add)
	for i, name := range t.Batch.rule.Keys.names {
		if !t.Batch.values[i].mayBe(boundsOf(add, &s, t.field(name), t.isPartition(name))) {
			return false
		}
	}
	return true
}

// boundsOf are those of a column in a file with some statistics.
func boundsOf(add *action.Add, s *statistics, column arrow.Field, isPartition bool) bounds {
	if isPartition {
		return partitionBounds(valueOf(add.PartitionValues, column.Name), column.Type)
	}
	return s.bounds(column.Name, column.Type)
}

// field is a column of the table; that of the rows, if the table does not have it yet.
func (t *Target) field(name string) arrow.Field { return fieldOf(t.Schema, name) }

func fieldOf(s *arrow.Schema, name string) arrow.Field {
	return s.Field(slices.IndexFunc(s.Fields(), func(f arrow.Field) bool { return strings.EqualFold(f.Name, name) }))
}

func (t *Target) isPartition(name string) bool { return isAmong(t.PartitionBy, name) }

func isAmong(names []string, name string) bool {
	return slices.ContainsFunc(names, func(p string) bool { return strings.EqualFold(p, name) })
}

func valueOf(values map[string]*string, column string) *string {
	if v, ok := values[column]; ok {
		return v
	}
	for name, v := range values {
		if strings.EqualFold(name, column) {
			return v
		}
	}
	return nil
}

// Holding are those of the files that hold a key of the batch. Of each file the key columns are read, until the first such row.
func (t *Target) Holding(ctx context.Context, files []*action.Add) ([]*action.Add, error) {
	return t.search(ctx, files, func(*entry) bool { return false })
}

// Find is Holding to the end of each file: Batch.Unknown then knows which keys the table has.
func (t *Target) Find(ctx context.Context, files []*action.Add) ([]*action.Add, error) {
	return t.search(ctx, files, func(e *entry) bool {
		e.found.Add(1)
		return true
	})
}

// search shows the entries of the keys that files hold, as long as more wants another of the same file.
func (t *Target) search(ctx context.Context, files []*action.Add, more func(*entry) bool) (holding []*action.Add, err error) {
	holds := make([]bool, len(files))
	group, gctx := errgroup.WithContext(ctx)
	group.SetLimit(max(1, t.Parallel))
	for i, add := range files {
		group.Go(func() (err error) {
			holds[i], err = t.look(gctx, add, more)
			return err
		})
	}
	err = group.Wait()
	for i, add := range files {
		if holds[i] {
			holding = append(holding, add)
		}
	}
	return holding, err
}

// look reads the key columns of a file.
func (t *Target) look(ctx context.Context, add *action.Add, more func(*entry) bool) (holds bool, err error) {
	var fields []arrow.Field
	for _, name := range t.Batch.rule.Keys.names {
		fields = append(fields, t.field(name))
	}
	r := datafile.Reader{Store: t.Store, Schema: arrow.NewSchema(fields, nil), PartitionBy: t.PartitionBy, Skip: t.skip, Alloc: t.Alloc}
	for rec, err := range r.Read(ctx, add) {
		if err != nil {
			return false, err
		}
		some, goOn, err := t.lookAt(rec, more)
		rec.Release()
		holds = holds || some
		if err != nil || !goOn {
			return holds, err
		}
	}
	return holds, nil
}

func (t *Target) lookAt(rec arrow.RecordBatch, more func(*entry) bool) (some, goOn bool, err error) {
	x := t.Batch.index
	encode, err := t.Batch.rule.Keys.encoder(rec)
	if err != nil {
		return false, false, err
	}
	var key []byte
	for row := range int(rec.NumRows()) {
		key = encode(key[:0], row)
		if n := x.find(key); n >= 0 {
			some = true
			if !more(&x.entries[n]) {
				return true, false, nil
			}
		}
	}
	return some, true, nil
}

// skip reports whether a row group proves that it holds none of the keys.
func (t *Target) skip(g *arrowparquet.RowGroup) bool {
	for i, name := range t.Batch.rule.Keys.names {
		if t.isPartition(name) {
			continue
		}
		for k := range g.Columns {
			c := &g.Columns[k]
			if len(c.Path) == 1 && strings.EqualFold(c.Path[0], name) && !t.Batch.values[i].mayBe(groupBounds(c, t.field(name).Type)) {
				return true
			}
		}
	}
	return false
}

// Groups says which files are rewritten together: those that are small beside target, in bytes, with others of their partition, and all others alone (U5).
func Groups(files []*action.Add, target int64) (groups [][]*action.Add) {
	small := map[string]int{} // by partition, the group that is being filled
	bytes := map[string]int64{}
	for _, add := range files {
		if add.Size >= target/8 {
			groups = append(groups, []*action.Add{add})
			continue
		}
		key := action.PartitionKey(add.PartitionValues)
		if n, ok := small[key]; ok && bytes[key]+add.Size <= target {
			groups[n] = append(groups[n], add)
			bytes[key] += add.Size
			continue
		}
		small[key], bytes[key] = len(groups), add.Size
		groups = append(groups, []*action.Add{add})
	}
	return groups
}

// Rewrite writes the rows of some files whose keys are not in the batch to a place of their partition, and notes which keys the files had. It returns how many rows
// it wrote.
func (t *Target) Rewrite(ctx context.Context, files []*action.Add, place *datafile.Place) (copied int64, err error) {
	for _, add := range files {
		n, err := t.rewrite(ctx, add, place)
		if err != nil {
			return copied, err
		}
		copied += n
	}
	return copied, nil
}

func (t *Target) rewrite(ctx context.Context, add *action.Add, place *datafile.Place) (copied int64, err error) {
	stored := datafile.FileSchema(t.Schema, t.PartitionBy)
	fields := slices.Clone(stored.Fields())
	for _, name := range t.Batch.rule.Keys.names {
		if t.isPartition(name) {
			fields = append(fields, t.field(name))
		}
	}
	r := datafile.Reader{Store: t.Store, Schema: arrow.NewSchema(fields, nil), PartitionBy: t.PartitionBy, Alloc: t.Alloc}
	read := int64(0)
	for rec, err := range r.Read(ctx, add) {
		if err != nil {
			return copied, err
		}
		read += rec.NumRows()
		n, err := t.keep(ctx, rec, stored, place)
		rec.Release()
		if err != nil {
			return copied, err
		}
		copied += n
	}
	if rows := add.Rows(); rows >= 0 && read != rows {
		return copied, errcode.TableFile.New(t.Store.URL()+"/"+add.Path, "it has %d rows and the log says %d", read, rows)
	}
	return copied, nil
}

// keep writes those rows of a record whose keys are not in the batch, in the columns of a file.
func (t *Target) keep(ctx context.Context, rec arrow.RecordBatch, stored *arrow.Schema, place *datafile.Place) (int64, error) {
	x := t.Batch.index
	encode, err := t.Batch.rule.Keys.encoder(rec)
	if err != nil {
		return 0, err
	}
	rows := make([]int32, 0, rec.NumRows())
	var key []byte
	for row := range int(rec.NumRows()) {
		key = encode(key[:0], row)
		if n := x.find(key); n < 0 {
			rows = append(rows, int32(row))
		} else {
			x.entries[n].found.Add(1)
		}
	}
	if len(rows) == 0 {
		return 0, nil
	}
	file := array.NewRecordBatch(stored, rec.Columns()[:stored.NumFields()], rec.NumRows())
	defer file.Release()
	some, err := datafile.Take(ctx, file, rows, t.Alloc)
	if err != nil {
		return 0, err
	}
	defer some.Release()
	return int64(len(rows)), place.Write(ctx, some)
}
