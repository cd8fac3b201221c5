package arrowparquet

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Sizes of what is read of a chunk: the file is read in blocks, for a header first little and then more.
const (
	readBlock      = 1 << 20
	firstHeader    = 256
	largestHeader  = 1 << 20
	largestEntries = 1 << 26 // of a page
)

// A dataPage is a decoded page: levels, and values or indexes into the chunk's dictionary.
type dataPage struct {
	levels  int
	def     []uint8 // nil: all at the maximum
	rep     []uint8 // nil: all 0
	present int     // levels with a value
	vals    values
	indexed bool
	index   []int32
}

// A pageReader reads the pages of a chunk one after the other.
type pageReader struct {
	*stored
	codec   format.CompressionCodec
	in      *bufio.Reader
	left    int64 // bytes of the chunk
	entries int64 // levels that are still to come
	limit   int64 // of one page
	budget  *budget
	unpack  *decompressor

	page    dataPage
	dict    values
	hasDict bool
	longest int // bytes of the longest entry of the dictionary
	raw     []byte
	body    []byte
	held    int64 // bytes, as charged to the budget
}

// A budget bounds the memory of all pages that are open at once: those of one scan, one for each leaf.
type budget struct{ used, limit int64 }

// charge counts bytes more, or less, and reports when there are too many.
func (b *budget) charge(n int64) error {
	if b.used += n; b.used > b.limit {
		return fmt.Errorf("the pages that have to be open at once take %d bytes (the limit is %d)", b.used, b.limit)
	}
	return nil
}

func newPageReader(f *File, group, leaf int, budget *budget, unpack *decompressor) *pageReader {
	m := &f.meta.RowGroups[group].Columns[leaf].MetaData
	from, to := chunkRange(m)
	in := bufio.NewReaderSize(io.NewSectionReader(f.r, from, to-from), int(min(readBlock, max(firstHeader, to-from))))
	return &pageReader{stored: &f.leaves[leaf], codec: m.Codec, in: in, left: to - from, entries: m.NumValues, limit: f.limits.PageBytes, budget: budget, unpack: unpack}
}

// next reads the next data page, and a dictionary page before it. It returns io.EOF after the last.
func (p *pageReader) next() error {
	for {
		if p.entries <= 0 {
			return io.EOF
		}
		if p.left <= 0 {
			return fmt.Errorf("column %s: %d values are missing", dotted(p.path), p.entries)
		}
		h, err := p.header()
		if err == nil {
			err = p.readBody(&h)
		}
		done := false
		if err == nil {
			done, err = p.decode(&h)
		}
		if err == nil {
			err = p.charge()
		}
		if err != nil {
			return fmt.Errorf("column %s: %w", dotted(p.path), err)
		}
		if done {
			p.entries -= int64(p.page.levels)
			return nil
		}
	}
}

// charge accounts for what the page at hand has made this reader hold. A page is decoded before it is counted: each is bounded by itself.
func (p *pageReader) charge() error {
	held := int64(cap(p.raw)+cap(p.body)+cap(p.page.def)+cap(p.page.rep)+4*cap(p.page.index)) + p.page.vals.held() + p.dict.held()
	more := held - p.held
	p.held = held
	return p.budget.charge(more)
}

// header reads a page header, whose length nothing tells beforehand.
func (p *pageReader) header() (h format.PageHeader, err error) {
	for want := int64(firstHeader); ; want *= 8 {
		b, err := p.in.Peek(int(min(want, p.left, int64(p.in.Size()))))
		if err != nil && err != io.EOF {
			return h, err
		}
		n, err := checkThrift(b)
		if err != nil {
			if want >= min(p.left, largestHeader, int64(p.in.Size())) {
				return h, fmt.Errorf("page header: %w", err)
			}
			continue
		}
		if err := thrift.NewDecoder(new(thrift.CompactProtocol).NewReaderFromBytes(b[:n])).Decode(&h); err != nil {
			return h, fmt.Errorf("page header: %w", err)
		}
		_, err = p.in.Discard(n)
		p.left -= int64(n)
		return h, err
	}
}

func (p *pageReader) readBody(h *format.PageHeader) error {
	size := int64(h.CompressedPageSize)
	if size < 0 || size > p.left || h.UncompressedPageSize < 0 || int64(h.UncompressedPageSize) > p.limit || size > p.limit {
		return fmt.Errorf("a page of %d bytes, %d uncompressed (the limit is %d)", size, h.UncompressedPageSize, p.limit)
	}
	p.raw = resize(p.raw, int(size))
	if _, err := io.ReadFull(p.in, p.raw); err != nil {
		return fmt.Errorf("read a page: %w", err)
	}
	p.left -= size
	if h.CRC != 0 && uint32(h.CRC) != crc32.ChecksumIEEE(p.raw) {
		return fmt.Errorf("%w: the checksum differs", errPage)
	}
	return nil
}

// decode decodes a page of any kind, and reports whether it was one with data.
func (p *pageReader) decode(h *format.PageHeader) (data bool, err error) {
	switch h.Type {
	case format.DictionaryPage:
		return false, p.dictionary(h)
	case format.DataPage:
		return true, p.version1(h)
	case format.DataPageV2:
		return true, p.version2(h)
	}
	return false, nil // an index page, or what is not known yet: skipped, as the format asks
}

