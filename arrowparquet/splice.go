package arrowparquet

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"slices"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Magic is what a file begins with, before its first row group.
const Magic = magic

// A Piece is a row group of a file.
type Piece struct {
	File  *File
	Group int
}

// Splice makes the footer of a file that is put together of row groups as they are: Magic, the bytes [RowGroup.From, RowGroup.To) of the pieces in order, the
// footer. All must be of the same kind (Spliceable); else it is an error.
func Splice(pieces []Piece) ([]byte, error) {
	if len(pieces) == 0 {
		return nil, fmt.Errorf("arrowparquet: nothing to splice")
	}
	first := pieces[0].File
	meta := format.FileMetaData{Version: first.meta.Version, Schema: first.meta.Schema, CreatedBy: createdBy, ColumnOrders: first.meta.ColumnOrders}
	at := int64(len(magic))
	for i, p := range pieces {
		if (i == 0 || p.File != pieces[i-1].File) && !p.File.Spliceable(first) {
			return nil, fmt.Errorf("arrowparquet: row group %d is of a file with another schema or writer", i)
		}
		place := p.File.groups[p.Group]
		g := p.File.meta.RowGroups[p.Group]
		g.FileOffset, g.Ordinal, g.Columns = at, int16(min(i, 1<<15-1)), moved(g.Columns, at-place.From)
		meta.RowGroups, meta.NumRows = append(meta.RowGroups, g), meta.NumRows+g.NumRows
		at += place.To - place.From
	}
	return encodeFooter(&meta)
}

// moved are chunks that stand later in the file.
func moved(columns []format.ColumnChunk, by int64) []format.ColumnChunk {
	columns = slices.Clone(columns)
	for i := range columns {
		m := &columns[i].MetaData
		m.DataPageOffset += by
		if m.DictionaryPageOffset > 0 {
			m.DictionaryPageOffset += by
		}
	}
	return columns
}

// Spliceable reports whether row groups of the file can stand in one file with those of another: both come from a Writer with the same schema, with one and the same
// compression (Options.OneCompression) and without Options.Metadata.
func (f *File) Spliceable(other *File) bool {
	return f.isPlain(other) && (f == other || other.isPlain(f) && bytes.Equal(f.schemaText(), other.schemaText()))
}

// isPlain reports whether the file is laid out as Writer does, so that nothing in its footer is unknown here: no indexes, no filters, no pairs of others; and has
// no other compression than the first chunk of another.
func (f *File) isPlain(other *File) bool {
	if f.meta.CreatedBy != createdBy || len(f.meta.KeyValueMetadata) > 0 || len(other.groups) == 0 {
		return false
	}
	codec := other.meta.RowGroups[0].Columns[0].MetaData.Codec
	for i, g := range f.groups {
		meta := &f.meta.RowGroups[i]
		if meta.TotalCompressedSize != g.To-g.From || slices.ContainsFunc(meta.Columns, func(c format.ColumnChunk) bool { return c.MetaData.Codec != codec }) {
			return false
		}
	}
	return true
}

func (f *File) schemaText() []byte {
	meta := format.FileMetaData{Schema: f.meta.Schema, ColumnOrders: f.meta.ColumnOrders}
	b, err := thrift.Marshal(new(thrift.CompactProtocol), &meta)
	if err != nil {
		return nil
	}
	return b
}

// CheckPages holds every page of a row group against its checksum, without looking into it. A page that has none is an error.
func (f *File) CheckPages(group int) (err error) {
	defer noPanic(&err)
	p := pageReader{in: bufio.NewReaderSize(nil, 64<<10), limit: f.limits.PageBytes}
	for leaf := range f.leaves {
		from, to := chunkRange(&f.meta.RowGroups[group].Columns[leaf].MetaData)
		p.stored, p.left = &f.leaves[leaf], to-from
		p.in.Reset(io.NewSectionReader(f.r, from, to-from))
		for p.left > 0 {
			h, err := p.header()
			if err == nil {
				err = p.readBody(&h)
			}
			if err == nil && h.CRC == 0 && len(p.raw) > 0 {
				err = fmt.Errorf("%w: it has no checksum", errPage)
			}
			if err != nil {
				return fmt.Errorf("arrowparquet: row group %d: column %s: %w", group, dotted(p.path), err)
			}
		}
	}
	return nil
}
