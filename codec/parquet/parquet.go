package parquet

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/arrowparquet"
	"microbatch/batch"
	"microbatch/codec"
	"microbatch/codec/column"
	"microbatch/internal/errcode"
)

// Options of the format.
type Options struct {
	// Limits bound what a file may cost; zero values are the defaults of arrowparquet.
	Limits arrowparquet.Limits
}

// Files is the format; it implements codec.Files. It may be used by many goroutines.
type Files struct{ options Options }

var _ codec.Files = (*Files)(nil)

// New makes the format.
func New(options Options) *Files { return &Files{options: options} }

// Kind is "parquet".
func (f *Files) Kind() string { return "parquet" }

// Output is the declared schema. Its types must be those of package schema.
func (f *Files) Output(schema *arrow.Schema) (*arrow.Schema, error) {
	if _, err := column.New(schema, memory.DefaultAllocator); err != nil {
		return nil, errcode.RowSchema.Wrap(err, "", "parquet")
	}
	return schema, nil
}

// Infer is the schema of the file, with all columns nullable: the next file may lack one.
func (f *Files) Infer(ctx context.Context, file codec.File) (*arrow.Schema, error) {
	open, err := f.open(ctx, file)
	if err != nil {
		return nil, err
	}
	s := open.Schema()
	fields := s.Fields()
	for i := range fields {
		fields[i].Nullable = true
	}
	metadata := s.Metadata()
	return arrow.NewSchema(fields, &metadata), nil
}

// Units cuts the file between row groups.
func (f *Files) Units(ctx context.Context, file codec.File, target int64) ([]codec.Unit, error) {
	if file.At == nil || file.Size <= target {
		return []codec.Unit{{To: file.Size}}, nil
	}
	open, err := f.open(ctx, file)
	if err != nil {
		return nil, err
	}
	return cut(open.RowGroups(), file.Size, target), nil
}

// open reads the footer.
func (f *Files) open(ctx context.Context, file codec.File) (*openFile, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("parquet: %s: %w", file.Name, err)
	}
	if file.At == nil {
		return nil, errcode.FormatCompressed.New(file.Name, "a Parquet file inside of a compressed file cannot be read")
	}
	at := &watched{at: file.At}
	open, err := arrowparquet.Open(at, file.Size, f.options.Limits)
	if err != nil {
		return nil, at.blame(err, file.Name)
	}
	return &openFile{File: open, at: at, name: file.Name}, nil
}

// openFile is a file whose footer was read.
type openFile struct {
	*arrowparquet.File
	at   *watched
	name string
}

// Decode reads the row groups that begin in the unit.
func (f *Files) Decode(ctx context.Context, file codec.File, unit codec.Unit, schema *arrow.Schema, alloc memory.Allocator, seen *int64) batch.Stream {
	return func(yield func(batch.Chunk, error) bool) {
		if alloc == nil {
			alloc = memory.DefaultAllocator
		}
		open, err := f.open(ctx, file)
		if err == nil {
			err = open.fits(ctx, schema, alloc)
		}
		if err != nil {
			yield(batch.Chunk{}, err)
			return
		}
		for record, err := range open.Read(ctx, owned(open.RowGroups(), unit, file.Size), schema, alloc) {
			if err != nil {
				if ctx.Err() == nil {
					err = open.at.blame(err, file.Name)
				}
				yield(batch.Chunk{}, err)
				return
			}
			*seen += record.NumRows()
			if !yield(batch.Chunk{Record: record}, nil) {
				return
			}
		}
	}
}

// fits checks the file's columns against the declared ones, reading nothing.
func (o *openFile) fits(ctx context.Context, schema *arrow.Schema, alloc memory.Allocator) error {
	for record, err := range o.Read(ctx, []int{}, schema, alloc) {
		if err != nil {
			return errcode.FormatSchema.Wrap(err, o.name, "")
		}
		record.Release()
	}
	return nil
}

// watched is a file that remembers whether reading it failed, so that a disk or network error is not taken for a damaged file.
type watched struct {
	at     io.ReaderAt
	failed error
}

func (w *watched) ReadAt(p []byte, off int64) (int, error) {
	n, err := w.at.ReadAt(p, off)
	if err != nil && !errors.Is(err, io.EOF) {
		w.failed = err
	}
	return n, err
}

// blame says what an error of reading the file comes from.
func (w *watched) blame(err error, name string) error {
	if w.failed != nil {
		return fmt.Errorf("parquet: read %s: %w", name, w.failed)
	}
	return errcode.FormatDamaged.Wrap(err, name, "")
}
