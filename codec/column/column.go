package column

import (
	"encoding/binary"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// Column builds one Arrow array. It is used by one goroutine.
type Column struct {
	field arrow.Field
	kind  Kind
	width int // of a value in fixed, in bytes
	alloc memory.Allocator

	n, cap int // values held, values there is room for
	nulls  int
	used   int // bytes of data that belong to values

	valid []byte // validity bits, 1 beyond n; nil until the first null
	fixed []byte // values, bits or offsets
	data  []byte // the bytes of strings

	validBuf, fixedBuf, dataBuf *memory.Buffer
	hintRows, hintData          int // what the last record needed: the first allocation of the next

	kids []*Column

	minutePrefix [16]byte // "2006-01-02T15:04" of the last timestamp, and
	minuteMicros int64    // what it stands for
}

// newColumn makes an empty column. It allocates nothing until the first value.
func newColumn(field arrow.Field, alloc memory.Allocator) (*Column, error) {
	kind, err := kindOf(field.Type)
	if err != nil {
		return nil, fmt.Errorf("column %s: %w", field.Name, err)
	}
	c := &Column{field: field, kind: kind, width: widths[kind], alloc: alloc}
	var kids []arrow.Field
	switch t := field.Type.(type) {
	case *arrow.ListType:
		kids = []arrow.Field{t.ElemField()}
	case *arrow.MapType:
		kids = []arrow.Field{{Name: "entries", Type: t.Elem()}}
	case *arrow.StructType:
		kids = t.Fields()
	}
	for _, f := range kids {
		kid, err := newColumn(f, alloc)
		if err != nil {
			return nil, fmt.Errorf("column %s: %w", field.Name, err)
		}
		c.kids = append(c.kids, kid)
	}
	return c, nil
}

// Field is the Arrow field the column was made for.
func (c *Column) Field() arrow.Field { return c.field }

// Kind is what the column holds.
func (c *Column) Kind() Kind { return c.kind }

// Len is the number of values.
func (c *Column) Len() int { return c.n }

// Kids are the columns below: the fields of a struct, the element of a list, the entries (a struct of key and value) of a map.
func (c *Column) Kids() []*Column { return c.kids }

// AppendInt64 appends to a column of 8-byte values: Int64, Timestamp, TimestampNTZ, and Float64 by its bits.
func (c *Column) AppendInt64(v int64) {
	if c.n == c.cap {
		c.grow()
	}
	binary.LittleEndian.PutUint64(c.fixed[c.n*8:], uint64(v))
	c.n++
}

// AppendInt32 appends to a column of 4-byte values: Int32, Date, and Float32 by its bits.
func (c *Column) AppendInt32(v int32) {
	if c.n == c.cap {
		c.grow()
	}
	binary.LittleEndian.PutUint32(c.fixed[c.n*4:], uint32(v))
	c.n++
}

// AppendInt16 appends to an Int16 column.
func (c *Column) AppendInt16(v int16) {
	if c.n == c.cap {
		c.grow()
	}
	binary.LittleEndian.PutUint16(c.fixed[c.n*2:], uint16(v))
	c.n++
}

// AppendInt8 appends to an Int8 column.
func (c *Column) AppendInt8(v int8) {
	if c.n == c.cap {
		c.grow()
	}
	c.fixed[c.n] = byte(v)
	c.n++
}

// AppendBool appends to a Bool column.
func (c *Column) AppendBool(v bool) {
	if c.n == c.cap {
		c.grow()
	}
	bit := byte(1) << (c.n & 7)
	if v {
		c.fixed[c.n>>3] |= bit
	} else {
		c.fixed[c.n>>3] &^= bit
	}
	c.n++
}

// AppendDecimal appends to a Decimal column a number already scaled to its type.
func (c *Column) AppendDecimal(v decimal128.Num) {
	if c.n == c.cap {
		c.grow()
	}
	binary.LittleEndian.PutUint64(c.fixed[c.n*16:], v.LowBits())
	binary.LittleEndian.PutUint64(c.fixed[c.n*16+8:], uint64(v.HighBits()))
	c.n++
}

// AppendBytes appends to a String or Binary column.
func (c *Column) AppendBytes(v []byte) {
	copy(c.Tail(len(v)), v)
	c.CommitTail(len(v))
}

// Tail is room behind the bytes of a String or Binary column, at least min long. What is written there becomes a value by CommitTail; a later
// call of Tail with a larger min keeps it.
func (c *Column) Tail(min int) []byte {
	if len(c.data)-c.used < min {
		c.growData(min)
	}
	return c.data[c.used:]
}

// CommitTail appends the first n bytes of the tail as a value.
func (c *Column) CommitTail(n int) {
	if c.n == c.cap {
		c.grow()
	}
	c.used += n
	c.n++
	binary.LittleEndian.PutUint32(c.fixed[c.n*4:], uint32(c.used))
}

// AppendList ends a list or map value, whose elements have been appended to the column below.
func (c *Column) AppendList() {
	if c.n == c.cap {
		c.grow()
	}
	c.n++
	binary.LittleEndian.PutUint32(c.fixed[c.n*4:], uint32(c.kids[0].n))
}

// AppendStruct ends a struct value, whose fields have been appended to the columns below.
func (c *Column) AppendStruct() {
	if c.n == c.cap {
		c.grow()
	}
	c.n++
}

// AppendNull appends a null to a column of any kind.
func (c *Column) AppendNull() {
	if c.n == c.cap {
		c.grow()
	}
	if c.valid == nil {
		c.allocValid()
	}
	c.valid[c.n>>3] &^= 1 << (c.n & 7)
	c.nulls++
	switch c.kind {
	case Bool:
		c.fixed[c.n>>3] &^= 1 << (c.n & 7)
	case String, Binary:
		binary.LittleEndian.PutUint32(c.fixed[c.n*4+4:], uint32(c.used))
	case List, Map:
		binary.LittleEndian.PutUint32(c.fixed[c.n*4+4:], uint32(c.kids[0].n))
	case Struct:
		for _, kid := range c.kids {
			kid.AppendNull()
		}
	default:
		clear(c.fixed[c.n*c.width : (c.n+1)*c.width])
	}
	c.n++
}

// Truncate takes back all values from the n-th on, and whatever was appended below them.
func (c *Column) Truncate(n int) {
	for i := n; i < c.n && c.nulls > 0; i++ {
		if bit := byte(1) << (i & 7); c.valid[i>>3]&bit == 0 {
			c.valid[i>>3] |= bit
			c.nulls--
		}
	}
	c.n = n
	switch c.kind {
	case String, Binary:
		c.used = c.offset(n)
	case List, Map:
		c.kids[0].Truncate(c.offset(n))
	case Struct:
		for _, kid := range c.kids {
			kid.Truncate(n)
		}
	}
}

// take hands the values over as an Arrow array's data and leaves the column empty.
func (c *Column) take() arrow.ArrayData {
	buffers := []*memory.Buffer{c.takeValid()}
	if c.kind != Struct {
		buffers = append(buffers, c.takeFixed())
	}
	if c.kind == String || c.kind == Binary {
		c.hintData = max(c.used, c.hintData/2)
		buffers = append(buffers, takeBuffer(c.alloc, c.dataBuf, c.used))
	}
	var kids []arrow.ArrayData
	for _, kid := range c.kids {
		kids = append(kids, kid.take())
	}
	data := array.NewData(c.field.Type, c.n, buffers, kids, c.nulls, 0)
	for _, b := range buffers {
		if b != nil {
			b.Release()
		}
	}
	for _, kid := range kids {
		kid.Release()
	}
	c.hintRows = max(c.n, c.hintRows/2) // the last record of a unit is a short one
	c.forget()
	return data
}

// takeValid is the validity bits, those beyond the last value cleared; nil if there are no nulls.
func (c *Column) takeValid() *memory.Buffer {
	if c.nulls == 0 {
		if c.validBuf != nil {
			c.validBuf.Release()
		}
		return nil
	}
	clearTail(c.valid, c.n)
	return takeBuffer(c.alloc, c.validBuf, (c.n+7)/8)
}

// takeFixed is the buffer of values, bits or offsets.
func (c *Column) takeFixed() *memory.Buffer {
	switch {
	case c.kind == Bool:
		clearTail(c.fixed, c.n)
		return takeBuffer(c.alloc, c.fixedBuf, (c.n+7)/8)
	case c.kind.hasOffsets():
		if c.fixedBuf == nil { // also an array without values has its first offset
			c.allocFixed(1)
		}
		return takeBuffer(c.alloc, c.fixedBuf, (c.n+1)*4)
	}
	return takeBuffer(c.alloc, c.fixedBuf, c.n*c.width)
}

// takeBuffer cuts a buffer to the length in use, without moving it.
func takeBuffer(alloc memory.Allocator, b *memory.Buffer, n int) *memory.Buffer {
	if b == nil {
		b = memory.NewResizableBuffer(alloc)
	}
	b.ResizeNoShrink(n)
	return b
}

// clearTail clears the bits of the last byte in use that stand beyond n bits.
func clearTail(bits []byte, n int) {
	if n&7 != 0 {
		bits[n>>3] &= 1<<(n&7) - 1
	}
}

// forget drops the buffers, which are released or belong to somebody else by now.
func (c *Column) forget() {
	c.n, c.cap, c.nulls, c.used = 0, 0, 0, 0
	c.valid, c.fixed, c.data = nil, nil, nil
	c.validBuf, c.fixedBuf, c.dataBuf = nil, nil, nil
}

// release frees the buffers.
func (c *Column) release() {
	for _, b := range []*memory.Buffer{c.validBuf, c.fixedBuf, c.dataBuf} {
		if b != nil {
			b.Release()
		}
	}
	c.forget()
	for _, kid := range c.kids {
		kid.release()
	}
}
