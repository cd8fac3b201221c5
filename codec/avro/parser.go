package avro

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"microbatch/codec"
	"microbatch/codec/column"
	"microbatch/internal/errcode"
)

// The limits of a message.
const (
	maxRow   = 64 << 20 // bytes
	maxDepth = 1000     // records in records, where a record that holds itself is passed over
	maxEmpty = 1024     // elements beyond the bytes: those of arrays of null, which take none
	maxAdded = 1 << 30  // bytes that the symbols of enums become
	maxVoid  = 1 << 20  // records that take no bytes and are passed over: a schema may name so many that no message comes to an end
)

// parser reads messages into columns.
type parser struct {
	msg      []byte
	elements int   // that may still come
	added    int64 // bytes of symbols
	depth    int
	void     int // records without bytes that were passed over
	reject   codec.Reject
	keys     map[string]struct{}
}

// row reads one message by the program and returns where its body ends, -1 if it is refused.
func (p *parser) row(root *node, msg []byte, from int) int {
	p.msg, p.elements, p.added, p.depth, p.void = msg, len(msg)+maxEmpty, 0, 0, 0
	return p.record(root, from)
}

// record reads the fields of a record.
func (p *parser) record(n *node, i int) int {
	for _, kid := range n.kids {
		if i = p.value(kid, i); i < 0 {
			return i
		}
	}
	for _, absent := range n.absent {
		if i = p.null(absent, i); i < 0 {
			return i
		}
	}
	return i
}

// null appends a null.
func (p *parser) null(n *node, i int) int {
	if n.notNull {
		return p.refuse(errcode.RowNull, n, "the column is NOT NULL, and "+n.detail)
	}
	n.col.AppendNull()
	return i
}

// value reads one value at i and returns where it ends, -1 if the row is refused.
func (p *parser) value(n *node, i int) int {
	b := p.msg
	if n.union {
		switch {
		case i < len(b) && b[i] == n.value:
			i++
		case i < len(b) && b[i] == n.null:
			return p.null(n, i+1)
		default:
			branch, next := varint(b, i) // perhaps in more bytes than it takes
			if next < 0 || branch != 0 && branch != 1 {
				return p.malformed(i, "a union has no such branch")
			}
			if i = next; byte(branch)<<1 == n.null {
				return p.null(n, i)
			}
		}
	}
	switch n.op {
	case opLong:
		v, next := varint(b, i)
		if next < 0 || !n.wide && int64(int32(v)) != v {
			return p.malformed(i, "a whole number is broken off or too large")
		}
		n.col.AppendInt64(v)
		return next
	case opInt:
		v, next := varint(b, i)
		if next < 0 || int64(int32(v)) != v {
			return p.malformed(i, "a whole number is broken off or too large")
		}
		n.col.AppendInt32(int32(v))
		return next
	case opText, opBytes:
		v, next := varint(b, i)
		if next < 0 || uint64(v) > uint64(len(b)-next) {
			return p.malformed(i, "a string or bytes are broken off")
		}
		end := next + int(v)
		if n.op == opText && !utf8.Valid(b[next:end]) {
			return p.malformed(i, "a string is not UTF-8")
		}
		n.col.AppendBytes(b[next:end])
		return end
	case opDouble:
		if len(b)-i < 8 {
			return p.malformed(i, "a double is broken off")
		}
		n.col.AppendInt64(int64(binary.LittleEndian.Uint64(b[i:])))
		return i + 8
	case opInstant:
		v, next := varint(b, i)
		if next < 0 {
			return p.malformed(i, "a whole number is broken off or too large")
		}
		micros, ok := instant(v, n.unit)
		if !ok {
			return p.misfit(n, fmt.Sprint(v))
		}
		n.col.AppendInt64(micros)
		return next
	case opBoolean:
		if i >= len(b) || b[i] > 1 {
			return p.malformed(i, "a boolean is neither 0 nor 1")
		}
		n.col.AppendBool(b[i] == 1)
		return i + 1
	case opFloat:
		if len(b)-i < 4 {
			return p.malformed(i, "a float is broken off")
		}
		n.col.AppendFloat(float64(math.Float32frombits(binary.LittleEndian.Uint32(b[i:])))) // never beyond the range of FLOAT
		return i + 4
	case opRecord:
		if i = p.record(n, i); i >= 0 {
			n.col.AppendStruct()
		}
		return i
	case opArray, opMap:
		return p.list(n, i)
	default:
		return p.rarer(n, i)
	}
}

