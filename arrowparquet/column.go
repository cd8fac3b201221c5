package arrowparquet

import (
	"github.com/apache/arrow-go/v18/arrow"
	"github.com/parquet-go/parquet-go/format"
)

// Page sizes: a page is encoded while its rows are still in the processor's cache.
const (
	pageRows  = 8 << 10
	pageBytes = 1 << 20 // of rows collected from small records
)

// A column writes the pages of one leaf: rows come in as runs, leave as encoded pages, and stand in the chunk until the row group ends.
type column struct {
	*node
	physical
	path  []string // in the file
	plain bool     // Options.Encoding
	list  int      // definition level of the outermost list around the leaf, when it is not null; 0 if there is none

	pending run       // rows of records that are too small for a page each
	current run       // the rows at hand: views of Arrow memory
	own     values    // the same, where they had to be copied or converted
	expand  expansion // scratch for levels
	enc     encoder
	dict    *dictionary // nil if the column is no string, or has given up
	chunk   chunk
	group   bounds // minimum and maximum of the row group
	file    bounds // and of the file
}

func newColumn(n *node, roots []*node, o Options, c compressor, shared *buffers) (*column, error) {
	p, err := physicalOf(n.field.Type)
	if err != nil {
		return nil, err
	}
	col := &column{node: n, physical: p, path: n.filePath(roots), plain: o.Encoding == Plain}
	col.list = n.outermostList(roots)
	col.chunk.compressor, col.chunk.always = c, o.OneCompression
	col.enc.buffers = shared
	col.group.init(n.field.Type, p)
	col.file.init(n.field.Type, p)
	if p.typ == format.ByteArray && !col.plain {
		col.dict = newDictionary()
	}
	return col, nil
}

// write takes the rows [from, to) of a record: as a page of their own if they are many and nothing is pending.
func (c *column) write(b *binding, cols []arrow.Array, from, to int) error {
	if err := c.load(b, cols, from, to); err != nil {
		return err
	}
	if c.pending.rows == 0 && to-from >= pageRows/2 {
		return c.page(&c.current)
	}
	c.pend()
	return nil
}

// load makes the rows the current run.
func (c *column) load(b *binding, cols []arrow.Array, from, to int) error {
	c.current = run{rows: to - from, levels: to - from}
	if len(b.nodes) == 1 && b.child[0] != missing {
		if arr := cols[b.child[0]]; arr.NullN() == 0 {
			c.current.vals.view(c, arr.Data(), from, to, &c.own)
			return nil
		}
	}
	arr, err := c.expand.walk(b, cols, from, to)
	if err != nil {
		return err
	}
	c.current.levels = len(c.expand.at)
	if c.def > 0 {
		c.current.def = c.expand.def
	}
	if c.rep > 0 {
		c.current.rep = c.expand.rep
	}
	if arr != nil {
		c.own.gather(c, arr, c.expand.positions())
		c.current.vals = c.own
	}
	return nil
}

// pend copies the current run behind the pending rows.
func (c *column) pend() {
	p, r := &c.pending, &c.current
	if c.def > 0 {
		p.def = appendLevels(p.def, r.def, r.levels, uint8(c.def))
	}
	if c.rep > 0 {
		p.rep = append(p.rep, r.rep...)
	}
	p.rows += r.rows
	p.levels += r.levels
	p.vals.append(&r.vals)
}

// appendLevels appends levels, of which nil means n times the maximum.
func appendLevels(dst, levels []uint8, n int, maximum uint8) []uint8 {
	if levels != nil {
		return append(dst, levels...)
	}
	for range n {
		dst = append(dst, maximum)
	}
	return dst
}

// flush encodes the pending rows.
func (c *column) flush() error {
	if c.pending.rows == 0 {
		return nil
	}
	if err := c.page(&c.pending); err != nil {
		return err
	}
	p := &c.pending
	p.rows, p.levels, p.def, p.rep = 0, 0, p.def[:0], p.rep[:0]
	p.vals.reset()
	return nil
}

// page encodes a run as one data page.
func (c *column) page(r *run) error {
	body, encoding, err := c.enc.page(c, r)
	if err != nil {
		return err
	}
	c.group.nulls += int64(r.levels - r.vals.n)
	c.group.lists += c.nullLists(r)
	c.chunk.levels += int64(r.levels)
	if encoding != format.RLEDictionary { // else the entries of the dictionary are looked at, once
		c.group.update(&r.vals)
	}
	return c.chunk.add(body, r.levels, encoding, r.vals.bytes())
}

// nullLists counts the rows in which the outermost list is null: each has one entry, with a lower level than any list has.
func (c *column) nullLists(r *run) int64 {
	n := int64(0)
	if c.list > 0 {
		for _, d := range r.def {
			if int(d) < c.list {
				n++
			}
		}
	}
	return n
}

// endGroup ends the chunk: bounds are complete, a dictionary in use becomes the chunk's first page.
func (c *column) endGroup() error {
	if err := c.flush(); err != nil {
		return err
	}
	if c.dict == nil || c.dict.n() == 0 {
		return nil
	}
	c.group.update(c.dict.values())
	return c.chunk.setDictionary(c.dict.plain(c.enc.scratch[:0]), c.dict.n())
}

// reset begins the next row group.
func (c *column) reset() {
	c.file.merge(&c.group)
	c.group.reset()
	c.chunk.reset()
	c.enc.reset()
	if c.dict != nil {
		c.dict.reset()
	}
}

// size is about how many bytes the column holds for the row group at hand.
func (c *column) size() int64 {
	size := int64(len(c.chunk.data)) + c.pending.vals.bytes()/2
	if c.dict != nil {
		size += int64(len(c.dict.data))
	}
	return size
}
