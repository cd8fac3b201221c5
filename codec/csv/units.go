package csv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"microbatch/codec"
	"microbatch/codec/textfile"
)

// scanBlock is how much of a file is looked at at once.
const scanBlock = 1 << 20

// Units cuts a file into units of about target bytes that begin where rows begin (V5).
func (f *Files) Units(ctx context.Context, file codec.File, target int64) ([]codec.Unit, error) {
	units := textfile.Units(file, target)
	if len(units) == 1 || f.options.SingleLine {
		return units, nil
	}
	cuts, err := f.rowStarts(ctx, file, units[1:])
	if err != nil {
		return nil, fmt.Errorf("csv: %s: %w", file.Name, err)
	}
	whole := units[:0]
	from := int64(0)
	for _, cut := range append(cuts, file.Size) {
		if cut > from {
			whole = append(whole, codec.Unit{From: from, To: cut})
			from = cut
		}
	}
	return whole, nil
}

// rowStarts finds for each unit the first row that begins in it or behind it.
func (f *Files) rowStarts(ctx context.Context, file codec.File, units []codec.Unit) ([]int64, error) {
	var cuts []int64
	s := newSplitter(&f.options)
	buf := make([]byte, min(scanBlock, file.Size))
	for base := int64(0); base < file.Size && len(units) > 0; base += scanBlock {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		b := buf[:min(scanBlock, file.Size-base)]
		if n, err := file.At.ReadAt(b, base); n < len(b) {
			if errors.Is(err, io.EOF) {
				err = fmt.Errorf("the file became shorter than %d bytes: %w", file.Size, io.ErrUnexpectedEOF)
			}
			return nil, err
		}
		i := 0
		if base == 0 && bytes.HasPrefix(b, bom) {
			i = len(bom)
		}
		for i < len(b) && len(units) > 0 {
			if !s.inside && !s.held && s.before == '\n' && base+int64(i) >= units[0].From {
				cuts = append(cuts, base+int64(i))
				for len(units) > 0 && units[0].From <= base+int64(i) {
					units = units[1:]
				}
				continue
			}
			i += s.skip(b[i:], units, base+int64(i))
		}
	}
	return cuts, nil
}

// skip goes on by one row, or, where no quote stands, to the last line end before the next unit; it returns how much of the piece it went.
func (s *splitter) skip(b []byte, units []codec.Unit, at int64) int {
	if len(units) == 0 {
		return len(b)
	}
	if !s.inside && s.before == '\n' {
		plain := bytes.IndexByte(b, s.options.Quote)
		if plain < 0 {
			plain = len(b)
		}
		plain = int(min(int64(plain), units[0].From-at))
		if n := bytes.LastIndexByte(b[:plain], '\n') + 1; n > 0 {
			return n
		}
	}
	if n := s.rowEnd(b); n > 0 {
		return n
	}
	return len(b)
}