func (p *pageReader) decompress(src []byte, size int) ([]byte, error) {
	if p.codec == format.Uncompressed {
		if len(src) != size {
			return nil, errPage
		}
		return src, nil
	}
	var err error
	p.body, err = p.unpack.decompress(p.codec, p.body, src, size)
	return p.body, err
}

func (p *pageReader) dictionary(h *format.PageHeader) error {
	d := h.DictionaryPageHeader
	if !d.Valid || p.hasDict || d.V.NumValues < 0 {
		return errPage
	}
	body, err := p.decompress(p.raw, int(h.UncompressedPageSize))
	if err != nil {
		return err
	}
	n := int(d.V.NumValues)
	if p.typ == format.Boolean || n > len(body) { // each entry takes a byte at least
		return errPage
	}
	p.hasDict = true
	if err := p.dict.decode(p.stored, format.Plain, body, n, p.limit); err != nil {
		return err
	}
	if p.typ == format.FixedLenByteArray {
		p.longest = p.length
	}
	for i := 1; i < len(p.dict.offs); i++ {
		p.longest = max(p.longest, int(p.dict.offs[i]-p.dict.offs[i-1]))
	}
	return p.checkText(&p.dict)
}

func (p *pageReader) version1(h *format.PageHeader) error {
	d := h.DataPageHeader
	if !d.Valid {
		return errPage
	}
	if err := p.begin(int64(d.V.NumValues)); err != nil {
		return err
	}
	body, err := p.decompress(p.raw, int(h.UncompressedPageSize))
	if err != nil {
		return err
	}
	for _, l := range []struct {
		to      *[]uint8
		maximum int
		enc     format.Encoding
	}{{&p.page.rep, p.rep, d.V.RepetitionLevelEncoding}, {&p.page.def, p.def, d.V.DefinitionLevelEncoding}} {
		if l.maximum == 0 {
			continue
		}
		if l.enc != format.RLE {
			return fmt.Errorf("levels in encoding %s are not supported", l.enc)
		}
		if len(body) < 4 || uint64(binary.LittleEndian.Uint32(body)) > uint64(len(body)-4) {
			return errPage
		}
		size := binary.LittleEndian.Uint32(body)
		if err := p.levels(l.to, body[4:4+size], l.maximum); err != nil {
			return err
		}
		body = body[4+size:]
	}
	return p.values(d.V.Encoding, body)
}

func (p *pageReader) version2(h *format.PageHeader) error {
	d := h.DataPageHeaderV2
	if !d.Valid {
		return errPage
	}
	if err := p.begin(int64(d.V.NumValues)); err != nil {
		return err
	}
	rep, def := int(d.V.RepetitionLevelsByteLength), int(d.V.DefinitionLevelsByteLength)
	if rep < 0 || def < 0 || rep+def > len(p.raw) || rep+def > int(h.UncompressedPageSize) {
		return errPage
	}
	if p.rep > 0 {
		if err := p.levels(&p.page.rep, p.raw[:rep], p.rep); err != nil {
			return err
		}
	}
	if p.def > 0 {
		if err := p.levels(&p.page.def, p.raw[rep:rep+def], p.def); err != nil {
			return err
		}
	}
	body := p.raw[rep+def:]
	if !d.V.IsCompressed.Valid || d.V.IsCompressed.V {
		var err error
		if size := int(h.UncompressedPageSize) - rep - def; size > 0 || len(body) > 0 {
			if body, err = p.decompress(body, size); err != nil {
				return err
			}
		}
	}
	return p.values(d.V.Encoding, body)
}

// begin starts a page of n levels.
func (p *pageReader) begin(n int64) error {
	if n < 0 || n > p.entries || n > largestEntries {
		return errPage
	}
	p.page.levels = int(n)
	p.page.def, p.page.rep = p.page.def[:0], p.page.rep[:0]
	return nil
}

func (p *pageReader) levels(to *[]uint8, b []byte, maximum int) error {
	out, err := decodeLevels(*to, b, bitWidth(maximum), p.page.levels)
	if err != nil {
		return err
	}
	for _, l := range out {
		if int(l) > maximum {
			return errPage
		}
	}
	*to = out
	return nil
}

func (p *pageReader) values(encoding format.Encoding, body []byte) error {
	g := &p.page
	g.present = g.levels
	if p.def > 0 {
		g.present = count(g.def, uint8(p.def))
	}
	g.indexed = encoding == format.RLEDictionary || encoding == format.PlainDictionary
	if g.indexed {
		var err error
		g.index, err = decodeIndexes(g.index, body, g.present, p.dict.n)
		return err
	}
	if err := g.vals.decode(p.stored, encoding, body, g.present, p.limit); err != nil {
		return err
	}
	return p.checkText(&g.vals)
}

func count(levels []uint8, level uint8) int {
	n := 0
	for _, l := range levels {
		if l == level {
			n++
		}
	}
	return n
}
