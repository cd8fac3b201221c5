package json

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/batch"
	"microbatch/codec"
	"microbatch/codec/textfile"
)

// maxKept is how large a read buffer may be to be kept for the next unit.
const maxKept = 16 << 20

// Files is NDJSON, one object a line; it implements codec.Files. It may be used by many goroutines.
type Files struct {
	Format
	kept sync.Pool // of *workspace
}

var _ codec.Files = (*Files)(nil)

// NewFiles makes the format of files whose lines are JSON objects. Blank lines are no rows.
func NewFiles(options Options) *Files { return &Files{Format: Format{options: options}} }

// Units cuts a file at any byte: each unit finds its first line itself.
func (f *Files) Units(_ context.Context, file codec.File, target int64) ([]codec.Unit, error) {
	return textfile.Units(file, target), nil
}

// Decode reads the lines that begin in the unit.
func (f *Files) Decode(ctx context.Context, file codec.File, unit codec.Unit, schema *arrow.Schema, alloc memory.Allocator, seen *int64) batch.Stream {
	return func(yield func(batch.Chunk, error) bool) {
		w, err := f.workspace(schema, alloc)
		if err != nil {
			yield(batch.Chunk{}, err)
			return
		}
		in := textfile.NewReader(file, unit, w.buf)
		d := fileDecoder{rows: w.rows, out: textfile.Output{Name: file.Name, Yield: yield}, seen: seen}
		defer func() {
			w.rows.reset()
			if w.buf = in.Buffer(); len(w.buf) <= maxKept {
				f.kept.Put(w)
			}
		}()
		if err := d.run(ctx, in); err != nil && !errors.Is(err, textfile.ErrLeft) {
			yield(batch.Chunk{}, err)
		}
	}
}

// workspace is what one unit leaves to the next: a read buffer, and columns and parser with what they have learned. It holds no Arrow memory.
type workspace struct {
	schema *arrow.Schema
	alloc  memory.Allocator
	rows   *rows
	buf    []byte
}

// workspace takes one that was left, or makes one.
func (f *Files) workspace(schema *arrow.Schema, alloc memory.Allocator) (*workspace, error) {
	w, _ := f.kept.Get().(*workspace)
	if w == nil {
		w = new(workspace)
	}
	if w.schema == schema && w.alloc == alloc {
		return w, nil
	}
	r, err := f.newRows(schema, alloc, blanksInLine)
	if err != nil {
		return nil, err
	}
	w.schema, w.alloc, w.rows = schema, alloc, r
	return w, nil
}

// fileDecoder decodes one unit.
type fileDecoder struct {
	*rows
	out  textfile.Output
	seen *int64
}

// run decodes all lines and yields what is left at the end.
func (d *fileDecoder) run(ctx context.Context, in *textfile.Reader) error {
	for {
		lines, err := in.Next()
		switch {
		case errors.Is(err, io.EOF):
			return d.emit()
		case errors.Is(err, textfile.ErrLong):
			*d.seen++
			d.out.Reject(lines.Base, lines.Buf, tooLong())
		case err != nil:
			return fmt.Errorf("json: %w", err)
		default:
			if err := d.decode(lines); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("json: %s: %w", d.out.Name, err)
		}
	}
}

// decode decodes whole lines.
func (d *fileDecoder) decode(lines textfile.Lines) error {
	d.buf = lines.Buf
	i := lines.From
	if lines.Base == 0 && i == 0 && bytes.HasPrefix(d.buf, bom) {
		i += len(bom)
	}
	for i < lines.To {
		if first := d.blanks(i); d.buf[first] == '\n' {
			i = first + 1
			continue
		}
		*d.seen++
		end := d.row(i, d.n)
		if end >= 0 && d.buf[end] != '\n' {
			end = d.malformed(end, "more text behind the object")
		}
		if end < 0 {
			end = i + bytes.IndexByte(d.buf[i:lines.To], '\n')
			d.out.Reject(lines.Base+int64(i), d.buf[i:end], d.takeBack())
		} else {
			d.n++
			d.bytes += int64(end - i)
		}
		i = end + 1
		if d.out.Full(d.n, d.size()) {
			if err := d.emit(); err != nil {
				return err
			}
		}
	}
	return nil
}

// emit hands over the rows decoded and rejected so far.
func (d *fileDecoder) emit() error {
	if d.n == 0 {
		return d.out.Emit(nil)
	}
	return d.out.Emit(d.flush())
}
