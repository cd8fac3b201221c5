package avro

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/hamba/avro/v2"

	"microbatch/codec/column"
	"microbatch/internal/errcode"
)

// op is what a node does with the bytes before it.
type op uint8

// The ops, by the type that is read. Those without a column are the last ones.
const (
	opNull     op = iota
	opBoolean     // to BOOLEAN
	opInt         // an int that is 32 bits in the column: INT
	opLong        // to BIGINT
	opNarrow      // int or long to an integer that may be too small
	opFloating    // int or long to FLOAT or DOUBLE
	opFloat       // float to FLOAT or DOUBLE
	opDouble      // to DOUBLE
	opDate        // to DATE
	opInstant     // long to TIMESTAMP or TIMESTAMP_NTZ
	opText        // string or bytes to STRING, which is UTF-8
	opBytes       // string or bytes to BINARY
	opFixed       // to BINARY
	opUUID        // sixteen bytes to STRING
	opDecimal     // bytes to DECIMAL
	opFixedDecimal
	opEnum // to STRING or BINARY
	opRecord
	opArray
	opMap
	opUnion   // a node for each branch
	opMembers // a union to a STRUCT with a field for each branch but null
	opRefuse  // no value goes into the column

	opSkipVarint
	opSkipBytes
	opSkipFixed
	opSkipRecord
	opSkipArray
	opSkipMap
	opSkipUnion
)

// node reads one value by the writer's schema, into a column or past it.
type node struct {
	op        op
	col       *column.Column // nil for those that skip
	path      string         // "a.b", for messages
	notNull   bool
	union     bool // of null and this value: a byte says which
	null      byte // the byte that says null, and
	value     byte // the one that says a value
	kids      []*node
	absent    []*node // of a record: columns that no field has
	size      int     // of fixed
	unit      unit    // of an instant
	shift     int32   // of a decimal: digits to add behind
	precision int32
	symbols   []string
	wide      bool   // of opNarrow and opFloating: a long, not an int
	detail    string // of opRefuse
	members   []int  // of opMembers: for each branch the field, -1 for null
}

// unit is what the number of an instant counts.
type unit uint8

const (
	millis unit = iota
	micros
	nanos
)

// compile prepares the reading of records of a schema into columns.
func compile(s *Schema, columns []*column.Column) *node {
	c := compiler{skips: map[string]*node{}}
	root := &node{op: opRecord}
	c.fields(root, s.root, columns, "")
	return root
}

// compiler compiles one schema.
type compiler struct{ skips map[string]*node } // by the name of a record

// fields are the nodes of a record, in the writer's order, and the columns that have none.
func (c compiler) fields(n *node, r *avro.RecordSchema, columns []*column.Column, prefix string) {
	have := map[string]bool{}
	for _, f := range r.Fields() {
		i := slices.IndexFunc(columns, func(col *column.Column) bool { return col.Field().Name == f.Name() })
		if i < 0 {
			n.kids = append(n.kids, c.skip(f.Type()))
			continue
		}
		have[f.Name()] = true
		n.kids = append(n.kids, c.node(f.Type(), columns[i], prefix+f.Name()))
	}
	for _, col := range columns {
		if f := col.Field(); !have[f.Name] {
			n.absent = append(n.absent, &node{op: opNull, col: col, path: prefix + f.Name, notNull: !f.Nullable, detail: "the message's schema has no such field"})
		}
	}
}

// node is how a value of a schema is read into a column.
func (c compiler) node(s avro.Schema, col *column.Column, path string) *node {
	s = named(s)
	n := &node{col: col, path: path, notNull: !col.Field().Nullable, detail: "it is null"}
	switch s := s.(type) {
	case *avro.UnionSchema:
		return c.union(n, s)
	case *avro.RecordSchema:
		if col.Kind() != column.Struct {
			return n.refusing(s)
		}
		n.op = opRecord
		c.fields(n, s, col.Kids(), path+".")
	case *avro.ArraySchema:
		if col.Kind() != column.List {
			return n.refusing(s)
		}
		n.op, n.kids = opArray, []*node{c.node(s.Items(), col.Kids()[0], path+".element")}
	case *avro.MapSchema:
		if col.Kind() != column.Map || col.Kids()[0].Kids()[0].Kind() != column.String {
			return n.refusing(s)
		}
		pair := col.Kids()[0].Kids()
		n.op, n.kids = opMap, []*node{{op: opText, col: pair[0], path: path + ".key"}, c.node(s.Values(), pair[1], path+".value")}
	default:
		return n.scalar(s)
	}
	return n
}