// rarer reads the values that are not in the loop of most messages.
func (p *parser) rarer(n *node, i int) int {
	switch n.op {
	case opNull:
		return p.null(n, i)
	case opRefuse:
		return p.refuse(errcode.RowMisfit, n, n.detail)
	case opUnion:
		branch, next := varint(p.msg, i)
		if next < 0 || uint64(branch) >= uint64(len(n.kids)) {
			return p.malformed(i, "a union has no such branch")
		}
		return p.value(n.kids[branch], next)
	case opMembers:
		return p.member(n, i)
	case opNarrow, opFloating, opDate, opEnum:
		return p.number(n, i)
	case opFixed, opUUID, opFixedDecimal:
		return p.fixed(n, i)
	case opDecimal:
		v, next := varint(p.msg, i)
		if next < 0 || uint64(v) > uint64(len(p.msg)-next) {
			return p.malformed(i, "a decimal is broken off")
		}
		return p.decimal(n, next, next+int(v))
	default:
		return p.skip(n, i)
	}
}

// number reads what is a whole number in the message and something else in the column.
func (p *parser) number(n *node, i int) int {
	v, next := varint(p.msg, i)
	if next < 0 || !n.wide && int64(int32(v)) != v {
		return p.malformed(i, "a whole number is broken off or too large")
	}
	switch n.op {
	case opNarrow:
		if !n.col.AppendInt(v) {
			return p.misfit(n, fmt.Sprint(v))
		}
	case opFloating:
		if n.col.Kind() == column.Float32 {
			n.col.AppendInt32(int32(math.Float32bits(float32(v)))) // rounded once, not by way of a double
		} else {
			n.col.AppendInt64(int64(math.Float64bits(float64(v))))
		}
	case opDate:
		if v < minDay || v > maxDay {
			return p.misfit(n, fmt.Sprint(v))
		}
		n.col.AppendInt32(int32(v))
	case opEnum:
		if uint64(v) >= uint64(len(n.symbols)) {
			return p.malformed(i, "an enum has no such symbol")
		}
		symbol := n.symbols[v]
		if p.added += int64(len(symbol)); p.added > maxAdded {
			return p.refuse(errcode.RowLimit, n, "the symbols have more than 1 GiB")
		}
		n.col.CommitTail(copy(n.col.Tail(len(symbol)), symbol))
	}
	return next
}

// fixed reads a value whose length the schema says.
func (p *parser) fixed(n *node, i int) int {
	if len(p.msg)-i < n.size {
		return p.malformed(i, "a fixed value is broken off")
	}
	end := i + n.size
	switch n.op {
	case opFixedDecimal:
		return p.decimal(n, i, end)
	case opUUID:
		v, text := p.msg[i:end], n.col.Tail(36)
		p.added += 20
		for at, part := 0, 0; part < 5; part++ {
			bytes := [...]int{4, 2, 2, 2, 6}[part]
			at += hex.Encode(text[at:], v[:bytes])
			if v = v[bytes:]; part < 4 {
				text[at] = '-'
				at++
			}
		}
		n.col.CommitTail(36)
	default:
		n.col.AppendBytes(p.msg[i:end])
	}
	return end
}

// decimal reads the two's complement number between two places.
func (p *parser) decimal(n *node, from, to int) int {
	b := p.msg[from:to]
	if len(b) == 0 {
		return p.malformed(from, "a decimal has no bytes")
	}
	negative := b[0]&0x80 != 0
	sign := byte(0)
	if negative {
		sign = 0xff
	}
	for len(b) > 16 && b[0] == sign && b[1]&0x80 == sign&0x80 { // more bytes than it takes
		b = b[1:]
	}
	if len(b) > 16 {
		return p.misfit(n, "a number of more than 38 digits")
	}
	var wide [16]byte
	for i := range 16 - len(b) {
		wide[i] = sign
	}
	copy(wide[16-len(b):], b)
	v := decimal128.New(int64(binary.BigEndian.Uint64(wide[:])), binary.BigEndian.Uint64(wide[8:]))
	if digits := n.precision - n.shift; digits < 1 && v != (decimal128.Num{}) || digits >= 1 && !v.FitsInPrecision(digits) { // looked at before it grows: then it cannot grow too large
		return p.misfit(n, "a number of more digits")
	}
	if n.shift > 0 {
		v = v.IncreaseScaleBy(n.shift)
	}
	n.col.AppendDecimal(v)
	return to
}

// member reads a value of a union into the field of a STRUCT that stands for its branch; the others are null.
func (p *parser) member(n *node, i int) int {
	branch, next := varint(p.msg, i)
	if next < 0 || uint64(branch) >= uint64(len(n.kids)) {
		return p.malformed(i, "a union has no such branch")
	}
	at := n.members[branch]
	if next = p.value(n.kids[branch], next); next < 0 || at < 0 {
		return next // a null of the STRUCT as a whole is appended by now
	}
	for k, kid := range n.col.Kids() {
		if k != at {
			if !kid.Field().Nullable {
				return p.refuse(errcode.RowNull, n, "field "+kid.Field().Name+" is NOT NULL, and another type of the union came")
			}
			kid.AppendNull()
		}
	}
	n.col.AppendStruct()
	return next
}

