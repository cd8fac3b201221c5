package arrowparquet

import (
	"bufio"
	"fmt"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/parquet-go/parquet-go/format"
)

const magic = "PAR1"

// stepBytes bounds the rows that are encoded at once by their size in memory, over all columns.
const stepBytes = 16 << 20

// Writer writes one Parquet file. It is used by one goroutine.
type Writer struct {
	schema  *arrow.Schema
	options Options
	out     *bufio.Writer
	roots   []*node
	leaves  []*node
	columns []*column
	written int64 // bytes given to out
	rows    int64
	inGroup int64 // rows of the row group at hand
	groups  []format.RowGroup

	boundTo  *arrow.Schema // the schema that bindings are for
	bindings []binding
}

// NewWriter starts a file of a schema, whose types are the canonical ones of package schema. Nothing is closed or synced: w is the caller's.
func NewWriter(w io.Writer, s *arrow.Schema, o Options) (*Writer, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	c, err := newCompressor(o.Compression)
	if err != nil {
		return nil, err
	}
	out := &Writer{schema: s, options: o, out: bufio.NewWriterSize(w, 64<<10)}
	if out.roots, out.leaves, err = layout(s); err != nil {
		return nil, err
	}
	shared := &buffers{}
	for _, n := range out.leaves {
		col, err := newColumn(n, out.roots, o, c, shared)
		if err != nil {
			return nil, err
		}
		out.columns = append(out.columns, col)
	}
	return out, out.put([]byte(magic))
}

func (w *Writer) put(b []byte) error {
	n, err := w.out.Write(b)
	w.written += int64(n)
	if err != nil {
		return fmt.Errorf("arrowparquet: write: %w", err)
	}
	return nil
}

// Write appends the rows of a record. Columns are matched by name, without regard to case; one that is missing is written as nulls if it is nullable, one
// that is too many is an error, as is a null in a column that is not nullable. Narrower integers fit wider columns. The record is not kept. After an error
// the file is of no use.
func (w *Writer) Write(rec arrow.RecordBatch) error {
	if err := w.bind(rec.Schema()); err != nil {
		return err
	}
	rows := int(rec.NumRows())
	step := stepRows(rec)
	for from := 0; from < rows; {
		to := w.stepEnd(from, rows, step)
		for i, c := range w.columns {
			if err := c.write(&w.bindings[i], rec.Columns(), from, to); err != nil {
				return err
			}
		}
		w.rows += int64(to - from)
		w.inGroup += int64(to - from)
		from = to
		if err := w.settle(step); err != nil {
			return err
		}
	}
	return nil
}

func (w *Writer) bind(s *arrow.Schema) error {
	if w.boundTo == s {
		return nil
	}
	b, err := bind(w.roots, w.leaves, s)
	if err != nil {
		return err
	}
	w.boundTo, w.bindings = s, b
	return nil
}

// stepEnd cuts a record into pages: step rows, what is missing to a full pending page, or the rest, if what would remain is too little for a page.
func (w *Writer) stepEnd(from, rows, step int) int {
	if pending := w.columns[0].pending.rows; pending > 0 {
		return min(rows, from+max(1, step-pending))
	}
	if rows-from <= step+step/2 {
		return rows
	}
	return from + step
}

// settle ends pages and the row group that are large enough.
func (w *Writer) settle(step int) error {
	pending := w.columns[0].pending.rows
	full := pending >= step
	for i := 0; !full && i < len(w.columns) && pending > 0; i++ {
		full = w.columns[i].pending.vals.bytes() >= pageBytes
	}
	if full {
		for _, c := range w.columns {
			if err := c.flush(); err != nil {
				return err
			}
		}
	}
	if w.inGroup >= w.options.RowGroupRows || w.buffered() >= w.options.RowGroupBytes {
		return w.endGroup()
	}
	return nil
}

func (w *Writer) buffered() int64 {
	var size int64
	for _, c := range w.columns {
		size += c.size()
	}
	return size
}

// Size is about how many bytes the file would have if it were closed now: what was written and what is buffered.
func (w *Writer) Size() int64 { return w.written + w.buffered() }

// Rows is how many rows were written.
func (w *Writer) Rows() int64 { return w.rows }

// endGroup writes the chunks of the row group one after the other.
func (w *Writer) endGroup() error {
	if w.inGroup == 0 {
		return nil
	}
	g := format.RowGroup{NumRows: w.inGroup, FileOffset: w.written, Ordinal: int16(min(len(w.groups), 1<<15-1))}
	for _, c := range w.columns {
		if err := c.endGroup(); err != nil {
			return err
		}
		meta, err := c.chunk.writeTo(w.out, w.written)
		if err != nil {
			return fmt.Errorf("arrowparquet: write: %w", err)
		}
		meta.Type, meta.PathInSchema, meta.Statistics = c.typ, c.path, c.group.statistics()
		w.written += meta.TotalCompressedSize
		g.TotalByteSize += meta.TotalUncompressedSize
		g.TotalCompressedSize += meta.TotalCompressedSize
		g.Columns = append(g.Columns, format.ColumnChunk{MetaData: meta})
		c.reset()
	}
	w.groups = append(w.groups, g)
	w.inGroup = 0
	return nil
}

// Close writes what is buffered and the footer. It does not close the underlying writer.
func (w *Writer) Close() (*FileStats, error) {
	if err := w.endGroup(); err != nil {
		return nil, err
	}
	footer, err := w.footer()
	if err != nil {
		return nil, err
	}
	if err := w.put(footer); err != nil {
		return nil, err
	}
	if err := w.out.Flush(); err != nil {
		return nil, fmt.Errorf("arrowparquet: write: %w", err)
	}
	stats := &FileStats{Rows: w.rows, Bytes: w.written, schema: w.schema, indexed: w.options.StatsColumns}
	for _, c := range w.columns {
		stats.Columns = append(stats.Columns, c.file.column(c.node))
	}
	return stats, nil
}

// stepRows is how many rows of a record make a page: fewer than usual if the rows are large.
func stepRows(rec arrow.RecordBatch) int {
	rows := int(rec.NumRows())
	if rows == 0 {
		return pageRows
	}
	var size int64
	for _, c := range rec.Columns() {
		size += memoryOf(c.Data(), c.Data().Offset(), c.Data().Offset()+c.Len())
	}
	return int(max(1, min(pageRows, stepBytes*int64(rows)/max(1, size))))
}

// memoryOf is about how many bytes the values at the physical positions [lo, hi) of an array take.
func memoryOf(arr arrow.ArrayData, lo, hi int) int64 {
	rows := int64(hi - lo)
	switch t := arr.DataType().(type) {
	case *arrow.StructType:
		size := int64(0)
		for _, c := range arr.Children() {
			size += memoryOf(c, lo+c.Offset(), hi+c.Offset())
		}
		return size
	case *arrow.ListType, *arrow.MapType:
		offs, child := slice[int32](arr, 1), arr.Children()[0]
		if rows == 0 {
			return 0
		}
		return 4*rows + memoryOf(child, int(offs[lo])+child.Offset(), int(offs[hi])+child.Offset())
	case *arrow.StringType, *arrow.BinaryType:
		offs := slice[uint32](arr, 1)
		if rows == 0 {
			return 0
		}
		return 4*rows + int64(offs[hi]-offs[lo])
	case arrow.FixedWidthDataType:
		return max(1, int64(t.BitWidth())/8) * rows
	}
	return 8 * rows
}
