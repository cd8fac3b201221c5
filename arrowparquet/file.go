package arrowparquet

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// File is an open Parquet file. It holds the footer and may be read by many goroutines at once, if its reader may.
type File struct {
	r      io.ReaderAt
	size   int64
	limits Limits
	schema *arrow.Schema
	roots  []*node
	leaves []stored
	meta   format.FileMetaData
	groups []RowGroup
}

// RowGroup is one row group of a file.
type RowGroup struct {
	Rows     int64
	From, To int64         // the bytes of the file that hold it: [From, To)
	Columns  []ColumnStats // leaves in order
}

// Open reads the footer of a file of size bytes. A file that is not Parquet, is damaged, passes the limits or has a type without counterpart is an error,
// never a panic.
func Open(r io.ReaderAt, size int64, limits Limits) (f *File, err error) {
	defer noPanic(&err)
	f = &File{r: r, size: size, limits: limits.withDefaults()}
	if err := f.readFooter(); err != nil {
		return nil, fmt.Errorf("arrowparquet: %w", err)
	}
	if err := f.readSchema(); err != nil {
		return nil, fmt.Errorf("arrowparquet: %w", err)
	}
	// A row group without rows is as good as none: PyArrow writes one for an empty table, with chunks that are nowhere.
	f.meta.RowGroups = slices.DeleteFunc(f.meta.RowGroups, func(g format.RowGroup) bool { return g.NumRows == 0 })
	for i := range f.meta.RowGroups {
		if err := f.readGroup(i); err != nil {
			return nil, fmt.Errorf("arrowparquet: row group %d: %w", i, err)
		}
	}
	return f, nil
}

// noPanic makes an error of a panic of the decoding library: its input is not ours.
func noPanic(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("arrowparquet: damaged file: %v", p)
	}
}

// tailBytes is how much of the end of a file is read at once, in the hope that the footer is in it.
const tailBytes = 64 << 10

func (f *File) readFooter() error {
	if f.size < 12 {
		return fmt.Errorf("a file of %d bytes is no Parquet file", f.size)
	}
	tail := make([]byte, min(f.size, tailBytes))
	if err := readAt(f.r, tail, f.size-int64(len(tail))); err != nil {
		return err
	}
	end := tail[len(tail)-8:]
	switch string(end[4:]) {
	case magic:
	case "PARE":
		return fmt.Errorf("the file is encrypted, which is not supported")
	default:
		return fmt.Errorf("no Parquet file: it does not end in %s", magic)
	}
	length := int64(binary.LittleEndian.Uint32(end))
	if length > f.size-12 || length > f.limits.MetadataBytes {
		return fmt.Errorf("a footer of %d bytes in a file of %d (the limit is %d)", length, f.size, f.limits.MetadataBytes)
	}
	footer := tail[:len(tail)-8]
	if length > int64(len(footer)) {
		footer = make([]byte, length)
		if err := readAt(f.r, footer, f.size-8-length); err != nil {
			return err
		}
	}
	footer = footer[int64(len(footer))-length:]
	if _, err := checkThrift(footer); err != nil {
		return fmt.Errorf("footer: %w", err)
	}
	if err := thrift.NewDecoder(new(thrift.CompactProtocol).NewReaderFromBytes(footer)).Decode(&f.meta); err != nil {
		return fmt.Errorf("footer: %w", err)
	}
	return nil
}

func readAt(r io.ReaderAt, b []byte, at int64) error {
	if n, err := r.ReadAt(b, at); n < len(b) {
		return fmt.Errorf("read %d bytes at %d: %w", len(b), at, err)
	}
	return nil
}

func (f *File) readSchema() error {
	if f.meta.EncryptionAlgorithm.Value != nil {
		return fmt.Errorf("the file is encrypted, which is not supported")
	}
	var err error
	if f.roots, f.leaves, err = parseSchema(f.meta.Schema); err != nil {
		return err
	}
	if len(f.leaves) > f.limits.Columns {
		return fmt.Errorf("%d columns (the limit is %d)", len(f.leaves), f.limits.Columns)
	}
	fields := make([]arrow.Field, len(f.roots))
	for i, n := range f.roots {
		fields[i] = n.field
	}
	f.schema = arrow.NewSchema(fields, nil)
	return nil
}

// readGroup checks the place of each chunk of a row group.
func (f *File) readGroup(i int) error {
	meta := &f.meta.RowGroups[i]
	if len(meta.Columns) != len(f.leaves) || meta.NumRows < 0 {
		return fmt.Errorf("%d columns and %d rows, the schema has %d columns", len(meta.Columns), meta.NumRows, len(f.leaves))
	}
	g := RowGroup{Rows: meta.NumRows, From: f.size}
	for k := range meta.Columns {
		s := &f.leaves[k]
		m := &meta.Columns[k].MetaData
		from, to := chunkRange(m)
		if meta.Columns[k].FilePath != "" || from < 4 || to < from || to > f.size-8 || m.Type != s.typ || m.NumValues < 0 {
			return fmt.Errorf("column %s: a chunk at %d to %d", dotted(s.path), from, to)
		}
		if s.rep == 0 && m.NumValues != meta.NumRows {
			return fmt.Errorf("column %s: %d values in %d rows", dotted(s.path), m.NumValues, meta.NumRows)
		}
		g.From, g.To = min(g.From, from), max(g.To, to)
		g.Columns = append(g.Columns, storedStats(s, &m.Statistics))
	}
	f.groups = append(f.groups, g)
	return nil
}

// chunkRange is where the pages of a chunk are.
func chunkRange(m *format.ColumnMetaData) (from, to int64) {
	from = m.DataPageOffset
	if d := m.DictionaryPageOffset; d > 0 && d < from {
		from = d
	}
	return from, from + m.TotalCompressedSize
}

// Schema is the file's schema in the canonical types of package schema.
func (f *File) Schema() *arrow.Schema { return f.schema }

// Rows is how many rows the file has: the sum over its row groups.
func (f *File) Rows() int64 {
	var rows int64
	for _, g := range f.groups {
		rows += g.Rows
	}
	return rows
}

// RowGroups describes the row groups in order.
func (f *File) RowGroups() []RowGroup { return f.groups }
