package translog

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/arrowparquet"
	"microbatch/objstore"
	"microbatch/table/action"
)

const (
	// checkpointRows is how many actions are turned into one Arrow record.
	checkpointRows = 1024
	// checkpointGroup is how many make a row group, which a reader holds at once. Who wants no list of files reads one of them.
	checkpointGroup = 2 << 10
)

// parquetEncoder makes checkpoints of the format delta: the first row group holds what a writer needs, then come row groups of an earlier checkpoint, and then
// what was added.
type parquetEncoder struct {
	tally
	light, onFiles *parquetPart
	earlier        objstore.Object
	passed         []arrowparquet.Piece
}

func newParquetEncoder() (*parquetEncoder, error) {
	light, err := newParquetPart()
	if err != nil {
		return nil, err
	}
	onFiles, err := newParquetPart()
	if err != nil {
		light.rows.Release()
		return nil, err
	}
	return &parquetEncoder{tally: newTally(), light: light, onFiles: onFiles}, nil
}

func (e *parquetEncoder) release() {
	e.light.rows.Release()
	e.onFiles.rows.Release()
}

func (e *parquetEncoder) add(a *action.Action) error {
	e.count(a)
	if a.Add != nil || a.Remove != nil {
		return e.onFiles.add(a)
	}
	return e.light.add(a)
}

// pass takes full row groups as they are in which no file has changed. Decoded and encoded again, 100,000 files cost twenty times as much
// (BenchmarkManyFiles/delta/checkpoint_behind_checkpoint: 0.11 s instead of 2.54 s on a loaded machine).
func (e *parquetEncoder) pass(ctx context.Context, earlier objstore.Object, s *sieve) (ok bool, err error) {
	file, err := arrowparquet.Open(earlier, earlier.Size(), arrowparquet.Limits{})
	if err != nil {
		return false, err
	}
	ours, err := e.light.close()
	if err != nil || !file.Spliceable(ours) {
		return false, err
	}
	e.earlier = earlier
	for g := range file.RowGroups() {
		same, err := unchanged(ctx, file, g, s)
		if err != nil {
			return false, err
		}
		if same {
			e.passed = append(e.passed, arrowparquet.Piece{File: file, Group: g})
			e.adds += checkpointGroup
			continue
		}
		if err := readGroups(ctx, file, []int{g}, readSchema(), func(a *action.Action) error {
			if s.keeps(a) {
				return e.add(a)
			}
			return nil
		}); err != nil {
			return false, err
		}
	}
	return true, nil
}

// unchanged reports whether a row group is full of adds of files that have not changed.
func unchanged(ctx context.Context, file *arrowparquet.File, group int, s *sieve) (bool, error) {
	g := &file.RowGroups()[group]
	if g.Rows != checkpointGroup {
		return false, nil
	}
	for _, c := range g.Columns {
		if !c.Repeated && c.Path[0] != "add" && c.Nulls != g.Rows || slices.Equal(c.Path, []string{"add", "path"}) && c.Nulls > 0 {
			return false, nil
		}
	}
	for rec, err := range file.Read(ctx, []int{group}, pathSchema(), memory.DefaultAllocator) {
		if err != nil {
			return false, err
		}
		paths, changed := rec.Column(0).(*array.Struct).Field(0).(*array.String), false
		for i := range paths.Len() {
			changed = changed || s.changed.paths[paths.Value(i)]
		}
		rec.Release()
		if changed {
			return false, nil
		}
	}
	return true, nil
}

// close splices the checkpoint and looks at every page of it, where it will be.
func (e *parquetEncoder) close() (*encoded, error) {
	whole := &rope{}
	whole.write([]byte(arrowparquet.Magic))
	var pieces []arrowparquet.Piece
	splice := func(from io.ReaderAt, more ...arrowparquet.Piece) {
		for _, p := range more {
			g := p.File.RowGroups()[p.Group]
			whole.add(from, g.From, g.To-g.From)
		}
		pieces = append(pieces, more...)
	}
	if err := e.light.each(splice); err != nil {
		return nil, err
	}
	splice(e.earlier, e.passed...)
	if err := e.onFiles.each(splice); err != nil {
		return nil, err
	}
	footer, err := arrowparquet.Splice(pieces)
	if err != nil {
		return nil, err
	}
	whole.write(footer)
	c := &encoded{content: whole, actions: e.n + checkpointGroup*len(e.passed), adds: e.adds}
	return c, e.inspect(whole, c.actions)
}

// inspect reads back what was added, and holds all pages against their checksums.
func (e *parquetEncoder) inspect(whole *rope, actions int) error {
	err := e.proofread(func(see func(*action.Action) error) error {
		for _, part := range []*parquetPart{e.light, e.onFiles} {
			if err := readParquetCheckpoint(context.Background(), part.object(), false, see); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	file, err := arrowparquet.Open(whole, whole.size, arrowparquet.Limits{})
	if err == nil && file.Rows() != int64(actions) {
		err = fmt.Errorf("%d actions of %d are there", file.Rows(), actions)
	}
	for g := 0; err == nil && g < len(file.RowGroups()); g++ {
		err = file.CheckPages(g)
	}
	if err != nil {
		return fmt.Errorf("read back: %w", err)
	}
	return nil
}

// A parquetPart is a file in memory, whose row groups become those of a checkpoint.
type parquetPart struct {
	out  bytes.Buffer
	w    *arrowparquet.Writer
	rows *rowBuilder
	file *arrowparquet.File // when it is whole
}

func newParquetPart() (*parquetPart, error) {
	p := &parquetPart{}
	schema := checkpointSchema()
	// Every reader of Delta reads this file, so nothing but what all of them know.
	o := arrowparquet.Options{Compression: arrowparquet.Snappy, OneCompression: true, Encoding: arrowparquet.Plain, RowGroupRows: checkpointGroup}
	var err error
	if p.w, err = arrowparquet.NewWriter(&p.out, schema, o); err != nil {
		return nil, err
	}
	p.rows = newRowBuilder(array.NewRecordBuilder(memory.DefaultAllocator, schema))
	return p, nil
}

func (p *parquetPart) add(a *action.Action) error {
	p.rows.append(a)
	if p.rows.rows < checkpointRows {
		return nil
	}
	return p.flush()
}

func (p *parquetPart) flush() error {
	rec := p.rows.take()
	defer rec.Release()
	return p.w.Write(rec)
}

// close ends the file; nothing is added any more.
func (p *parquetPart) close() (*arrowparquet.File, error) {
	if p.file != nil {
		return p.file, nil
	}
	if err := p.flush(); err != nil {
		return nil, err
	}
	if _, err := p.w.Close(); err != nil {
		return nil, err
	}
	object := p.object()
	var err error
	p.file, err = arrowparquet.Open(object, object.Size(), arrowparquet.Limits{})
	return p.file, err
}

// each splices all row groups.
func (p *parquetPart) each(splice func(io.ReaderAt, ...arrowparquet.Piece)) error {
	file, err := p.close()
	if err != nil {
		return err
	}
	for g := range file.RowGroups() {
		splice(p.object(), arrowparquet.Piece{File: file, Group: g})
	}
	return nil
}

func (p *parquetPart) object() objstore.Object { return inMemory{bytes.NewReader(p.out.Bytes())} }

// inMemory is an object that is not stored.
type inMemory struct{ *bytes.Reader }

func (inMemory) Close() error { return nil }
