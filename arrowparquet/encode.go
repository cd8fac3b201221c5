package arrowparquet

import (
	"encoding/binary"
	"fmt"

	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"
)

// maxPage is the most bytes of a page: sizes in the format are 32-bit.
const maxPage = 1 << 30

// An encoder makes the bodies of a column's data pages.
type encoder struct {
	*buffers
	tried    bool // in this row group: what follows is decided
	plainInt bool // DELTA_BINARY_PACKED does not pay
	prefixed bool // strings share so much with the one before that DELTA_BYTE_ARRAY pays
}

// buffers are scratch memory that the columns of a file share: they encode one after the other.
type buffers struct {
	body    []byte  // the page at hand
	scratch []byte  // levels, then the dictionary page
	indexes []int32 // of the dictionary
	front   frontCoder
}

func (e *encoder) reset() { e.tried, e.plainInt, e.prefixed = false, false, false }

// page encodes levels and values of a run as the body of a data page (version 1), which is valid until the next call.
func (e *encoder) page(c *column, r *run) ([]byte, format.Encoding, error) {
	e.body = e.body[:0]
	var err error
	if c.rep > 0 {
		if err = e.levels(r.rep, r.levels, c.rep); err != nil {
			return nil, 0, err
		}
	}
	if c.def > 0 {
		if err = e.levels(r.def, r.levels, c.def); err != nil {
			return nil, 0, err
		}
	}
	encoding, err := e.values(c, &r.vals)
	if err == nil && len(e.body) > maxPage {
		err = fmt.Errorf("a page of %d bytes is too large", len(e.body))
	}
	if err != nil {
		return nil, 0, fmt.Errorf("arrowparquet: column %s: %w", dotted(c.node.path), err)
	}
	return e.body, encoding, nil
}

// levels appends levels with their length in front. nil levels are all at the maximum.
func (e *encoder) levels(levels []uint8, n, maximum int) error {
	at := len(e.body)
	e.body = append(e.body, 0, 0, 0, 0)
	if levels == nil {
		e.body = binary.AppendUvarint(e.body, uint64(n)<<1) // one run
		e.body = append(e.body, uint8(maximum))
	} else {
		var err error
		enc := rle.Encoding{BitWidth: bitWidth(maximum)}
		if e.scratch, err = enc.EncodeLevels(e.scratch, levels); err != nil {
			return err
		}
		e.body = append(e.body, e.scratch...)
	}
	binary.LittleEndian.PutUint32(e.body[at:], uint32(len(e.body)-at-4))
	return nil
}

func (e *encoder) values(c *column, v *values) (format.Encoding, error) {
	switch c.typ {
	case format.Boolean:
		e.body = packBits(e.body, v.bools)
	case format.Int32:
		if e.delta(c) {
			return format.DeltaBinaryPacked, e.deltaInts(v, 4*v.n)
		}
		e.body = append(e.body, asBytes(v.i32)...)
	case format.Int64:
		if e.delta(c) {
			return format.DeltaBinaryPacked, e.deltaInts(v, 8*v.n)
		}
		e.body = append(e.body, asBytes(v.i64)...)
	case format.Float:
		e.body = append(e.body, asBytes(v.f32)...)
	case format.Double:
		e.body = append(e.body, asBytes(v.f64)...)
	case format.FixedLenByteArray:
		e.body = append(e.body, v.fixed...)
	case format.ByteArray:
		return e.strings(c, v)
	}
	return format.Plain, nil
}

func (e *encoder) delta(c *column) bool { return !c.plain && !e.plainInt }

// deltaInts appends integers as differences. Does that not gain 5 % on the first page of a row group, the next ones are PLAIN.
func (e *encoder) deltaInts(v *values, plain int) error {
	var enc delta.BinaryPackedEncoding
	before := len(e.body)
	out, err := e.tail(plain+plain/8+1024), error(nil)
	if v.i32 != nil {
		out, err = enc.EncodeInt32(out, v.i32)
	} else {
		out, err = enc.EncodeInt64(out, v.i64)
	}
	if err != nil {
		return err
	}
	e.body = extend(e.body, out)
	if !e.tried && v.n > 0 {
		e.tried, e.plainInt = true, len(e.body)-before > plain-plain/20
	}
	return nil
}

// extend appends out, which usually stands right behind body already.
func extend(body, out []byte) []byte {
	n := len(body)
	if len(out) > 0 && cap(body) >= n+len(out) && &body[n : n+1][0] == &out[0] {
		return body[:n+len(out)]
	}
	return append(body, out...)
}

// tail is empty memory behind the body, of at least n bytes.
func (e *encoder) tail(n int) []byte {
	if cap(e.body)-len(e.body) < n {
		grown := make([]byte, len(e.body), len(e.body)+n+n/4)
		copy(grown, e.body)
		e.body = grown
	}
	return e.body[len(e.body):]
}

// strings encodes byte arrays: by the dictionary as long as that pays, else by what each does not share with the one before if that is less than half on the first
// page of a row group, else whole, lengths as differences in front.
func (e *encoder) strings(c *column, v *values) (format.Encoding, error) {
	if c.plain {
		e.body = appendPlainBytes(e.tailed(4*v.n), v)
		return format.Plain, nil
	}
	if v.n == 0 && (c.dict == nil || c.dict.n() == 0) {
		return format.Plain, nil // a dictionary without entries would not be written
	}
	if c.dict != nil {
		var ok bool
		if e.indexes, ok = c.dict.index(e.indexes[:0], v); ok {
			return format.RLEDictionary, e.dictIndexes()
		}
		if err := c.giveUpDictionary(); err != nil {
			return 0, err
		}
	}
	size := int(v.offs[v.n] - v.offs[0])
	if !e.tried || e.prefixed {
		e.front.cut(v)
		if !e.tried {
			e.tried, e.prefixed = true, 2*len(e.front.data) < size
		}
		if e.prefixed {
			var err error
			e.body, err = e.front.encode(e.tailed(len(e.front.data) + 10*v.n + 2048))
			return format.DeltaByteArray, err
		}
	}
	var enc delta.LengthByteArrayEncoding
	// The encoding appends all of the bytes that it is given, whatever the offsets.
	out, err := enc.EncodeByteArray(e.tail(size+5*v.n+1024), v.data[v.offs[0]:v.offs[v.n]], v.offs[:v.n+1])
	e.body = extend(e.body, out)
	return format.DeltaLengthByteArray, err
}

func (e *encoder) tailed(n int) []byte {
	e.tail(n)
	return e.body
}

func (e *encoder) dictIndexes() error {
	var enc rle.DictionaryEncoding
	out, err := enc.EncodeInt32(e.tail(4*len(e.indexes)+1024), e.indexes)
	e.body = extend(e.body, out)
	return err
}

// giveUpDictionary ends the use of the dictionary. Pages that use it stay, and with them its entries, as the chunk's first page.
func (c *column) giveUpDictionary() error {
	d := c.dict
	c.dict = nil
	if d.n() == 0 {
		return nil
	}
	c.group.update(d.values())
	if err := c.chunk.setDictionary(d.plain(c.enc.scratch[:0]), d.n()); err != nil {
		return err
	}
	return c.chunk.reconsider()
}
