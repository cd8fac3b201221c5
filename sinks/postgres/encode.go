package postgres

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"

	"microbatch/codec"
)

// The frame of binary COPY: a signature, flags and the length of an extension in front; behind the last row the number -1 in the place of a row's number of columns.
var (
	copyHeader  = []byte("PGCOPY\n\xff\r\n\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	copyTrailer = []byte{0xff, 0xff}
)

// writer appends the value of a row, not null, as its length and its bytes. why says what PostgreSQL cannot hold of it; "" if it can.
type writer func(dst []byte, row int) (out []byte, why string)

// The epoch of PostgreSQL is the year 2000; that of Arrow is 1970.
const (
	epochDays   = 10957
	epochMicros = epochDays * 86400 * 1_000_000
)

// What date and timestamp hold, in PostgreSQL's numbers: from 24 November 4714 before Christ to the years 5874897 and 294276.
const (
	firstDate      = -2451545
	afterLastDate  = 2145031949
	firstTimestamp = -211813488000000000
)

// encoders makes the writers of an array's rows.
type encoders struct {
	json func(*arrow.Schema) (codec.Encoder, error)
	held []arrow.RecordBatch // what was made for the arrays
}

func (e *encoders) release() {
	for _, r := range e.held {
		r.Release()
	}
	e.held = e.held[:0]
}

// writer is that of an array whose values are sent as p.
func (e *encoders) writer(a arrow.Array, p pgType) (writer, error) {
	switch a := a.(type) {
	case *array.Boolean:
		return func(dst []byte, i int) ([]byte, string) {
			if a.Value(i) {
				return append(dst, 0, 0, 0, 1, 1), ""
			}
			return append(dst, 0, 0, 0, 1, 0), ""
		}, nil
	case *array.Int8:
		return func(dst []byte, i int) ([]byte, string) { return appendInt2(dst, int16(a.Value(i))), "" }, nil
	case *array.Int16:
		return func(dst []byte, i int) ([]byte, string) { return appendInt2(dst, a.Value(i)), "" }, nil
	case *array.Int32:
		return func(dst []byte, i int) ([]byte, string) { return appendInt4(dst, a.Value(i)), "" }, nil
	case *array.Int64:
		return func(dst []byte, i int) ([]byte, string) { return appendInt8(dst, a.Value(i)), "" }, nil
	case *array.Float32:
		return func(dst []byte, i int) ([]byte, string) {
			return appendInt4(dst, int32(math.Float32bits(a.Value(i)))), ""
		}, nil
	case *array.Float64:
		return func(dst []byte, i int) ([]byte, string) {
			return appendInt8(dst, int64(math.Float64bits(a.Value(i)))), ""
		}, nil
	case *array.Decimal128:
		scale := int(a.DataType().(*arrow.Decimal128Type).Scale)
		return func(dst []byte, i int) ([]byte, string) { return appendNumeric(dst, a.Value(i), scale), "" }, nil
	case *array.String:
		return func(dst []byte, i int) ([]byte, string) { return appendText(dst, a.Value(i)) }, nil
	case *array.Binary:
		return func(dst []byte, i int) ([]byte, string) { return appendBytes(dst, a.Value(i)), "" }, nil
	case *array.Date32:
		return func(dst []byte, i int) ([]byte, string) { return appendDate(dst, a.Value(i)) }, nil
	case *array.Timestamp:
		return func(dst []byte, i int) ([]byte, string) { return appendTimestamp(dst, a.Value(i)) }, nil
	}
	if l, ok := a.(*array.List); ok && p.elem != 0 {
		return e.list(l, p)
	}
	if p.oid == oidJSONB {
		return e.jsonb(a)
	}
	return nil, fmt.Errorf("no binary form of %s", a.DataType())
}

func appendLength(dst []byte, n int) []byte { return binary.BigEndian.AppendUint32(dst, uint32(n)) }

func appendNull(dst []byte) []byte { return append(dst, 0xff, 0xff, 0xff, 0xff) }

func appendInt2(dst []byte, v int16) []byte {
	return binary.BigEndian.AppendUint16(appendLength(dst, 2), uint16(v))
}

func appendInt4(dst []byte, v int32) []byte {
	return binary.BigEndian.AppendUint32(appendLength(dst, 4), uint32(v))
}

func appendInt8(dst []byte, v int64) []byte {
	return binary.BigEndian.AppendUint64(appendLength(dst, 8), uint64(v))
}

func appendBytes(dst, v []byte) []byte { return append(appendLength(dst, len(v)), v...) }

// appendText appends a text. PostgreSQL's texts hold no NUL, and only UTF-8.
func appendText(dst []byte, v string) ([]byte, string) {
	if strings.IndexByte(v, 0) >= 0 {
		return dst, "a text of PostgreSQL cannot hold a NUL character"
	}
	if !utf8.ValidString(v) {
		return dst, "it is not UTF-8"
	}
	return append(appendLength(dst, len(v)), v...), ""
}

func appendDate(dst []byte, v arrow.Date32) ([]byte, string) {
	days := int64(v) - epochDays
	if days < firstDate || days >= afterLastDate {
		return dst, "a date of PostgreSQL lies between the years -4713 and 5874897"
	}
	return appendInt4(dst, int32(days)), ""
}

func appendTimestamp(dst []byte, v arrow.Timestamp) ([]byte, string) {
	if int64(v) < firstTimestamp+epochMicros { // beyond the last one there is no Arrow timestamp
		return dst, "a timestamp of PostgreSQL lies between the years -4713 and 294276"
	}
	return appendInt8(dst, int64(v)-epochMicros), ""
}

// appendNumeric appends a decimal: groups of four digits to both sides of the point, the place of the first group, the sign, and the digits behind the point.
func appendNumeric(dst []byte, v decimal128.Num, scale int) []byte {
	var digits [64]byte
	text := decimalDigits(digits[:], v, scale)
	before := (len(text) - scale + 3) / 4 // groups
	behind := (scale + 3) / 4
	at := len(dst)
	dst = append(dst, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	next := len(text) - scale - 4*before // of the first digit of the group; what lies outside of the text is 0
	groups := 0
	for range before + behind {
		group := uint16(0)
		for k := next; k < next+4; k++ {
			group *= 10
			if k >= 0 && k < len(text) {
				group += uint16(text[k] - '0')
			}
		}
		next += 4
		if groups == 0 && group == 0 { // no leading zeros
			continue
		}
		groups++
		dst = binary.BigEndian.AppendUint16(dst, group)
	}
	head := dst[at:]
	binary.BigEndian.PutUint32(head, uint32(len(head)-4))
	binary.BigEndian.PutUint16(head[4:], uint16(groups))
	binary.BigEndian.PutUint16(head[6:], uint16(groups-behind-1)) // the first group stands for its value times 10000 to the power of this
	if v.Sign() < 0 {
		binary.BigEndian.PutUint16(head[8:], 0x4000)
	}
	binary.BigEndian.PutUint16(head[10:], uint16(scale))
	return dst
}

// decimalDigits are the digits of a decimal without its sign, at the end of buf: at least one before the point.
func decimalDigits(buf []byte, v decimal128.Num, scale int) []byte {
	const piece = 1e19 // as many digits as fit into 64 bits
	v = v.Abs()
	high, low, at := uint64(v.HighBits()), v.LowBits(), len(buf)
	for {
		rest := high % piece
		high /= piece
		low, rest = bits.Div64(rest, low, piece)
		more := high|low != 0
		for n := 0; rest > 0 || more && n < 19; n++ {
			at--
			buf[at] = byte('0' + rest%10)
			rest /= 10
		}
		if !more {
			break
		}
	}
	for len(buf)-at <= scale {
		at--
		buf[at] = '0'
	}
	return buf[at:]
}

// list is the writer of an array of plain values: one dimension, which begins at 1, or none if it is empty.
func (e *encoders) list(a *array.List, p pgType) (writer, error) {
	values := a.ListValues()
	inner, err := e.writer(values, pgType{oid: p.elem})
	if err != nil {
		return nil, err
	}
	return func(dst []byte, row int) ([]byte, string) {
		from, to := a.ValueOffsets(row)
		at := len(dst)
		dst = append(dst, 0, 0, 0, 0)
		dimensions := uint32(min(to-from, 1))
		dst = binary.BigEndian.AppendUint32(dst, dimensions)
		nulls := len(dst)
		dst = binary.BigEndian.AppendUint32(dst, 0)
		dst = binary.BigEndian.AppendUint32(dst, p.elem)
		if dimensions > 0 {
			dst = binary.BigEndian.AppendUint32(dst, uint32(to-from))
			dst = binary.BigEndian.AppendUint32(dst, 1)
		}
		for k := int(from); k < int(to); k++ {
			if values.IsNull(k) {
				binary.BigEndian.PutUint32(dst[nulls:], 1)
				dst = appendNull(dst)
				continue
			}
			var why string
			if dst, why = inner(dst, k); why != "" {
				return dst, why
			}
		}
		binary.BigEndian.PutUint32(dst[at:], uint32(len(dst)-at-4))
		return dst, ""
	}, nil
}

// jsonb is the writer of values as JSON: they are encoded as the one field of an object, and taken out of it.
func (e *encoders) jsonb(a arrow.Array) (writer, error) {
	one := arrow.NewSchema([]arrow.Field{{Name: "v", Type: a.DataType(), Nullable: true}}, nil)
	encoder, err := e.json(one)
	if err != nil {
		return nil, err
	}
	record := array.NewRecordBatch(one, []arrow.Array{a}, int64(a.Len()))
	e.held = append(e.held, record)
	const before, behind = len(`{"v":`), len(`}`)
	var object []byte
	return func(dst []byte, row int) ([]byte, string) {
		var err error
		if object, err = encoder.AppendRow(object[:0], record, row); err != nil {
			return dst, err.Error()
		}
		value := object[before : len(object)-behind]
		if holdsNUL(value) {
			return dst, "a text of PostgreSQL cannot hold a NUL character"
		}
		dst = append(appendLength(dst, len(value)+1), 1) // the version of the form
		return append(dst, value...), ""
	}, nil
}

// holdsNUL reports whether JSON holds \u0000, which is not the end of \\u0000.
func holdsNUL(json []byte) bool {
	for {
		i := bytes.Index(json, []byte(`\u0000`))
		if i < 0 {
			return false
		}
		slashes := 0
		for i-slashes >= 0 && json[i-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 1 {
			return true
		}
		json = json[i+6:]
	}
}
