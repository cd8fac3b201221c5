package csv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/batch"
	"microbatch/codec"
	"microbatch/codec/textfile"
	"microbatch/internal/errcode"
)

// maxKept is how large a read buffer may be to be kept for the next unit.
const maxKept = 16 << 20

// Decode reads the rows that begin in the unit.
func (f *Files) Decode(ctx context.Context, file codec.File, unit codec.Unit, schema *arrow.Schema, alloc memory.Allocator, seen *int64) batch.Stream {
	return func(yield func(batch.Chunk, error) bool) {
		w, err := f.workspace(schema, alloc)
		if err != nil {
			yield(batch.Chunk{}, err)
			return
		}
		d := fileDecoder{workspace: w, format: f, out: textfile.Output{Name: file.Name, Yield: yield}, seen: seen}
		defer func() {
			w.columns.Release()
			if w.n, w.bytes = 0, 0; len(w.buf) <= maxKept {
				f.kept.Put(w)
			}
		}()
		if err := d.run(ctx, file, unit); err != nil && !errors.Is(err, textfile.ErrLeft) {
			yield(batch.Chunk{}, err)
		}
	}
}

// workspace is what one unit leaves to the next. It holds no Arrow memory.
type workspace struct {
	*parser
	schema  *arrow.Schema
	alloc   memory.Allocator
	buf     []byte
	boundTo io.ReaderAt // the file whose header the parser is bound to
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
	if _, err := f.Output(schema); err != nil {
		return nil, err
	}
	p, err := newParser(f.options, schema, alloc)
	if err != nil {
		return nil, err
	}
	w.schema, w.alloc, w.parser, w.boundTo = schema, alloc, p, nil
	return w, nil
}

// fileDecoder decodes one unit.
type fileDecoder struct {
	*workspace
	format *Files
	out    textfile.Output
	seen   *int64
	header bool // the next row is the header
}

// run decodes all rows and yields what is left at the end.
func (d *fileDecoder) run(ctx context.Context, file codec.File, unit codec.Unit) error {
	if err := d.bindLater(file, unit); err != nil {
		return err
	}
	in := textfile.NewReader(file, unit, d.buf)
	in.RowEnd(d.rowEnd)
	defer func() { d.buf = in.Buffer() }()
	for {
		lines, err := in.Next()
		switch {
		case errors.Is(err, io.EOF):
			return d.emit()
		case errors.Is(err, textfile.ErrLong):
			*d.seen++
			d.out.Reject(lines.Base, lines.Buf, &codec.Reject{Code: errcode.RowLimit.ID, Detail: fmt.Sprintf("the row has more than %d bytes", textfile.MaxLine)})
		case err != nil:
			return fmt.Errorf("csv: %w", err)
		default:
			if err := d.decode(in, lines); err != nil {
				return err
			}
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("csv: %s: %w", d.out.Name, err)
		}
	}
}

// bindLater binds the parser to the header of a file of which this unit has not the beginning; otherwise the header is the first row to come.
func (d *fileDecoder) bindLater(file codec.File, unit codec.Unit) error {
	d.header = d.format.options.Header && (unit.From == 0 || file.At == nil)
	if !d.format.options.Header || d.header {
		return nil
	}
	known := reflect.TypeOf(file.At).Comparable()
	if known && d.boundTo == file.At {
		return nil
	}
	header, err := d.format.readHeader(file, d.buf)
	if err != nil {
		return fmt.Errorf("csv: %w", err)
	}
	if err := d.bind(header, file.Name); err != nil {
		return err
	}
	if d.boundTo = nil; known {
		d.boundTo = file.At
	}
	return nil
}

// rowEnd finds the end of a row that is too long.
func (d *fileDecoder) rowEnd() func([]byte) int {
	if d.options.SingleLine {
		return func(b []byte) int { return bytes.IndexByte(b, '\n') + 1 }
	}
	return newSplitter(&d.options).rowEnd
}

// decode decodes whole lines, and gives back those of a row that goes on behind them.
func (d *fileDecoder) decode(in *textfile.Reader, lines textfile.Lines) error {
	i := lines.From
	if lines.Base == 0 && i == 0 && bytes.HasPrefix(lines.Buf[:lines.To], bom) {
		i += len(bom)
	}
	if d.header {
		names, next, err := d.format.header(lines, d.out.Name)
		if err != nil {
			return err
		}
		if next == lines.To && names == nil {
			return nil // blank lines only
		}
		if err := d.bind(names, d.out.Name); err != nil {
			return err
		}
		d.header, d.boundTo, i = false, nil, next
	}
	for i < lines.To {
		if c := lines.Buf[i]; c <= ' ' {
			if n := d.options.blank(lines.Buf[i:lines.To]); n > 0 {
				i += n
				continue
			}
		}
		to := lines.To
		if d.options.SingleLine {
			to = i + bytes.IndexByte(lines.Buf[i:to], '\n') + 1
		}
		next := d.row(lines.Buf, i, to)
		if next == open && to == lines.To && !lines.Last && !d.options.SingleLine {
			d.columns.Truncate(d.n)
			in.Unread(i)
			return nil
		}
		*d.seen++
		if next < 0 {
			if next = d.refuse(lines, i, to, next); next < 0 {
				d.columns.Truncate(d.n)
				*d.seen--
				in.Unread(i)
				return nil
			}
		} else {
			d.n++
			d.bytes += int64(next - i)
		}
		i = next
		if d.out.Full(d.n, d.size()) {
			if err := d.emit(); err != nil {
				return err
			}
		}
	}
	return nil
}

// refuse rejects the row at i and returns where it ends; open if that is not in these lines.
func (d *fileDecoder) refuse(lines textfile.Lines, i, to, why int) int {
	end := to
	if !d.options.SingleLine {
		if n := newSplitter(&d.options).rowEnd(lines.Buf[i:to]); n > 0 {
			end = i + n
		} else if !lines.Last {
			return open
		}
	}
	if why == open {
		d.reject = codec.Reject{Code: errcode.RowMalformed.ID, Detail: "a quote is open at the end"}
	}
	d.out.Reject(lines.Base+int64(i), lines.Buf[i:end], d.takeBack())
	return end
}

// emit hands over the rows decoded and rejected so far.
func (d *fileDecoder) emit() error {
	if d.n == 0 {
		return d.out.Emit(nil)
	}
	return d.out.Emit(d.flush())
}
