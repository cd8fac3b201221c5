package arrowparquet

import (
	"bufio"
	"fmt"
	"hash/crc32"

	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// A chunk holds the encoded pages of one column until the row group is written, because a chunk's bytes are contiguous in the file.
type chunk struct {
	compressor compressor
	always     bool                    // Options.OneCompression
	codec      format.CompressionCodec // of all pages; decided by the first
	decided    bool
	levels     int64
	pages      []page
	data       []byte // bodies of the data pages, as stored
	spare      []byte // scratch for compression
	dict       page
	dictBody   []byte // of the dictionary page, not yet compressed; empty if there is none
}

type page struct {
	levels      int // or entries of a dictionary
	encoding    format.Encoding
	raw, stored int // bytes of the body before and after compression
	checksum    uint32
}

// seal notes how a page is stored.
func (p *page) seal(body []byte) { p.stored, p.checksum = len(body), crc32.ChecksumIEEE(body) }

// add stores the body of one data page, whose values take plain bytes without an encoding.
func (c *chunk) add(body []byte, levels int, encoding format.Encoding, plain int64) error {
	p := page{levels: levels, encoding: encoding, raw: len(body)}
	before := len(c.data)
	if !c.decided {
		c.decided = true
		c.codec = c.compressor.codec()
		if c.data = c.compressor.compress(c.data, body); !c.always && !c.pays(len(body), len(c.data)-before, encoding, plain) {
			c.codec, c.data = format.Uncompressed, append(c.data[:before], body...)
		}
	} else if c.codec == format.Uncompressed {
		c.data = append(c.data, body...)
	} else {
		c.data = c.compressor.compress(c.data, body)
	}
	p.seal(c.data[before:])
	c.pages = append(c.pages, p)
	return nil
}

// pays reports whether a page that takes raw bytes, or stored ones compressed, is worth compressing: if that saves a tenth. Strings without the beginnings that they share are
// compressed already: there the fast compression must save half of the page, or a tenth of the plain values. (A copy of NDJSON with a column of URLs took a tenth more of
// processor time for 12 % fewer bytes; a reader has as much less to do.)
func (c *chunk) pays(raw, stored int, encoding format.Encoding, plain int64) bool {
	saved := int64(raw - stored)
	if encoding == format.DeltaByteArray && c.codec == format.Snappy {
		return 2*saved >= int64(raw) || 10*saved >= plain
	}
	return 10*saved >= int64(raw)
}

// setDictionary keeps the body of the dictionary page, which is copied.
func (c *chunk) setDictionary(body []byte, entries int) error {
	if len(body) > maxPage {
		return fmt.Errorf("arrowparquet: a dictionary of %d bytes is too large", len(body))
	}
	c.dictBody = append(c.dictBody[:0], body...)
	c.dict = page{levels: entries, encoding: format.Plain, raw: len(body)}
	return nil
}

// reconsider lets the next page decide about compression again, because it will be of another kind: pages that are stored raw are compressed now.
func (c *chunk) reconsider() error {
	if len(c.pages) == 0 || c.codec != format.Uncompressed || c.compressor.codec() == format.Uncompressed {
		return nil
	}
	c.codec = c.compressor.codec()
	c.spare = c.spare[:0]
	rest := c.data
	for i := range c.pages {
		p := &c.pages[i]
		before := len(c.spare)
		c.spare = c.compressor.compress(c.spare, rest[:p.raw])
		rest = rest[p.raw:]
		p.seal(c.spare[before:])
	}
	c.data, c.spare = c.spare, c.data
	return nil
}

func (c *chunk) reset() {
	*c = chunk{compressor: c.compressor, always: c.always, pages: c.pages[:0], data: c.data[:0], spare: c.spare[:0], dictBody: c.dictBody[:0]}
}

// writeTo writes the pages at an offset of the file and describes them for the footer. Type, path and statistics are the caller's.
func (c *chunk) writeTo(w *bufio.Writer, offset int64) (format.ColumnMetaData, error) {
	m := format.ColumnMetaData{Codec: c.codec, NumValues: c.levels, Encoding: []format.Encoding{format.RLE}}
	pw := pageWriter{w: w, meta: &m}
	if len(c.dictBody) > 0 || c.dict.levels > 0 {
		m.DictionaryPageOffset = offset
		body := c.dictBody
		if c.codec != format.Uncompressed {
			c.spare = c.compressor.compress(c.spare[:0], body)
			body = c.spare
		}
		c.dict.seal(body)
		pw.dictionary(&c.dict, body)
	}
	m.DataPageOffset = offset + m.TotalCompressedSize
	rest := c.data
	for i := range c.pages {
		p := &c.pages[i]
		pw.data(p, rest[:p.stored])
		rest = rest[p.stored:]
	}
	return m, pw.err
}

// A pageWriter writes headers and bodies, and counts them.
type pageWriter struct {
	w    *bufio.Writer
	meta *format.ColumnMetaData
	err  error
}

func (pw *pageWriter) dictionary(p *page, body []byte) {
	h := format.PageHeader{Type: format.DictionaryPage}
	h.DictionaryPageHeader = thrift.New(format.DictionaryPageHeader{NumValues: int32(p.levels), Encoding: p.encoding})
	pw.page(h, p, body)
}

func (pw *pageWriter) data(p *page, body []byte) {
	h := format.PageHeader{Type: format.DataPage}
	h.DataPageHeader = thrift.New(format.DataPageHeader{
		NumValues: int32(p.levels), Encoding: p.encoding, DefinitionLevelEncoding: format.RLE, RepetitionLevelEncoding: format.RLE,
	})
	pw.page(h, p, body)
}

func (pw *pageWriter) page(h format.PageHeader, p *page, body []byte) {
	if pw.err != nil {
		return
	}
	h.UncompressedPageSize, h.CompressedPageSize, h.CRC = int32(p.raw), int32(p.stored), int32(p.checksum)
	header, err := thrift.Marshal(new(thrift.CompactProtocol), &h)
	if err != nil {
		pw.err = fmt.Errorf("arrowparquet: page header: %w", err)
		return
	}
	pw.count(h.Type, p, len(header))
	if _, pw.err = pw.w.Write(header); pw.err == nil {
		_, pw.err = pw.w.Write(body)
	}
}

func (pw *pageWriter) count(t format.PageType, p *page, header int) {
	m := pw.meta
	m.TotalUncompressedSize += int64(header + p.raw)
	m.TotalCompressedSize += int64(header + p.stored)
	for i := range m.EncodingStats {
		if s := &m.EncodingStats[i]; s.PageType == t && s.Encoding == p.encoding {
			s.Count++
			return
		}
	}
	m.EncodingStats = append(m.EncodingStats, format.PageEncodingStats{PageType: t, Encoding: p.encoding, Count: 1})
	for _, e := range m.Encoding {
		if e == p.encoding {
			return
		}
	}
	m.Encoding = append(m.Encoding, p.encoding)
}
