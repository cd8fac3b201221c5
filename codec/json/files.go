package json

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/batch"
	"microbatch/codec"
	"microbatch/codec/textfile"
	"microbatch/internal/errcode"
)

// maxKept is how large a read buffer may be to be kept for the next unit.
const maxKept = 4 << 20

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
		d := fileDecoder{rows: w.rows, name: file.Name, seen: seen, yield: yield}
		defer func() {
			w.rows.reset()
			if w.buf = in.Buffer(); len(w.buf) <= maxKept {
				f.kept.Put(w)
			}
		}()
		if err := d.run(ctx, in); err != nil && !errors.Is(err, errLeft) {
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

// errLeft says that the receiver of the stream has left.
var errLeft = errors.New("json: the stream was left")

// fileDecoder decodes one unit.
type fileDecoder struct {
	*rows
	name     string
	seen     *int64
	yield    func(batch.Chunk, error) bool
	rejected []batch.Rejected
	kept     int64 // bytes of rejected rows
}

// run decodes all lines and yields what is left at the end.
func (d *fileDecoder) run(ctx context.Context, in *textfile.Reader) error {
	for {
		lines, err := in.Next()
		if errors.Is(err, io.EOF) {
			return d.yieldChunk()
		}
		if errors.Is(err, textfile.ErrLong) {
			*d.seen++
			d.keep(lines.Base, lines.Buf, &codec.Reject{Code: errcode.RowLimit.ID, Detail: fmt.Sprintf("the row has more than %d bytes", textfile.MaxLine)})
		} else if err == nil {
			err = d.decode(lines)
		}
		if err != nil && !errors.Is(err, textfile.ErrLong) {
			return err
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("json: %s: %w", d.name, err)
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
			err := d.takeBack()
			d.keep(lines.Base+int64(i), bytes.TrimSuffix(d.buf[i:end], []byte("\r")), err)
		} else {
			d.n++
			d.bytes += int64(end - i)
		}
		i = end + 1
		if d.n >= batch.TargetRows || d.size()+d.kept >= batch.TargetBytes || len(d.rejected) >= batch.TargetRows {
			if err := d.yieldChunk(); err != nil {
				return err
			}
		}
	}
	return nil
}

// keep notes a rejected row.
func (d *fileDecoder) keep(at int64, row []byte, err error) {
	raw := bytes.Clone(row[:min(len(row), batch.MaxRaw)])
	d.kept += int64(len(raw))
	d.rejected = append(d.rejected, batch.Rejected{Position: d.name + "@" + strconv.FormatInt(at, 10), Reason: err.Error(), Raw: raw})
}

// yieldChunk hands over the rows and the rejected rows, if there are any.
func (d *fileDecoder) yieldChunk() error {
	if d.n == 0 && len(d.rejected) == 0 {
		return nil
	}
	chunk := batch.Chunk{Rejected: d.rejected}
	if d.n > 0 {
		chunk.Record = d.flush()
	}
	d.rejected, d.kept = nil, 0
	if !d.yield(chunk, nil) {
		return errLeft
	}
	return nil
}
