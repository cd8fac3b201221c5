package schema

import (
	"errors"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
)

// Merge is the schema of a table after rows of the incoming schema were appended. Without allowAdd it is the table's own, and any column that is new is
// an error. With it, new columns are appended to the end of their struct, at every level, nullable; integers widen from TINYINT over
// SMALLINT to INT as Delta's mergeSchema does; everything else of the table is kept: order, spelling, nullability, metadata. The error lists all
// differences. The result is table itself if nothing changes.
func Merge(table, incoming *arrow.Schema, allowAdd bool) (*arrow.Schema, error) {
	m := merger{add: allowAdd}
	fields := m.fields(table.Fields(), incoming.Fields(), "")
	if len(m.diffs) > 0 {
		return nil, errors.Join(m.diffs...)
	}
	if !m.changed {
		return table, nil
	}
	meta := table.Metadata()
	return arrow.NewSchema(fields, &meta), nil
}

// Compatible reports whether rows of the incoming schema can be appended to the table as it is: every column exists with the same type (or a wider
// integer), and no column that is NOT NULL is missing. A nullable column may come for one that is NOT NULL: then each row is looked at when it is
// written. The error lists all differences, one a line.
func Compatible(table, incoming *arrow.Schema) error {
	_, err := Merge(table, incoming, false)
	return err
}

type merger struct {
	add     bool // new columns and wider integers are taken over
	changed bool
	diffs   []error
}

func (m *merger) differ(path, format string, args ...any) {
	m.diffs = append(m.diffs, fmt.Errorf("column %s: %s", path, fmt.Sprintf(format, args...)))
}

func (m *merger) fields(table, incoming []arrow.Field, path string) []arrow.Field {
	out := make([]arrow.Field, len(table))
	for i, f := range table {
		at := join(path, f.Name)
		if j := find(incoming, f.Name); j >= 0 {
			f.Type = m.dataType(f.Type, incoming[j].Type, at)
		} else if !f.Nullable {
			m.differ(at, "is missing, but the table has it NOT NULL")
		}
		out[i] = f
	}
	for _, f := range incoming {
		if find(table, f.Name) < 0 {
			out = m.append(out, f, join(path, f.Name))
		}
	}
	return out
}

// append takes a new column over: nullable at every level, since rows that exist have none of it.
func (m *merger) append(out []arrow.Field, f arrow.Field, path string) []arrow.Field {
	if !m.add {
		m.differ(path, "%s is not in the table", TypeDDL(f.Type))
		return out
	}
	if i := find(out, f.Name); i >= 0 {
		m.differ(path, "is there twice")
		return out
	}
	m.changed = true
	return append(out, arrow.Field{Name: f.Name, Type: allNullable(f.Type), Nullable: true, Metadata: f.Metadata})
}

func (m *merger) dataType(table, incoming arrow.DataType, path string) arrow.DataType {
	if nested(table) && table.ID() == incoming.ID() {
		kids := m.fields(children(table), children(incoming), path)
		return rebuild(table, kids)
	}
	t, in := integerRank(table), integerRank(incoming)
	switch {
	case sameType(table, incoming), t > in && in > 0:
		return table
	case in > t && t > 0 && in <= rankInt && m.add:
		m.changed = true
		return incoming
	}
	m.differ(path, "is %s in the table, %s in the rows", TypeDDL(table), TypeDDL(incoming))
	return table
}

// rankInt is the rank of INT: the widest integer that Delta's schema merge reaches, because all up to it are INT32 in Parquet.
const rankInt = 3

// integerRank orders the integers by width: a narrower one can be written to a wider column. It is 0 for any other type.
func integerRank(t arrow.DataType) int {
	switch t.ID() {
	case arrow.INT8:
		return 1
	case arrow.INT16:
		return 2
	case arrow.INT32:
		return rankInt
	case arrow.INT64:
		return 4
	}
	return 0
}

// sameType compares scalars as tables see them: any zone of a timestamp is as good as UTC.
func sameType(a, b arrow.DataType) bool {
	x, _, ok := scalarNames(a)
	y, _, also := scalarNames(b)
	if !ok || !also {
		return arrow.TypeEqual(a, b)
	}
	return x == y
}

func nested(t arrow.DataType) bool { return children(t) != nil || t.ID() == arrow.STRUCT }

// allNullable makes every part of a type nullable but the keys of maps.
func allNullable(t arrow.DataType) arrow.DataType {
	if !nested(t) {
		return t
	}
	kids := append([]arrow.Field(nil), children(t)...)
	for i := range kids {
		kids[i].Type = allNullable(kids[i].Type)
		kids[i].Nullable = t.ID() != arrow.MAP || i == 1
	}
	return rebuild(t, kids)
}
