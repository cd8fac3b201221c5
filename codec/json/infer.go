package json

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/codec"
	"microbatch/codec/column"
	"microbatch/codec/textfile"
	"microbatch/internal/errcode"
	"microbatch/schema"
)

// Infer derives a schema from messages. Columns stand in order of first appearance, all nullable. Values of one field that differ give the narrowest
// type that holds all of them: whole numbers BIGINT, with others DOUBLE, too large ones DECIMAL(38,0); texts that are all dates DATE, or dates and
// times TIMESTAMP; anything else STRING, also what is null everywhere.
func (f *Format) Infer(sample [][]byte) (*arrow.Schema, error) {
	var in inferrer
	for _, msg := range sample {
		in.add(bytes.TrimPrefix(msg, bom), blanksInMessage)
	}
	return in.schema("")
}

// inferBytes is how much of a file's beginning is looked at.
const inferBytes = 1 << 20

// Infer derives a schema from the first lines of a file, as Format.Infer does.
func (f *Files) Infer(ctx context.Context, file codec.File) (*arrow.Schema, error) {
	reader := textfile.NewReader(file, codec.Unit{To: min(inferBytes, file.Size)}, nil)
	lines, err := reader.Next()
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, textfile.ErrLong) {
		return nil, fmt.Errorf("json: infer: %w", err)
	}
	var in inferrer
	for line := range bytes.Lines(bytes.TrimPrefix(lines.Buf[lines.From:lines.To], bom)) {
		in.add(line, blanksInMessage)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("json: infer: %w", err)
	}
	return in.schema(file.Name)
}

// shape is what the values of a field have been so far.
type shape struct {
	kind   shapeKind
	fields []*named // of objects, in order of appearance
	item   *shape   // of arrays
}

// named is a field of an object.
type named struct {
	name string
	shape
}

// shapeKind is what a value looks like; each kind is the type in the comment.
type shapeKind uint8

const (
	isNull      shapeKind = iota
	isBool                // BOOLEAN
	isLong                // BIGINT
	isBig                 // DECIMAL(38,0)
	isDouble              // DOUBLE
	isDate                // DATE
	isTimestamp           // TIMESTAMP
	isObject              // STRUCT
	isArray               // ARRAY
	isString              // STRING
)

// inferrer looks at rows.
type inferrer struct {
	parser
	rows int
	root shape
}

// add looks at one row. A malformed one is ignored.
func (in *inferrer) add(row []byte, blanks uint64) {
	in.white = blanks
	in.buf = append(append(in.buf[:0], row...), make([]byte, slack)...)
	first := in.blanks(0)
	if in.buf[first] != '{' {
		return
	}
	if end := in.skip(first, 0); end < 0 || in.blanks(end) != len(row) {
		return
	}
	in.rows++
	in.value(first, &in.root)
}

// value adds the value at i, which is JSON, to a shape, and returns its end.
func (in *inferrer) value(i int, s *shape) int {
	switch c := in.buf[i]; c {
	case '{':
		s.merge(isObject)
		return in.object(i, s)
	case '[':
		s.merge(isArray)
		return in.array(i, s)
	case '"':
		text, end := in.text(i + 1)
		s.merge(textKind(text))
		return end
	case 't', 'f':
		s.merge(isBool)
	case 'n':
	default:
		s.merge(in.numberKind(i))
	}
	return in.skip(i, 0)
}

// object adds the members of the object at i.
func (in *inferrer) object(i int, s *shape) int {
	i = in.blanks(i + 1)
	for in.buf[i] != '}' {
		name, end := in.text(i + 1)
		f := s.field(string(name))
		if i = in.blanks(in.value(in.blanks(in.blanks(end)+1), &f.shape)); in.buf[i] == ',' {
			i = in.blanks(i + 1)
		}
	}
	return i + 1
}

