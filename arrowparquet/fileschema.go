package arrowparquet

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"microbatch/schema"
)

// maxNesting bounds the depth of a file's schema.
const maxNesting = 64

// A stored leaf is how a file has a leaf column.
type stored struct {
	*node
	typ    format.Type
	length int           // of FIXED_LEN_BYTE_ARRAY
	unit   timestampUnit // of a timestamp
	// unsigned numbers have a wider type in Arrow than in the file.
	unsigned bool
}

type timestampUnit int

const (
	micros timestampUnit = iota
	millis
	nanos
	days96 // INT96: nanoseconds of the day, then the Julian day
)

// schemaParser reads the flat schema of a footer as a tree.
type schemaParser struct {
	rest   []format.SchemaElement
	leaves []stored
}

func parseSchema(elements []format.SchemaElement) (roots []*node, leaves []stored, err error) {
	if len(elements) == 0 {
		return nil, nil, fmt.Errorf("no schema")
	}
	p := schemaParser{rest: elements[1:]}
	for range elements[0].NumChildren.V {
		n, err := p.field(nil, 0, 0)
		if err != nil {
			return nil, nil, err
		}
		roots = append(roots, n)
	}
	if len(p.rest) > 0 {
		return nil, nil, fmt.Errorf("the schema has elements outside its tree")
	}
	return roots, p.leaves, nil
}

func (p *schemaParser) next() (e format.SchemaElement, err error) {
	if len(p.rest) == 0 {
		return e, fmt.Errorf("the schema ends early")
	}
	e, p.rest = p.rest[0], p.rest[1:]
	return e, nil
}

// field reads the next element with what is below it. A repeated field outside of a list is a list without nulls (parquet-format: LogicalTypes, Lists).
func (p *schemaParser) field(parent []string, def, rep int) (*node, error) {
	e, err := p.next()
	if err != nil {
		return nil, err
	}
	path := append(parent[:len(parent):len(parent)], e.Name)
	if len(path) > maxNesting {
		return nil, fmt.Errorf("column %s: nested too deep", dotted(path[:4]))
	}
	if repetition(e) == format.Repeated {
		list := &node{path: path, kind: listNode, def: def, rep: rep}
		element, err := p.content(e, append(path[:len(path):len(path)], "element"), false, def+1, rep+1)
		if err != nil {
			return nil, err
		}
		return list.become(e.Name, []*node{element}, false), nil
	}
	return p.content(e, path, repetition(e) == format.Optional, def, rep)
}

func repetition(e format.SchemaElement) format.FieldRepetitionType {
	if !e.RepetitionType.Valid {
		return format.Required
	}
	return e.RepetitionType.V
}

// content reads what an element is: a leaf, a list, a map or a struct. def and rep are the levels around it.
func (p *schemaParser) content(e format.SchemaElement, path []string, nullable bool, def, rep int) (*node, error) {
	n := &node{path: path, def: def, rep: rep}
	if nullable {
		n.def++
	}
	name := path[len(path)-1]
	if e.Type.Valid && e.NumChildren.V == 0 {
		return p.leaf(n, e, name, nullable)
	}
	children := int(e.NumChildren.V)
	if children < 1 || children > len(p.rest) {
		return nil, fmt.Errorf("column %s: a group of %d columns", dotted(path), children)
	}
	n.kind = structNode
	single := children == 1 && repetition(p.rest[0]) == format.Repeated
	var kids []*node
	var err error
	switch {
	case single && annotated(e, (*format.ListType)(nil), deprecated.List):
		n.kind = listNode
		kids, err = p.element(n, e.Name)
	case single && (annotated(e, (*format.MapType)(nil), deprecated.Map) || annotated(e, (*format.MapType)(nil), deprecated.MapKeyValue)):
		n.kind = mapNode
		kids, err = p.entries(n)
	default:
		for range children {
			var c *node
			if c, err = p.field(path, n.def, rep); err != nil {
				break
			}
			kids = append(kids, c)
		}
	}
	if err != nil {
		return nil, err
	}
	return n.become(name, kids, nullable), nil
}

// annotated reports whether an element has a logical type, in the new or in the old way.
func annotated(e format.SchemaElement, logical format.LogicalTypeValue, old deprecated.ConvertedType) bool {
	if v := e.LogicalType.Value; v != nil {
		return v.FieldID() == logical.FieldID()
	}
	return e.ConvertedType == thrift.New(old)
}

// element reads the repeated child of a list. Usually that is a group around the element; in old files it is the element (parquet-format: LogicalTypes,
// backward compatibility).
func (p *schemaParser) element(list *node, listName string) ([]*node, error) {
	r, err := p.next()
	if err != nil {
		return nil, err
	}
	path := append(list.path[:len(list.path):len(list.path)], "element")
	wrapper := r.NumChildren.V == 1 && r.Name != "array" && r.Name != listName+"_tuple" && len(p.rest) > 0 && repetition(p.rest[0]) != format.Repeated
	var c *node
	if wrapper {
		var inner format.SchemaElement
		if inner, err = p.next(); err != nil {
			return nil, err
		}
		c, err = p.content(inner, path, repetition(inner) == format.Optional, list.def+1, list.rep+1)
	} else {
		c, err = p.content(r, path, false, list.def+1, list.rep+1)
	}
	return []*node{c}, err
}

// entries reads the repeated group of a map: a key and a value.
func (p *schemaParser) entries(m *node) ([]*node, error) {
	r, err := p.next()
	if err != nil {
		return nil, err
	}
	if r.NumChildren.V != 2 {
		return nil, fmt.Errorf("column %s: a map with %d columns instead of key and value", dotted(m.path), r.NumChildren.V)
	}
	var kids []*node
	for _, name := range []string{"key", "value"} {
		e, err := p.next()
		if err != nil {
			return nil, err
		}
		if repetition(e) == format.Repeated {
			return nil, fmt.Errorf("column %s: a repeated %s of a map", dotted(m.path), name)
		}
		c, err := p.content(e, append(m.path[:len(m.path):len(m.path)], name), repetition(e) == format.Optional, m.def+1, m.rep+1)
		if err != nil {
			return nil, err
		}
		kids = append(kids, c)
	}
	return kids, nil
}

// become completes a node with its children, and with the Arrow type that follows from them.
func (n *node) become(name string, kids []*node, nullable bool) *node {
	n.children = kids
	n.field = arrow.Field{Name: name, Nullable: nullable}
	switch n.kind {
	case listNode:
		n.field.Type = schema.List(kids[0].field.Type, kids[0].field.Nullable)
	case mapNode:
		n.field.Type = schema.Map(kids[0].field.Type, kids[1].field.Type, kids[1].field.Nullable)
	case structNode:
		fields := make([]arrow.Field, len(kids))
		for i, k := range kids {
			fields[i] = k.field
		}
		n.field.Type = arrow.StructOf(fields...)
	}
	return n
}

func (p *schemaParser) leaf(n *node, e format.SchemaElement, name string, nullable bool) (*node, error) {
	t, unit, err := leafType(e)
	if err != nil {
		return nil, fmt.Errorf("column %s: %w", dotted(n.path), err)
	}
	n.field = arrow.Field{Name: name, Type: t, Nullable: nullable}
	n.leaf = len(p.leaves)
	s := stored{node: n, typ: e.Type.V, length: int(e.TypeLength.V), unit: unit}
	s.unsigned = s.typ == format.Int32 && t.ID() == arrow.INT64 || s.typ == format.Int64 && t.ID() == arrow.DECIMAL128 && t.(*arrow.Decimal128Type).Precision == 20
	p.leaves = append(p.leaves, s)
	return n, nil
}
