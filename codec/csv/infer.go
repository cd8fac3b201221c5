package csv

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

// inferBytes is how much of a file's beginning is looked at.
const inferBytes = 1 << 20

// Infer derives a schema from the first rows of a file. Columns have the names of the header, or _c0, _c1 and so on, and are nullable. The type is the
// narrowest that holds all values: BOOLEAN, BIGINT, DOUBLE, DATE, TIMESTAMP, else STRING; numbers that begin with a superfluous 0 are texts.
func (f *Files) Infer(ctx context.Context, file codec.File) (*arrow.Schema, error) {
	reader := textfile.NewReader(file, codec.Unit{To: min(inferBytes, file.Size)}, nil)
	lines, err := reader.Next()
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, textfile.ErrLong) {
		return nil, fmt.Errorf("csv: infer: %w", err)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("csv: infer: %w", err)
	}
	in := inferrer{options: &f.options}
	i := lines.From
	if f.options.Header {
		if in.names, i, err = f.header(lines, file.Name); err != nil {
			return nil, err
		}
	} else if bytes.HasPrefix(lines.Buf[i:lines.To], bom) {
		i += len(bom)
	}
	in.rows(lines.Buf, i, lines.To)
	return in.schema(file.Name)
}

// Infer derives a schema from messages, as Files.Infer does without a header.
func (f *Messages) Infer(sample [][]byte) (*arrow.Schema, error) {
	in := inferrer{options: &f.options}
	for _, msg := range sample {
		b := append(append(bytes.Clone(bytes.TrimSuffix(msg, []byte("\n"))), '\n'), make([]byte, textfile.Slack)...)
		in.rows(b, 0, len(b)-textfile.Slack)
	}
	return in.schema("")
}

// inferrer looks at rows.
type inferrer struct {
	options *Options
	names   []string
	kinds   []valueKind
}

// valueKind is what the values of a column have been so far; each kind is the type in the comment.
type valueKind uint8

const (
	isNull      valueKind = iota
	isBool                // BOOLEAN
	isLong                // BIGINT
	isDouble              // DOUBLE
	isDate                // DATE
	isTimestamp           // TIMESTAMP
	isString              // STRING
)

// rows looks at the rows of b[i:to].
func (in *inferrer) rows(b []byte, i, to int) {
	for i < to {
		if n := in.options.blank(b[i:to]); n > 0 {
			i += n
			continue
		}
		cells, next := in.options.cells(b, i, to)
		if next == refused {
			next = i + newSplitter(in.options).rowEnd(b[i:to])
		}
		if next <= i {
			return
		}
		i = next
		if in.kinds == nil && len(cells) > 0 {
			in.kinds = make([]valueKind, max(len(cells), len(in.names)))
		}
		if len(cells) != len(in.kinds) {
			continue
		}
		for k, c := range cells {
			in.kinds[k] = merge(in.kinds[k], in.options.kindOf(c))
		}
	}
}

// kindOf is the kind of a field.
func (o *Options) kindOf(c cell) valueKind {
	text := []byte(strings.Trim(c.text, " \t"))
	switch {
	case !c.quoted && c.text == o.Null || len(text) == 0:
		return isNull
	case c.quoted && len(c.text) != len(text):
		return isString
	}
	digits := bytes.TrimLeft(text, "+-")
	if len(digits) > 1 && digits[0] == '0' && digits[1]-'0' <= 9 {
		return isString
	}
	if _, ok := column.ParseInt(text); ok {
		return isLong
	}
	if _, ok := column.ParseFloat(text); ok {
		return isDouble
	}
	switch strings.ToLower(string(text)) {
	case "true", "false":
		return isBool
	}
	if len(text) < len("2006-01-02") || text[4] != '-' || text[7] != '-' {
		return isString
	}
	if _, ok := column.ParseDate(text); ok && len(text) == len("2006-01-02") {
		return isDate
	}
	if _, _, ok := column.ParseTimestamp(text); ok {
		return isTimestamp
	}
	return isString
}

// merge is the kind that holds the values of both.
func merge(a, b valueKind) valueKind {
	if a > b {
		a, b = b, a
	}
	if a == isNull || a == b || a == isLong && b == isDouble || a == isDate && b == isTimestamp {
		return b
	}
	return isString
}

// schema is what was learned.
func (in *inferrer) schema(place string) (*arrow.Schema, error) {
	if in.kinds == nil {
		in.kinds = make([]valueKind, len(in.names))
	}
	if len(in.kinds) == 0 {
		return nil, errcode.RowInfer.New(place, "csv: the sample has no row")
	}
	var fields []arrow.Field
	for k, kind := range in.kinds {
		name := fmt.Sprintf("_c%d", k)
		if k < len(in.names) && in.names[k] != "" {
			name = in.names[k]
		}
		for _, f := range fields {
			if strings.EqualFold(f.Name, name) {
				return nil, errcode.RowInfer.New(place, "csv: the header names the column %s twice", name)
			}
		}
		fields = append(fields, arrow.Field{Name: name, Type: kind.arrowType(), Nullable: true})
	}
	return arrow.NewSchema(fields, nil), nil
}

// arrowType is the type that holds a kind.
func (k valueKind) arrowType() arrow.DataType {
	switch k {
	case isBool:
		return arrow.FixedWidthTypes.Boolean
	case isLong:
		return arrow.PrimitiveTypes.Int64
	case isDouble:
		return arrow.PrimitiveTypes.Float64
	case isDate:
		return arrow.FixedWidthTypes.Date32
	case isTimestamp:
		return schema.Timestamp()
	}
	return arrow.BinaryTypes.String
}