// array adds the elements of the array at i.
func (in *inferrer) array(i int, s *shape) int {
	if s.item == nil {
		s.item = new(shape)
	}
	i = in.blanks(i + 1)
	for in.buf[i] != ']' {
		if i = in.blanks(in.value(i, s.item)); in.buf[i] == ',' {
			i = in.blanks(i + 1)
		}
	}
	return i + 1
}

// numberKind is the kind of the number at i.
func (in *inferrer) numberKind(i int) shapeKind {
	if _, end := integer(in.buf, i); end > 0 {
		return isLong
	}
	end := numberEnd(in.buf, i)
	if end < 0 { // the name of a number that is not finite
		return isDouble
	}
	if text := in.buf[i:end]; bytes.ContainsAny(text, ".eE") {
		return isDouble
	} else if _, ok := column.ParseDecimal(text, 38, 0); ok {
		return isBig
	}
	return isDouble
}

// textKind is the kind of a string.
func textKind(b []byte) shapeKind {
	if len(b) < len("2006-01-02") || b[4] != '-' || b[7] != '-' {
		return isString
	}
	if _, ok := column.ParseDate(b); ok && len(b) == len("2006-01-02") {
		return isDate
	}
	if _, _, ok := column.ParseTimestamp(b); ok && len(b) >= len("2006-01-02T15:04") {
		return isTimestamp
	}
	return isString
}

// field is the named field of an object.
func (s *shape) field(name string) *named {
	for _, f := range s.fields {
		if f.name == name {
			return f
		}
	}
	f := &named{name: name}
	s.fields = append(s.fields, f)
	return f
}

// merge adds a kind to those seen.
func (s *shape) merge(k shapeKind) {
	if s.kind > k {
		s.kind, k = k, s.kind
	}
	switch {
	case s.kind == isNull || s.kind == k,
		s.kind >= isLong && k <= isDouble,
		s.kind == isDate && k == isTimestamp:
		s.kind = k
	default:
		s.kind = isString
	}
}

// schema is what was learned.
func (in *inferrer) schema(place string) (*arrow.Schema, error) {
	if in.rows == 0 || len(in.root.fields) == 0 {
		return nil, errcode.RowInfer.New(place, "json: the sample holds no JSON object with a field")
	}
	fields, err := in.root.arrowFields("")
	if err != nil {
		return nil, errcode.RowInfer.Wrap(err, place, "json")
	}
	return arrow.NewSchema(fields, nil), nil
}

// arrowFields are the fields of an object. Names that differ in case only cannot stand in one table.
func (s *shape) arrowFields(prefix string) ([]arrow.Field, error) {
	var fields []arrow.Field
	for i, f := range s.fields {
		for _, other := range s.fields[:i] {
			if strings.EqualFold(other.name, f.name) {
				return nil, fmt.Errorf("the fields %s%s and %s%s differ in case only", prefix, other.name, prefix, f.name)
			}
		}
		t, err := f.arrowType(prefix + f.name + ".")
		if err != nil {
			return nil, err
		}
		fields = append(fields, arrow.Field{Name: f.name, Type: t, Nullable: true})
	}
	return fields, nil
}

// arrowType is the type that holds all values of a shape.
func (s *shape) arrowType(prefix string) (arrow.DataType, error) {
	switch s.kind {
	case isBool:
		return arrow.FixedWidthTypes.Boolean, nil
	case isLong:
		return arrow.PrimitiveTypes.Int64, nil
	case isBig:
		return &arrow.Decimal128Type{Precision: 38}, nil
	case isDouble:
		return arrow.PrimitiveTypes.Float64, nil
	case isDate:
		return arrow.FixedWidthTypes.Date32, nil
	case isTimestamp:
		return schema.Timestamp(), nil
	case isArray:
		item, err := s.item.arrowType(prefix)
		if err != nil {
			return nil, err
		}
		return schema.List(item, true), nil
	case isObject:
		if len(s.fields) > 0 {
			fields, err := s.arrowFields(prefix)
			return arrow.StructOf(fields...), err
		}
	}
	return arrow.BinaryTypes.String, nil
}