// list reads the blocks of an array or a map: a count, if it is negative followed by the block's length in bytes, and so many elements; a count of 0 ends them.
func (p *parser) list(n *node, i int) int {
	first := 0
	if n.op == opMap {
		first = n.kids[0].col.Len()
	}
	for {
		count, next := p.block(i)
		if i = next; i < 0 {
			return i
		}
		if count == 0 {
			break
		}
		for ; count > 0; count-- {
			if n.op == opMap {
				if i = p.value(n.kids[0], i); i < 0 {
					return i
				}
				if i = p.value(n.kids[1], i); i >= 0 {
					n.col.Kids()[0].AppendStruct()
				}
			} else {
				i = p.value(n.kids[0], i)
			}
			if i < 0 {
				return i
			}
		}
	}
	if n.op == opMap && p.repeated(n.kids[0].col, first) {
		return p.malformed(i, "a map has a key twice")
	}
	n.col.AppendList()
	return i
}

// block reads the head of a block of elements, and counts those that may still come.
func (p *parser) block(i int) (count int64, next int) {
	count, next = varint(p.msg, i)
	if next >= 0 && count < 0 {
		if count = -count; count < 0 {
			return 0, p.malformed(i, "a block of elements has an impossible length")
		}
		_, next = varint(p.msg, next)
	}
	if next < 0 {
		return 0, p.malformed(i, "the number of elements is broken off")
	}
	if count > int64(p.elements) {
		return 0, p.malformed(i, "there are more elements than the message can hold")
	}
	p.elements -= int(count)
	return count, next
}

// repeated reports whether one of the keys from first on stands twice.
func (p *parser) repeated(keys *column.Column, first int) bool {
	n := keys.Len() - first
	if n <= 8 {
		for i := first + 1; i < keys.Len(); i++ {
			for j := first; j < i; j++ {
				if string(keys.Value(i)) == string(keys.Value(j)) {
					return true
				}
			}
		}
		return false
	}
	if p.keys == nil {
		p.keys = map[string]struct{}{}
	}
	clear(p.keys)
	for i := first; i < keys.Len(); i++ {
		p.keys[string(keys.Value(i))] = struct{}{}
	}
	return len(p.keys) < n
}

// The days and instants a column can hold: years 1 to 9999, as in Spark and SQL.
const (
	minDay    = -719162
	maxDay    = 2932896
	dayMicros = 86400 * 1_000_000
	minMicros = minDay * dayMicros
	maxMicros = (maxDay+1)*dayMicros - 1
)

// instant is a number of units in microseconds; digits beyond are dropped.
func instant(v int64, u unit) (int64, bool) {
	switch u {
	case millis:
		if v < minMicros/1000 || v > maxMicros/1000 {
			return 0, false
		}
		v *= 1000
	case nanos:
		rest := v % 1000
		if v /= 1000; rest < 0 {
			v--
		}
	}
	return v, v >= minMicros && v <= maxMicros
}

// varint reads a zigzag number of up to 64 bits; next is -1 if it is broken off or longer.
func varint(b []byte, i int) (v int64, next int) {
	if i < len(b) && b[i] < 0x80 {
		return int64(b[i]>>1) ^ -int64(b[i]&1), i + 1
	}
	return longVarint(b, i)
}

func longVarint(b []byte, i int) (int64, int) {
	var u uint64
	for shift := 0; shift < 70 && i < len(b); shift += 7 {
		c := b[i]
		i++
		if shift == 63 && c > 1 {
			return 0, -1
		}
		u |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return int64(u>>1) ^ -int64(u&1), i
		}
	}
	return 0, -1
}

// malformed refuses a row that the writer's schema does not describe.
func (p *parser) malformed(i int, what string) int {
	p.reject = codec.Reject{Code: errcode.RowMalformed.ID, Detail: fmt.Sprintf("malformed Avro: %s, at byte %d of the message", what, i)}
	return -1
}

// misfit refuses a row for a value that its column cannot hold.
func (p *parser) misfit(n *node, value string) int {
	return p.refuse(errcode.RowMisfit, n, value+" is not "+n.col.Article())
}

// refuse refuses a row for a column, with a sentence.
func (p *parser) refuse(code errcode.Code, n *node, detail string) int {
	p.reject = codec.Reject{Code: code.ID, Column: n.path, Detail: detail}
	return -1
}
