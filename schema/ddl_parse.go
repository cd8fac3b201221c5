package schema

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// maxDepth bounds the nesting of types in DDL and in Delta JSON.
const maxDepth = 64

// ParseDDL reads Spark DDL: "order_id STRING NOT NULL, amount DECIMAL(10,2), tags ARRAY<STRING>, s STRUCT<a: INT, b: STRING>". Keywords are
// matched without regard to case. A colon between name and type is allowed everywhere. The error is a *DDLError.
func ParseDDL(text string) (*arrow.Schema, error) {
	tokens, err := lex(text)
	if err != nil {
		return nil, err
	}
	p := &ddlParser{text: text, rest: tokens}
	fields, err := p.fields(tokEnd, "", 0)
	if err != nil {
		return nil, err
	}
	return arrow.NewSchema(fields, nil), nil
}

type ddlParser struct {
	text string
	rest []token // never empty: it ends with tokEnd
}

func (p *ddlParser) peek() token { return p.rest[0] }

func (p *ddlParser) next() token {
	t := p.rest[0]
	if t.kind != tokEnd {
		p.rest = p.rest[1:]
	}
	return t
}

// accept consumes the next token if it is that keyword or punctuation.
func (p *ddlParser) accept(text string) bool {
	ok := p.peek().is(text)
	if ok {
		p.next()
	}
	return ok
}

func (p *ddlParser) expect(text, after string) error {
	if t := p.peek(); !p.accept(text) {
		return ddlError(p.text, t.at, "%q expected after %s, found %s", text, after, t)
	}
	return nil
}

// fields reads "name type [NOT NULL] [COMMENT 'x'], ..." up to the closing token, which it consumes.
func (p *ddlParser) fields(endKind tokenKind, end string, depth int) ([]arrow.Field, error) {
	var out []arrow.Field
	for {
		at := p.peek().at
		f, err := p.field(depth)
		if err != nil {
			return nil, err
		}
		if i := find(out, f.Name); i >= 0 {
			return nil, ddlError(p.text, at, "column %s is there twice (names are compared without regard to case)", out[i].Name)
		}
		out = append(out, f)
		t := p.next()
		if t.kind == endKind && t.text == end {
			return out, nil
		}
		if !t.is(",") {
			return nil, ddlError(p.text, t.at, "after column %s a comma, NOT NULL or COMMENT is expected, found %s", f.Name, t)
		}
	}
}

func (p *ddlParser) field(depth int) (arrow.Field, error) {
	var f arrow.Field
	t := p.next()
	if t.kind != tokWord && t.kind != tokQuoted || t.text == "" {
		return f, ddlError(p.text, t.at, "a column name is expected, found %s", t)
	}
	f.Name = t.text
	p.accept(":")
	typ, err := p.dataType(f.Name, depth)
	if err != nil {
		return f, err
	}
	f.Type, f.Nullable = typ, true
	if p.accept("NOT") {
		if err := p.expect("NULL", "NOT"); err != nil {
			return f, err
		}
		f.Nullable = false
	}
	if p.accept("COMMENT") {
		c := p.next()
		if c.kind != tokString {
			return f, ddlError(p.text, c.at, "COMMENT takes a 'quoted text', found %s", c)
		}
		f.Metadata = arrow.NewMetadata([]string{MetaComment}, []string{c.text})
	}
	return f, nil
}

func (p *ddlParser) dataType(column string, depth int) (arrow.DataType, error) {
	t := p.next()
	if depth > maxDepth {
		return nil, ddlError(p.text, t.at, "types are nested more than %d deep", maxDepth)
	}
	if t.kind != tokWord {
		return nil, ddlError(p.text, t.at, "the type of column %s is expected, found %s", column, t)
	}
	switch name := strings.ToUpper(t.text); name {
	case "DECIMAL", "DEC", "NUMERIC":
		return p.decimal(t.at)
	case "ARRAY":
		return p.array(column, depth)
	case "MAP":
		return p.mapType(column, depth)
	case "STRUCT":
		if err := p.expect("<", "STRUCT"); err != nil {
			return nil, err
		}
		fields, err := p.fields(tokPunct, ">", depth+1)
		if err != nil {
			return nil, err
		}
		return arrow.StructOf(fields...), nil
	default:
		if typ := scalarType(name); typ != nil {
			return typ, nil
		}
		return nil, ddlError(p.text, t.at, "column %s: %s", column, unknownType(name))
	}
}

