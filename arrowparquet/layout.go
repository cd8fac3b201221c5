package arrowparquet

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// A node is one column of the schema, at any level, as both Arrow and Parquet see it.
type node struct {
	field    arrow.Field
	path     []string // names of the schema from the root: a.element.b
	kind     nodeKind
	def, rep int // levels of a value that is present here: nulls and lists around it counted
	children []*node
	leaf     int // index among the leaves, if kind is leafNode
}

type nodeKind int

const (
	leafNode nodeKind = iota
	structNode
	listNode // one child, element
	mapNode  // two children, key and value
)

// layout builds the tree of a schema and collects its leaves in order.
func layout(s *arrow.Schema) (roots, leaves []*node, err error) {
	for _, f := range s.Fields() {
		n, err := newNode(f, nil, 0, 0, &leaves)
		if err != nil {
			return nil, nil, err
		}
		roots = append(roots, n)
	}
	if len(leaves) == 0 {
		return nil, nil, fmt.Errorf("arrowparquet: a file needs at least one column")
	}
	return roots, leaves, nil
}

func newNode(f arrow.Field, parent []string, def, rep int, leaves *[]*node) (*node, error) {
	n := &node{field: f, path: append(parent[:len(parent):len(parent)], f.Name), def: def, rep: rep}
	if f.Nullable {
		n.def++
	}
	var kids []arrow.Field
	switch t := f.Type.(type) {
	case *arrow.StructType:
		n.kind, kids = structNode, t.Fields()
		if len(kids) == 0 {
			return nil, fmt.Errorf("arrowparquet: column %s: a struct without fields cannot be stored", dotted(n.path))
		}
	case *arrow.ListType:
		e := t.ElemField()
		e.Name = "element"
		n.kind, kids = listNode, []arrow.Field{e}
	case *arrow.MapType:
		k, v := t.KeyField(), t.ItemField()
		k.Name, v.Name, k.Nullable = "key", "value", false
		n.kind, kids = mapNode, []arrow.Field{k, v}
	default:
		if _, err := physicalOf(f.Type); err != nil {
			return nil, fmt.Errorf("arrowparquet: column %s: %w", dotted(n.path), err)
		}
		n.leaf = len(*leaves)
		*leaves = append(*leaves, n)
		return n, nil
	}
	def, rep = n.def, n.rep
	if n.kind != structNode {
		def, rep = def+1, rep+1
	}
	if def > 250 {
		return nil, fmt.Errorf("arrowparquet: column %s: types are nested too deep", dotted(n.path))
	}
	for _, k := range kids {
		c, err := newNode(k, n.path, def, rep, leaves)
		if err != nil {
			return nil, err
		}
		n.children = append(n.children, c)
	}
	return n, nil
}

// A physical type is how Parquet stores a leaf.
type physical struct {
	typ     format.Type
	width   int // bytes of one value, if fixed; 0 for BYTE_ARRAY and BOOLEAN
	logical format.LogicalTypeValue
	old     thrift.Null[deprecated.ConvertedType] // the same for old readers
}

// physicalOf is the Parquet type of a canonical Arrow leaf type (Delta protocol: Parquet physical types).
func physicalOf(t arrow.DataType) (physical, error) {
	conv := thrift.New[deprecated.ConvertedType]
	switch t := t.(type) {
	case *arrow.BooleanType:
		return physical{typ: format.Boolean}, nil
	case *arrow.Int8Type:
		return physical{format.Int32, 4, &format.IntType{BitWidth: 8, IsSigned: true}, conv(deprecated.Int8)}, nil
	case *arrow.Int16Type:
		return physical{format.Int32, 4, &format.IntType{BitWidth: 16, IsSigned: true}, conv(deprecated.Int16)}, nil
	case *arrow.Int32Type:
		return physical{typ: format.Int32, width: 4}, nil
	case *arrow.Int64Type:
		return physical{typ: format.Int64, width: 8}, nil
	case *arrow.Float32Type:
		return physical{typ: format.Float, width: 4}, nil
	case *arrow.Float64Type:
		return physical{typ: format.Double, width: 8}, nil
	case *arrow.StringType:
		return physical{format.ByteArray, 0, &format.StringType{}, conv(deprecated.UTF8)}, nil
	case *arrow.BinaryType:
		return physical{typ: format.ByteArray}, nil
	case *arrow.Date32Type:
		return physical{format.Int32, 4, &format.DateType{}, conv(deprecated.Date)}, nil
	case *arrow.TimestampType:
		if t.Unit != arrow.Microsecond {
			return physical{}, fmt.Errorf("timestamps are stored in microseconds, not %s", t)
		}
		p := physical{typ: format.Int64, width: 8}
		p.logical = &format.TimestampType{IsAdjustedToUTC: t.TimeZone != "", Unit: format.TimeUnit{Value: &format.MicroSeconds{}}}
		if t.TimeZone != "" { // the old annotation means an instant
			p.old = conv(deprecated.TimestampMicros)
		}
		return p, nil
	case *arrow.Decimal128Type:
		p := physical{format.FixedLenByteArray, decimalWidth(t.Precision), &format.DecimalType{Scale: t.Scale, Precision: t.Precision}, conv(deprecated.Decimal)}
		switch {
		case t.Precision <= 9:
			p.typ, p.width = format.Int32, 4
		case t.Precision <= 18:
			p.typ, p.width = format.Int64, 8
		}
		return p, nil
	}
	return physical{}, fmt.Errorf("the type %s cannot be stored", t)
}

