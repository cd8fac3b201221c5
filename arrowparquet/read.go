package arrowparquet

import (
	"context"
	"fmt"
	"io"
	"iter"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/batch"
)

// Read yields the rows of some row groups, in the order given, as records of the schema want, each of at most batch.TargetRows rows and about
// batch.TargetBytes. A nil groups means all; a nil want the file's own schema. Columns are found by name, nested ones too, without regard to
// case; one that the file does not have is null. Integers, floats and decimals may be wider in want. The receiver releases each record; the sequence ends after
// the first error.
func (f *File) Read(ctx context.Context, groups []int, want *arrow.Schema, alloc memory.Allocator) iter.Seq2[arrow.RecordBatch, error] {
	return func(yield func(arrow.RecordBatch, error) bool) {
		if want == nil {
			want = f.schema
		}
		columns, err := project(want.Fields(), f.roots, f.leaves)
		if err != nil {
			yield(nil, err)
			return
		}
		s := scan{file: f, want: want, columns: columns, alloc: alloc, unpack: &decompressor{limit: uint64(f.limits.PageBytes)}}
		defer s.unpack.close()
		if groups == nil {
			for i := range f.groups {
				groups = append(groups, i)
			}
		}
		for _, g := range groups {
			if !s.group(ctx, g, yield) {
				return
			}
		}
	}
}

// A scan reads row groups of a file, one after the other.
type scan struct {
	file    *File
	want    *arrow.Schema
	columns []*projection
	alloc   memory.Allocator
	unpack  *decompressor
	leaves  map[int]*leafReader // of the row group at hand
}

// group yields the records of one row group, and reports whether to go on.
func (s *scan) group(ctx context.Context, g int, yield func(arrow.RecordBatch, error) bool) bool {
	if g < 0 || g >= len(s.file.groups) {
		yield(nil, fmt.Errorf("arrowparquet: there is no row group %d", g))
		return false
	}
	if err := s.open(g); err != nil {
		yield(nil, fmt.Errorf("arrowparquet: row group %d: %w", g, err))
		return false
	}
	left := s.file.groups[g].Rows
	for left > 0 {
		if err := ctx.Err(); err != nil {
			yield(nil, err)
			return false
		}
		n := int(min(left, s.step(g)))
		rec, err := s.record(n)
		if err != nil {
			yield(nil, fmt.Errorf("arrowparquet: row group %d: %w", g, err))
			return false
		}
		if !yield(rec, nil) {
			return false
		}
		left -= int64(n)
	}
	return true
}

// open starts the leaves that are wanted, each with its dictionary and first page. There is always one, which tells how many rows there really are.
func (s *scan) open(g int) (err error) {
	defer noPanic(&err)
	wanted := map[int]bool{}
	for _, c := range s.columns {
		c.wanted(wanted)
	}
	if len(wanted) == 0 {
		wanted[0] = false
	}
	s.leaves = map[int]*leafReader{}
	pages := &budget{limit: s.file.limits.OpenBytes}
	for leaf, values := range wanted {
		l := &leafReader{pageReader: newPageReader(s.file, g, leaf, pages, s.unpack), need: values}
		if err := l.load(); err != nil && err != io.EOF {
			return err
		}
		s.leaves[leaf] = l
	}
	return nil
}

// step is how many rows make the next record. By the sizes in the footer it is about batch.TargetBytes; by the number of columns, whose nulls take no bytes
// in the file, and by the longest entry of a dictionary, which a few bytes may repeat for any number of rows, it is bounded too.
func (s *scan) step(g int) int64 {
	group := &s.file.meta.RowGroups[g]
	rows := min(int64(batch.TargetRows), batch.TargetBytes/int64(max(len(s.leaves), len(s.columns))))
	var size int64
	for leaf, l := range s.leaves {
		size += group.Columns[leaf].MetaData.TotalUncompressedSize
		if l.longest > 0 {
			rows = min(rows, 8*batch.TargetBytes/int64(l.longest))
		}
	}
	if perRow := size / max(1, group.NumRows); perRow > 0 {
		rows = min(rows, batch.TargetBytes/perRow)
	}
	return max(1, rows)
}

// record reads the next n rows.
func (s *scan) record(n int) (rec arrow.RecordBatch, err error) {
	var done []arrow.Array
	defer func() {
		for _, a := range done {
			a.Release()
		}
	}()
	defer noPanic(&err)
	for _, l := range s.leaves {
		if err := l.take(n); err != nil {
			return nil, err
		}
		if !l.rowsAreWhole() {
			return nil, fmt.Errorf("column %s: %w", dotted(l.path), errPage)
		}
	}
	a := assembler{leaves: s.leaves, alloc: s.alloc}
	for _, c := range s.columns {
		d, err := a.column(c, scope{}, n)
		if err != nil {
			return nil, err
		}
		done = append(done, array.MakeFromData(d))
		d.Release()
	}
	return array.NewRecordBatch(s.want, done, int64(n)), nil
}