// decimal reads "(p,s)", "(p)" or nothing, which is (10,0).
func (p *ddlParser) decimal(at int) (arrow.DataType, error) {
	precision, scale := int64(10), int64(0)
	if p.accept("(") {
		var err error
		if precision, err = p.number(); err != nil {
			return nil, err
		}
		if p.accept(",") {
			if scale, err = p.number(); err != nil {
				return nil, err
			}
		}
		if err := p.expect(")", "the digits of DECIMAL"); err != nil {
			return nil, err
		}
	}
	t, err := decimalType(int32(precision), int32(scale))
	if err != nil {
		return nil, ddlError(p.text, at, "%v", err)
	}
	return t, nil
}

func (p *ddlParser) number() (int64, error) {
	t := p.next()
	n, err := strconv.ParseInt(t.text, 10, 16)
	if t.kind != tokNumber || err != nil {
		return 0, ddlError(p.text, t.at, "a small number is expected, found %s", t)
	}
	return n, nil
}

func (p *ddlParser) array(column string, depth int) (arrow.DataType, error) {
	if err := p.expect("<", "ARRAY"); err != nil {
		return nil, err
	}
	element, err := p.dataType(column, depth+1)
	if err != nil {
		return nil, err
	}
	return List(element, true), p.expect(">", "the element type of ARRAY")
}

func (p *ddlParser) mapType(column string, depth int) (arrow.DataType, error) {
	if err := p.expect("<", "MAP"); err != nil {
		return nil, err
	}
	key, err := p.dataType(column, depth+1)
	if err != nil {
		return nil, err
	}
	if err := p.expect(",", "the key type of MAP"); err != nil {
		return nil, err
	}
	value, err := p.dataType(column, depth+1)
	if err != nil {
		return nil, err
	}
	return Map(key, value, true), p.expect(">", "the value type of MAP")
}

// scalarType is the type of an upper-case DDL name without parameters; nil if there is none.
func scalarType(name string) arrow.DataType {
	switch name {
	case "TIMESTAMP", "TIMESTAMP_LTZ":
		return Timestamp()
	case "TIMESTAMP_NTZ":
		return TimestampNTZ()
	case "BYTE":
		name = "TINYINT"
	case "SHORT":
		name = "SMALLINT"
	case "INTEGER":
		name = "INT"
	case "LONG":
		name = "BIGINT"
	case "REAL":
		name = "FLOAT"
	}
	for _, s := range scalars {
		if s.ddl == name {
			return s.make()
		}
	}
	return nil
}

// unknownType says what may be meant by a type name that does not exist.
func unknownType(name string) string {
	hints := map[string]string{
		"VARCHAR": "STRING", "CHAR": "STRING", "TEXT": "STRING", "UUID": "STRING", "JSON": "STRING", "BOOL": "BOOLEAN", "BYTES": "BINARY", "BLOB": "BINARY",
		"INT8": "TINYINT or BIGINT", "INT16": "SMALLINT", "INT32": "INT", "INT64": "BIGINT", "INT2": "SMALLINT", "INT4": "INT", "UINT64": "DECIMAL(20,0)",
		"FLOAT32": "FLOAT", "FLOAT64": "DOUBLE", "NUMBER": "DECIMAL(p,s)", "DATETIME": "TIMESTAMP_NTZ", "TIMESTAMPTZ": "TIMESTAMP", "LIST": "ARRAY<t>",
		"OBJECT": "STRUCT<a: t, ...>", "ROW": "STRUCT<a: t, ...>",
	}
	if h, ok := hints[name]; ok {
		return fmt.Sprintf("there is no type %s; write %s", name, h)
	}
	return fmt.Sprintf("there is no type %s; the types are BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, FLOAT, DOUBLE, DECIMAL(p,s), STRING, BINARY, DATE, TIMESTAMP, "+
		"TIMESTAMP_NTZ, ARRAY<t>, MAP<k,v> and STRUCT<a: t, ...>", name)
}
