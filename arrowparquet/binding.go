package arrowparquet

import (
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// missing marks a column that the rows do not have.
const missing = -1

// A binding says where the values of one leaf stand in the records of one schema.
type binding struct {
	nodes []*node // from the column down to the leaf
	child []int   // of each node: its index among the columns of the record or the children of the node above, or missing
}

// bind matches the writer's leaves with an incoming schema, by name. The error lists all that does not fit.
func bind(roots, leaves []*node, in *arrow.Schema) ([]binding, error) {
	b := binder{out: make([]binding, len(leaves))}
	b.fields(roots, in.Fields(), nil, nil)
	if len(b.errs) > 0 {
		return nil, fmt.Errorf("arrowparquet: rows do not fit the file: %w", errors.Join(b.errs...))
	}
	return b.out, nil
}

type binder struct {
	out  []binding
	errs []error
}

func (b *binder) fields(nodes []*node, in []arrow.Field, above []*node, child []int) {
	for _, n := range nodes {
		i := fieldIndex(in, n.field.Name)
		if i == missing && !n.field.Nullable {
			b.errs = append(b.errs, fmt.Errorf("column %s is missing and NOT NULL", dotted(n.path)))
			continue
		}
		var t arrow.DataType
		if i != missing {
			t = in[i].Type
		}
		b.node(n, t, append(above[:len(above):len(above)], n), append(child[:len(child):len(child)], i))
	}
	for _, f := range in {
		if !hasNode(nodes, f.Name) {
			b.errs = append(b.errs, fmt.Errorf("column %s is not in the file", f.Name))
		}
	}
}

// node binds what is below one node; t is nil when it is missing in the rows.
func (b *binder) node(n *node, t arrow.DataType, nodes []*node, child []int) {
	if n.kind == leafNode {
		if t != nil && !storable(n.field.Type, t) {
			b.errs = append(b.errs, fmt.Errorf("column %s is %s in the file, %s in the rows", dotted(n.path), n.field.Type, t))
		}
		b.out[n.leaf] = binding{nodes, child}
		return
	}
	if t == nil {
		for _, c := range n.children {
			b.node(c, nil, append(nodes[:len(nodes):len(nodes)], c), append(child[:len(child):len(child)], missing))
		}
		return
	}
	if t.ID() != n.field.Type.ID() {
		b.errs = append(b.errs, fmt.Errorf("column %s is %s in the file, %s in the rows", dotted(n.path), n.field.Type, t))
		return
	}
	switch t := t.(type) {
	case *arrow.StructType:
		b.fields(n.children, t.Fields(), nodes, child)
	case *arrow.ListType:
		b.nested(n, 0, t.Elem(), nodes, child)
	case *arrow.MapType:
		b.nested(n, 0, t.KeyType(), nodes, child)
		b.nested(n, 1, t.ItemType(), nodes, child)
	}
}

func (b *binder) nested(n *node, i int, t arrow.DataType, nodes []*node, child []int) {
	b.node(n.children[i], t, append(nodes[:len(nodes):len(nodes)], n.children[i]), append(child[:len(child):len(child)], i))
}

// storable reports whether values of a type can be written to a column: the same type but for the zone of a timestamp, or a narrower integer.
func storable(column, t arrow.DataType) bool {
	if ts, ok := column.(*arrow.TimestampType); ok {
		in, ok := t.(*arrow.TimestampType)
		return ok && in.Unit == ts.Unit && (in.TimeZone == "") == (ts.TimeZone == "")
	}
	if w := intWidth(t); w > 0 {
		return w <= intWidth(column)
	}
	return arrow.TypeEqual(column, t)
}

func intWidth(t arrow.DataType) int {
	switch t.ID() {
	case arrow.INT8:
		return 1
	case arrow.INT16:
		return 2
	case arrow.INT32:
		return 4
	case arrow.INT64:
		return 8
	}
	return 0
}

func fieldIndex(fields []arrow.Field, name string) int {
	for i := range fields {
		if strings.EqualFold(fields[i].Name, name) {
			return i
		}
	}
	return missing
}

func hasNode(nodes []*node, name string) bool {
	for _, n := range nodes {
		if strings.EqualFold(n.field.Name, name) {
			return true
		}
	}
	return false
}
