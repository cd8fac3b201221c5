package arrowparquet

import (
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/schema"
)

// A projection says how one wanted column, at any level, is made from a file.
type projection struct {
	field    arrow.Field   // as wanted
	from     *node         // nil: the file does not have it, all null
	children []*projection // of a struct as wanted; element; key and value
	levels   int           // the leaf whose levels tell about this column
}

// project matches the wanted fields with columns of the file. The error lists all that cannot be read as wanted.
func project(want []arrow.Field, have []*node, leaves []stored) ([]*projection, error) {
	p := projector{leaves: leaves}
	out := p.fields(want, have)
	if len(p.errs) > 0 {
		return nil, fmt.Errorf("arrowparquet: the file does not fit: %w", errors.Join(p.errs...))
	}
	return out, nil
}

type projector struct {
	leaves []stored
	errs   []error
}

func (p *projector) fields(want []arrow.Field, have []*node) []*projection {
	out := make([]*projection, len(want))
	for i, f := range want {
		out[i] = p.field(f, named(have, f.Name))
	}
	return out
}

func named(nodes []*node, name string) *node {
	for _, n := range nodes {
		if n.field.Name == name {
			return n
		}
	}
	for _, n := range nodes {
		if strings.EqualFold(n.field.Name, name) {
			return n
		}
	}
	return nil
}

func (p *projector) field(want arrow.Field, from *node) *projection {
	out := &projection{field: want, from: from}
	if from == nil {
		if !want.Nullable {
			p.errs = append(p.errs, fmt.Errorf("column %s is not in the file, and NOT NULL", want.Name))
		}
		return out
	}
	out.levels = firstLeaf(from)
	t := want.Type
	switch {
	case from.kind == leafNode:
		if !readable(t, &p.leaves[from.leaf]) {
			p.differ(from, t)
		}
	case from.kind == structNode && t.ID() == arrow.STRUCT:
		out.children = p.fields(t.(*arrow.StructType).Fields(), from.children)
	case from.kind == listNode && t.ID() == arrow.LIST:
		out.children = []*projection{p.field(t.(*arrow.ListType).ElemField(), from.children[0])}
	case from.kind == mapNode && t.ID() == arrow.MAP:
		m := t.(*arrow.MapType)
		out.children = []*projection{p.field(m.KeyField(), from.children[0]), p.field(m.ItemField(), from.children[1])}
	default:
		p.differ(from, t)
	}
	// Levels of a leaf that is read anyway are as good as those of the first.
	for _, c := range out.children {
		if c.from != nil {
			out.levels = c.levels
			break
		}
	}
	return out
}

func (p *projector) differ(from *node, t arrow.DataType) {
	p.errs = append(p.errs, fmt.Errorf("column %s is %s in the file, wanted as %s", dotted(from.path), schema.TypeDDL(from.field.Type), schema.TypeDDL(t)))
}

func firstLeaf(n *node) int {
	for n.kind != leafNode {
		n = n.children[0]
	}
	return n.leaf
}

// readable reports whether a stored leaf can be read as a type: its own, a wider integer, float or decimal, text as bytes and bytes as text.
func readable(want arrow.DataType, s *stored) bool {
	have := s.field.Type
	switch w := want.(type) {
	case *arrow.TimestampType:
		h, ok := have.(*arrow.TimestampType)
		return ok && w.Unit == arrow.Microsecond && (s.unit == days96 || (h.TimeZone == "") == (w.TimeZone == ""))
	case *arrow.Decimal128Type:
		h, ok := have.(*arrow.Decimal128Type)
		return ok && h.Scale == w.Scale && h.Precision <= w.Precision
	case *arrow.StringType, *arrow.BinaryType:
		return have.ID() == arrow.STRING || have.ID() == arrow.BINARY
	case *arrow.Float64Type:
		return have.ID() == arrow.FLOAT32 || have.ID() == arrow.FLOAT64
	}
	if w := intWidth(want); w > 0 {
		return intWidth(have) > 0 && intWidth(have) <= w
	}
	return arrow.TypeEqual(want, have)
}

// wanted marks the leaves that are read: true for values, false for levels alone.
func (o *projection) wanted(leaves map[int]bool) {
	if o.from == nil {
		return
	}
	if o.from.kind == leafNode {
		leaves[o.from.leaf] = true
		return
	}
	for _, c := range o.children {
		c.wanted(leaves)
	}
	if !leaves[o.levels] {
		leaves[o.levels] = false
	}
}
