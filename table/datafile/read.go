package datafile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"

	"github.com/RoaringBitmap/roaring/v2/roaring64"
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/arrowparquet"
	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/table/action"
)

// Key is the key of the file that an action's path names (errcode.TablePath if it leads out of the table).
func Key(store objstore.Store, path string) (string, error) {
	key, err := action.DecodePath(path)
	if err != nil {
		return "", errcode.TablePath.Wrap(err, store.URL(), "")
	}
	return key, nil
}

// Reader reads data files of one table. It holds nothing open.
type Reader struct {
	Store       objstore.Store
	Schema      *arrow.Schema // of the records; partition columns among them, in any place
	PartitionBy []string
	// Skip passes over row groups that the caller has no use for; nil reads all. It is not asked about files with deletion vectors, which count rows from the beginning.
	Skip  func(*arrowparquet.RowGroup) bool
	Alloc memory.Allocator
}

// Open opens a data file and reads its footer. The caller closes the object.
func Open(ctx context.Context, store objstore.Store, add *action.Add) (*arrowparquet.File, objstore.Object, error) {
	key, err := Key(store, add.Path)
	if err != nil {
		return nil, nil, err
	}
	object, err := store.Open(ctx, key)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, errcode.TableFile.Wrap(fs.ErrNotExist, store.URL()+"/"+key, "the log names a file that is gone") // the store's own words name it twice more
	}
	if err != nil {
		return nil, nil, fmt.Errorf("open %s: %w", key, err)
	}
	file, err := arrowparquet.Open(object, object.Size(), arrowparquet.Limits{})
	if err != nil {
		object.Close()
		return nil, nil, errcode.TableFile.Wrap(err, store.URL()+"/"+key, "cannot be read")
	}
	return file, object, nil
}

// Read yields the live rows of a file in order: the columns of the file, null where it has none, the partition values of the log, and no row that a
// deletion vector names. The receiver releases the records. The sequence ends after the first error.
func (r *Reader) Read(ctx context.Context, add *action.Add) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		if err := r.each(ctx, add, func(rec arrow.RecordBatch) bool { return yield(rec, nil) }); err != nil {
			yield(nil, err)
		}
	}
}

func (r *Reader) each(ctx context.Context, add *action.Add, yield func(arrow.RecordBatch) bool) error {
	file, object, err := Open(ctx, r.Store, add)
	if err != nil {
		return err
	}
	defer object.Close()
	var deleted *roaring64.Bitmap
	if add.DeletionVector != nil {
		if deleted, err = readVector(ctx, r.Store, add.DeletionVector); err != nil {
			return errcode.TableFile.Wrap(err, r.Store.URL(), "deleted rows of %s", add.Path)
		}
	}
	base := uint64(0)
	for stored, err := range r.stored(ctx, file, r.groups(file, add)) {
		if err != nil {
			return r.unreadable(ctx, add, err)
		}
		rows := uint64(stored.NumRows())
		rec, err := r.live(ctx, stored, deleted, base, add)
		stored.Release()
		if err != nil {
			return fmt.Errorf("read %s: %w", add.Path, err)
		}
		base += rows
		if rec.NumRows() == 0 {
			rec.Release()
			continue
		}
		if !yield(rec) {
			return nil
		}
	}
	return nil
}

// unreadable gives an error of reading a file its code, unless the store has given it one.
func (r *Reader) unreadable(ctx context.Context, add *action.Add, err error) error {
	if _, coded := errors.AsType[*errcode.Error](err); coded || ctx.Err() != nil {
		return fmt.Errorf("read %s: %w", add.Path, err)
	}
	return errcode.TableFile.Wrap(err, r.Store.URL()+"/"+add.Path, "cannot be read")
}

// groups are the row groups to read; nil: all.
func (r *Reader) groups(file *arrowparquet.File, add *action.Add) []int {
	if r.Skip == nil || add.DeletionVector != nil {
		return nil
	}
	groups := []int{}
	for i := range file.RowGroups() {
		if !r.Skip(&file.RowGroups()[i]) {
			groups = append(groups, i)
		}
	}
	return groups
}

// stored yields the columns that are in some row groups of the file.
func (r *Reader) stored(ctx context.Context, file *arrowparquet.File, groups []int) iter.Seq2[arrow.RecordBatch, error] {
	var fields []arrow.Field
	for _, f := range r.Schema.Fields() {
		if !r.isPartition(f.Name) {
			f.Nullable = true // an older file may lack it
			fields = append(fields, f)
		}
	}
	want := arrow.NewSchema(fields, nil)
	if len(fields) > 0 {
		return file.Read(ctx, groups, want, r.Alloc)
	}
	return func(yield func(arrow.RecordBatch, error) bool) { // partition columns alone: counting the rows is enough
		left := file.Rows()
		if groups != nil {
			left = 0
			for _, g := range groups {
				left += file.RowGroups()[g].Rows
			}
		}
		for ; left > 0; left -= countRows {
			if !yield(array.NewRecordBatch(want, nil, min(left, countRows)), nil) {
				return
			}
		}
	}
}

const countRows = 8192

func (r *Reader) isPartition(column string) bool {
	return slices.ContainsFunc(r.PartitionBy, func(p string) bool { return strings.EqualFold(p, column) })
}

// live is a record without its deleted rows and with the partition columns. base is the number of its first row in the file.
func (r *Reader) live(ctx context.Context, stored arrow.RecordBatch, deleted *roaring64.Bitmap, base uint64, add *action.Add) (arrow.RecordBatch, error) {
	kept, err := r.keep(ctx, stored, deleted, base)
	if err != nil {
		return nil, err
	}
	defer kept.Release()
	columns := make([]arrow.Array, 0, r.Schema.NumFields())
	defer func() {
		for _, c := range columns {
			c.Release()
		}
	}()
	next := 0
	for _, f := range r.Schema.Fields() {
		if !r.isPartition(f.Name) {
			c := kept.Column(next)
			c.Retain()
			columns = append(columns, c)
			next++
			continue
		}
		c, err := constant(f.Type, partitionValue(add.PartitionValues, f.Name), int(kept.NumRows()), r.Alloc)
		if err != nil {
			return nil, err
		}
		columns = append(columns, c)
	}
	return array.NewRecordBatch(r.Schema, columns, kept.NumRows()), nil
}

func partitionValue(values map[string]*string, column string) *string {
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

// keep drops the deleted rows. The caller releases the result.
func (r *Reader) keep(ctx context.Context, rec arrow.RecordBatch, deleted *roaring64.Bitmap, base uint64) (arrow.RecordBatch, error) {
	n := uint64(rec.NumRows())
	if deleted == nil || !overlaps(deleted, base, base+n) {
		rec.Retain()
		return rec, nil
	}
	rows := make([]int32, 0, n)
	for i := range n {
		if !deleted.Contains(base + i) {
			rows = append(rows, int32(i))
		}
	}
	return Take(ctx, rec, rows, r.Alloc)
}

// overlaps reports whether the set has a member in [from, to).
func overlaps(set *roaring64.Bitmap, from, to uint64) bool {
	it := set.Iterator()
	it.AdvanceIfNeeded(from)
	return it.HasNext() && it.PeekNext() < to
}