// decimalWidth is the fewest bytes that hold any signed number of so many digits.
func decimalWidth(precision int32) int {
	bits, p := 1, 1.0
	for range precision {
		p *= 10
	}
	for v := 1.0; v < p; v *= 2 {
		bits++
	}
	return (bits + 7) / 8
}

// elements lists the subtree of a column as the flat schema of the footer.
func (n *node) elements(out []format.SchemaElement) []format.SchemaElement {
	rep := format.Required
	if n.field.Nullable {
		rep = format.Optional
	}
	e := format.SchemaElement{Name: n.field.Name, RepetitionType: thrift.New(rep)}
	switch n.kind {
	case leafNode:
		return append(out, leafElement(e, n.field.Type))
	case structNode:
		e.NumChildren = thrift.New(int32(len(n.children)))
		out = append(out, e)
	case listNode:
		e.LogicalType, e.ConvertedType = format.LogicalType{Value: &format.ListType{}}, thrift.New(deprecated.List)
		out = appendRepeated(out, e, "list", 1)
	case mapNode:
		e.LogicalType, e.ConvertedType = format.LogicalType{Value: &format.MapType{}}, thrift.New(deprecated.Map)
		out = appendRepeated(out, e, "key_value", 2)
	}
	for _, c := range n.children {
		out = c.elements(out)
	}
	return out
}

func leafElement(e format.SchemaElement, t arrow.DataType) format.SchemaElement {
	p, err := physicalOf(t)
	if err != nil { // newNode has refused it
		panic(err)
	}
	e.Type, e.ConvertedType = thrift.New(p.typ), p.old
	if p.logical != nil {
		e.LogicalType = format.LogicalType{Value: p.logical}
	}
	if p.typ == format.FixedLenByteArray {
		e.TypeLength = thrift.New(int32(p.width))
	}
	if d, ok := t.(*arrow.Decimal128Type); ok {
		e.Scale, e.Precision = thrift.New(d.Scale), thrift.New(d.Precision)
	}
	return e
}

func appendRepeated(out []format.SchemaElement, outer format.SchemaElement, name string, children int32) []format.SchemaElement {
	outer.NumChildren = thrift.New(int32(1))
	return append(out, outer, format.SchemaElement{Name: name, RepetitionType: thrift.New(format.Repeated), NumChildren: thrift.New(children)})
}

// filePath is the path of a leaf as the footer has it, with the repeated groups of lists and maps.
func (n *node) filePath(roots []*node) []string {
	var out []string
	for level, name := range n.path {
		out = append(out, name)
		cur := descend(roots, n.path[:level+1])
		switch cur.kind {
		case listNode:
			out = append(out, "list")
		case mapNode:
			out = append(out, "key_value")
		}
	}
	return out
}

// outermostList is the definition level of the first list or map on the way to a leaf; 0 if there is none.
func (n *node) outermostList(roots []*node) int {
	for level := range n.path {
		if cur := descend(roots, n.path[:level+1]); cur.kind == listNode || cur.kind == mapNode {
			return cur.def
		}
	}
	return 0
}

// descend finds the node of a path that exists.
func descend(roots []*node, path []string) *node {
	for _, n := range roots {
		if n.field.Name == path[0] {
			if len(path) == 1 {
				return n
			}
			return descend(n.children, path[1:])
		}
	}
	return nil
}

func dotted(path []string) string {
	out := path[0]
	for _, p := range path[1:] {
		out += "." + p
	}
	return out
}