// refusing makes the node one that refuses each value.
func (n *node) refusing(s avro.Schema) *node {
	n.op, n.detail = opRefuse, fmt.Sprintf("the message has %s, which is not %s", article(describe(s)), n.col.Article())
	return n
}

// union prepares the reading of one of several schemas. The commonest, null and one other, takes no node of its own.
func (c compiler) union(n *node, u *avro.UnionSchema) *node {
	others := branches(u)
	if len(others) == 1 && len(u.Types()) == 2 {
		m := c.node(others[0], n.col, n.path)
		if m.union || m.op == opUnion { // no schema has a union in a union
			return n.refusing(u)
		}
		m.union, m.null, m.value = true, 0, 2
		if u.Types()[1].Type() == avro.Null {
			m.null, m.value = 2, 0
		}
		return m
	}
	if columns := membersOf(n.col); columns != nil && len(others) > 1 {
		n.op = opMembers
		next := 0
		for _, s := range u.Types() {
			at := -1
			kid := &node{op: opNull, col: n.col, path: n.path, notNull: n.notNull, detail: n.detail}
			switch {
			case s.Type() == avro.Null:
			case next >= len(columns):
				kid.refusing(s)
			default:
				at, kid = next, c.node(s, columns[next], n.path+"."+member(next))
			}
			if s.Type() != avro.Null {
				next++
			}
			n.members, n.kids = append(n.members, at), append(n.kids, kid)
		}
		return n
	}
	n.op = opUnion
	for _, s := range u.Types() {
		n.kids = append(n.kids, c.node(s, n.col, n.path))
	}
	return n
}

// membersOf are the fields of a STRUCT of member0, member1 and so on; nil if the column is none.
func membersOf(col *column.Column) []*column.Column {
	if col.Kind() != column.Struct {
		return nil
	}
	for i, kid := range col.Kids() {
		if kid.Field().Name != member(i) {
			return nil
		}
	}
	return col.Kids()
}

// scalar prepares the reading of a schema that holds no other.
func (n *node) scalar(s avro.Schema) *node {
	kind, l := n.col.Kind(), logical(s)
	fits := func(op op, when bool) *node {
		if !when {
			return n.refusing(s)
		}
		n.op = op
		return n
	}
	text := kind == column.String || kind == column.Binary
	switch l {
	case avro.Date:
		return fits(opDate, kind == column.Date)
	case avro.TimestampMillis, avro.TimestampMicros, timestampNanos:
		n.unit = unitOf(l)
		return fits(opInstant, kind == column.Timestamp)
	case avro.LocalTimestampMillis, avro.LocalTimestampMicros, localTimestampNanos:
		n.unit = unitOf(l)
		return fits(opInstant, kind == column.TimestampNTZ)
	case avro.Decimal:
		if kind == column.Decimal {
			return n.decimal(s)
		}
		if kind != column.Binary { // the bytes of a number are no text
			return n.refusing(s)
		}
	case avro.UUID:
		if fixed, ok := s.(*avro.FixedSchema); ok && kind == column.String {
			n.size = fixed.Size()
			return fits(opUUID, true)
		}
	}
	switch s := s.(type) {
	case *avro.NullSchema:
		return fits(opNull, true)
	case *avro.FixedSchema:
		n.size = s.Size()
		return fits(opFixed, kind == column.Binary)
	case *avro.EnumSchema:
		n.symbols = s.Symbols()
		return fits(opEnum, text)
	}
	switch s.Type() {
	case avro.Boolean:
		return fits(opBoolean, kind == column.Bool)
	case avro.Int, avro.Long:
		n.wide = s.Type() == avro.Long
		switch {
		case kind == column.Int64:
			return fits(opLong, true)
		case kind == column.Int32 && !n.wide:
			return fits(opInt, true)
		case kind == column.Int8, kind == column.Int16, kind == column.Int32:
			return fits(opNarrow, true)
		}
		return fits(opFloating, kind == column.Float32 || kind == column.Float64)
	case avro.Float:
		return fits(opFloat, kind == column.Float32 || kind == column.Float64)
	case avro.Double:
		return fits(opDouble, kind == column.Float64)
	case avro.String, avro.Bytes:
		if kind == column.Binary {
			return fits(opBytes, true)
		}
		return fits(opText, kind == column.String)
	}
	return n.refusing(s)
}

