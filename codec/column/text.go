package column

import (
	"encoding/base64"
	"encoding/binary"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/schema"
)

// AppendText reads a value of the column's type from its text and appends it; false, and nothing appended, if the text is none. A STRING takes any text
// and does not check that it is UTF-8.
func (c *Column) AppendText(b []byte) bool {
	switch c.kind {
	case String:
		c.AppendBytes(b)
		return true
	case Binary:
		return c.AppendBase64(b)
	case Int8, Int16, Int32, Int64:
		v, ok := ParseInt(b)
		return ok && c.AppendInt(v)
	case Float32, Float64:
		v, ok := ParseFloat(b)
		return ok && c.AppendFloat(v)
	case Timestamp, TimestampNTZ:
		return c.AppendTimestamp(b)
	case Date:
		days, ok := ParseDate(b)
		if ok {
			c.AppendInt32(days)
		}
		return ok
	case Decimal:
		t := c.field.Type.(*arrow.Decimal128Type)
		v, ok := ParseDecimal(b, t.Precision, t.Scale)
		if ok {
			c.AppendDecimal(v)
		}
		return ok
	case Bool:
		v, ok := parseBool(b)
		if ok {
			c.AppendBool(v)
		}
		return ok
	}
	return false
}

// AppendBase64 reads base64 (the standard alphabet, with or without padding) and appends it to a Binary column; false if the text is none.
func (c *Column) AppendBase64(b []byte) bool {
	if len(b)%4 == 0 {
		for range 2 {
			if len(b) > 0 && b[len(b)-1] == '=' {
				b = b[:len(b)-1]
			}
		}
	}
	for _, x := range b {
		if x == '\r' || x == '\n' { // the decoder would drop them
			return false
		}
	}
	n, err := base64.RawStdEncoding.Decode(c.Tail(base64.RawStdEncoding.DecodedLen(len(b))), b)
	if err == nil {
		c.CommitTail(n)
	}
	return err == nil
}

// parseBool reads true or false, in any case.
func parseBool(b []byte) (v, ok bool) {
	switch {
	case len(b) == 4 && b[0]|0x20 == 't' && b[1]|0x20 == 'r' && b[2]|0x20 == 'u' && b[3]|0x20 == 'e':
		return true, true
	case len(b) == 5 && b[0]|0x20 == 'f' && b[1]|0x20 == 'a' && b[2]|0x20 == 'l' && b[3]|0x20 == 's' && b[4]|0x20 == 'e':
		return false, true
	}
	return false, false
}

// Value is the bytes of value i of a scalar column, as they stand in its buffers; valid until the next append.
func (c *Column) Value(i int) []byte {
	switch c.kind {
	case String, Binary:
		return c.data[c.offset(i):c.offset(i+1)]
	case Bool:
		if c.fixed[i>>3]>>(i&7)&1 == 1 {
			return []byte{1}
		}
		return []byte{0}
	}
	return c.fixed[i*c.width : (i+1)*c.width]
}

// offset is where value i of a column with offsets begins.
func (c *Column) offset(i int) int {
	if i == 0 { // before the first value there is no buffer
		return 0
	}
	return int(binary.LittleEndian.Uint32(c.fixed[i*4:]))
}

// Article is the column's type in DDL with its article, for messages: "a DECIMAL(10,2)", "an ARRAY"; of nested types the word alone.
func (c *Column) Article() string {
	ddl, _, _ := strings.Cut(schema.TypeDDL(c.field.Type), "<")
	if ddl[0] == 'A' || ddl[0] == 'I' {
		return "an " + ddl
	}
	return "a " + ddl
}

// maxExcerpt is how many bytes of a value a message shows.
const maxExcerpt = 40

// Excerpt is the beginning of a text in quotes, for messages.
func Excerpt(b []byte) string {
	if len(b) > maxExcerpt {
		return strconv.Quote(string(b[:maxExcerpt])) + "..."
	}
	return strconv.Quote(string(b))
}
