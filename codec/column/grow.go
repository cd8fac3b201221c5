package column

import "github.com/apache/arrow-go/v18/arrow/memory"

// minRows and minData are the least a column allocates.
const (
	minRows = 64
	minData = 1 << 10
)

// grow makes room for at least one more value.
func (c *Column) grow() {
	rows := max(minRows, 2*c.cap)
	if c.cap == 0 {
		rows = max(minRows, c.hintRows+c.hintRows/16)
	}
	c.allocFixed(rows)
	c.cap = rows
	if c.valid != nil {
		c.allocValid()
	}
}

// allocFixed makes the buffer of values, bits or offsets large enough for rows values; offsets start with 0.
func (c *Column) allocFixed(rows int) {
	size := rows * c.width
	switch {
	case c.kind == Struct:
		return
	case c.kind == Bool:
		size = (rows + 7) / 8
	case c.kind.hasOffsets():
		size = (rows + 1) * 4
	}
	fresh := c.fixedBuf == nil
	c.fixedBuf, c.fixed = enlarge(c.alloc, c.fixedBuf, size)
	if fresh && c.kind.hasOffsets() {
		clear(c.fixed[:4])
	}
}

// allocValid makes the validity bits as long as the room for values; new bits are 1.
func (c *Column) allocValid() {
	had := len(c.valid)
	c.validBuf, c.valid = enlarge(c.alloc, c.validBuf, (c.cap+7)/8)
	for i := had; i < len(c.valid); i++ {
		c.valid[i] = 0xff
	}
}

// growData makes the tail at least min bytes long.
func (c *Column) growData(min int) {
	size := max(minData, 2*len(c.data), c.used+min)
	if c.dataBuf == nil {
		size = max(minData, min, c.hintData+c.hintData/16+64)
	}
	c.dataBuf, c.data = enlarge(c.alloc, c.dataBuf, size)
}

// enlarge resizes a buffer, making it first if it is nil, and returns all of its memory.
func enlarge(alloc memory.Allocator, b *memory.Buffer, size int) (*memory.Buffer, []byte) {
	if b == nil {
		b = memory.NewResizableBuffer(alloc)
	}
	b.ResizeNoShrink(size)
	return b, b.Buf()
}