// decimal prepares the reading of a decimal into one that has room for its digits behind the point; those before it are looked at in each value.
func (n *node) decimal(s avro.Schema) *node {
	_, scale := decimal(s)
	t := n.col.Field().Type.(*arrow.Decimal128Type)
	if t.Scale < scale {
		return n.refusing(s)
	}
	n.op, n.shift, n.precision = opDecimal, t.Scale-scale, t.Precision
	if fixed, ok := s.(*avro.FixedSchema); ok {
		n.op, n.size = opFixedDecimal, fixed.Size()
	}
	return n
}

func unitOf(l avro.LogicalType) unit {
	switch {
	case strings.HasSuffix(string(l), "millis"):
		return millis
	case strings.HasSuffix(string(l), "micros"):
		return micros
	}
	return nanos
}

// skip is how a value of a schema is passed over. A record that holds itself leads back to its own node.
func (c compiler) skip(s avro.Schema) *node {
	switch s := named(s).(type) {
	case *avro.RecordSchema:
		if n, ok := c.skips[s.FullName()]; ok {
			return n
		}
		n := &node{op: opSkipRecord}
		c.skips[s.FullName()] = n
		for _, f := range s.Fields() {
			n.kids = append(n.kids, c.skip(f.Type()))
		}
		return n
	case *avro.ArraySchema:
		return &node{op: opSkipArray, kids: []*node{c.skip(s.Items())}}
	case *avro.MapSchema:
		return &node{op: opSkipMap, kids: []*node{c.skip(s.Values())}}
	case *avro.UnionSchema:
		n := &node{op: opSkipUnion}
		for _, branch := range s.Types() {
			n.kids = append(n.kids, c.skip(branch))
		}
		return n
	case *avro.FixedSchema:
		return &node{op: opSkipFixed, size: s.Size()}
	default:
		return skipScalar(s.Type())
	}
}

func skipScalar(t avro.Type) *node {
	switch t {
	case avro.Null:
		return &node{op: opSkipFixed}
	case avro.Boolean:
		return &node{op: opSkipFixed, size: 1}
	case avro.Float:
		return &node{op: opSkipFixed, size: 4}
	case avro.Double:
		return &node{op: opSkipFixed, size: 8}
	case avro.String, avro.Bytes:
		return &node{op: opSkipBytes}
	}
	return &node{op: opSkipVarint} // int, long, enum
}

// fault is why no value at all can be read into the columns, nil if some can: a column whose type does not go with its field's, or that must have a value and has no field.
func (n *node) fault() error {
	switch {
	case n.op == opRefuse:
		return errcode.AvroColumns.New("", "column %s: %s", n.path, n.detail)
	case n.op == opNull && n.notNull:
		return errcode.AvroColumns.New("", "column %s is NOT NULL: %s", n.path, n.detail)
	case n.op == opUnion || n.op == opMembers:
		return nil // a branch that fits no column may never come
	}
	for _, kid := range slices.Concat(n.kids, n.absent) {
		if kid.op < opSkipVarint {
			if err := kid.fault(); err != nil {
				return err
			}
		}
	}
	return nil
}
