package postgres

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/internal/errcode"
	"microbatch/schema"
)

// Work is how rows of a schema get into the target: what is staged, and what becomes of it.
type Work struct {
	Mode    string
	Fields  []Field // in the order of the rows' columns
	Order   []int   // the columns that decide between rows of one key: of Fields
	Deletes []string
	SQL     []string
}

// Field is a column of the rows.
type Field struct {
	Name      string // in the rows
	Target    string // the table's column; "" for the operation
	Key       bool
	Operation bool
	sent      pgType
	value     string // SQL of the value in the stage, as the table's column takes it
}

// workFor matches the rows' columns with those of the table, which is nil if it is to be created. The error lists all that does not fit.
func (c Config) workFor(rows *arrow.Schema, t *Table) (*Work, error) {
	w := &Work{Mode: c.Mode, Deletes: c.DeleteValues, SQL: c.SQL}
	if c.Mode == SQL { // the statements say what goes where
		t = nil
	}
	var faults []string
	wrong := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if _, err := schema.Canonical(rows); err != nil {
		wrong("%v", err)
	}
	for i, f := range rows.Fields() {
		field, err := c.field(f, i, t)
		if err != nil {
			wrong("column %s: %v", f.Name, err)
		}
		w.Fields = append(w.Fields, field)
	}
	find := func(setting, name string) int {
		i := slices.IndexFunc(w.Fields, func(f Field) bool { return strings.EqualFold(f.Name, name) })
		if i < 0 {
			wrong("%s: the rows have no column %s", setting, name)
		}
		return i
	}
	for _, k := range c.Keys {
		find("keys", k)
	}
	for _, o := range c.OrderBy {
		if i := find("order_by", o); i >= 0 {
			w.Order = append(w.Order, i)
			if !w.Fields[i].sent.ordered() {
				wrong("order_by: %s is %s, which has no order", o, schema.TypeDDL(rows.Field(i).Type))
			}
		}
	}
	if c.OperationColumn != "" {
		find("operation_column", c.OperationColumn)
	}
	if t != nil && len(faults) == 0 {
		faults = append(faults, w.lacks(t, c.Table)...)
	}
	if len(faults) > 0 {
		return nil, errcode.PostgresTable.New(c.Table, "%s", strings.Join(faults, "; "))
	}
	return w, nil
}

// field is the i-th column of the rows.
func (c Config) field(f arrow.Field, i int, t *Table) (out Field, err error) {
	out = Field{Name: f.Name, Target: f.Name, Key: among(c.Keys, f.Name), Operation: c.OperationColumn != "" && strings.EqualFold(f.Name, c.OperationColumn)}
	out.value = "s." + stageColumn(i)
	if out.sent, err = typeOf(f.Type); err != nil {
		return out, err
	}
	switch {
	case out.Operation && out.sent.oid != oidText:
		return out, fmt.Errorf("the operation is a STRING, not %s", schema.TypeDDL(f.Type))
	case out.Operation:
		out.Target = ""
		return out, nil
	case out.Key && !(out.sent.ordered() && out.sent.oid != oidFloat4 && out.sent.oid != oidFloat8):
		return out, fmt.Errorf("%s cannot be a key", schema.TypeDDL(f.Type))
	}
	if err := checkName(f.Name); err != nil || t == nil {
		return out, err
	}
	column, ok := t.column(f.Name)
	if !ok {
		return out, fmt.Errorf("the table has no such column")
	}
	if column.Generated {
		return out, fmt.Errorf("it is generated in the table and takes no values")
	}
	out.Target = column.Name
	out.value, err = fits(f.Type, out.sent, column, out.value)
	return out, err
}

// lacks says what a table wants that the rows do not have, and what the mode wants that the table does not have.
func (w *Work) lacks(t *Table, name string) (faults []string) {
	var keys []string
	for _, c := range t.Columns {
		i := slices.IndexFunc(w.Fields, func(f Field) bool { return f.Target == c.Name })
		if i < 0 && c.NotNull && !c.Default && !c.Generated {
			faults = append(faults, fmt.Sprintf("column %s of the table is NOT NULL and has no default, and the rows have no such column", c.Name))
		}
	}
	for i, f := range w.Fields {
		if j := slices.IndexFunc(w.Fields[:i], func(o Field) bool { return o.Target == f.Target }); j >= 0 {
			faults = append(faults, fmt.Sprintf("the columns %s and %s are the same one in the table", w.Fields[j].Name, f.Name))
		}
		if f.Key {
			keys = append(keys, f.Target)
		}
	}
	if w.Mode == Upsert && !slices.ContainsFunc(t.Unique, func(u []string) bool { return sameNames(u, keys) }) {
		faults = append(faults, fmt.Sprintf("mode upsert needs a unique index on the key alone: CREATE UNIQUE INDEX ON %s (%s)", name, quoteAll(keys)))
	}
	return faults
}

// column finds a column by its name, exactly or, if that is one alone, without regard to case.
func (t *Table) column(name string) (c Column, ok bool) {
	var alike []Column
	for _, c := range t.Columns {
		if c.Name == name {
			return c, true
		}
		if strings.EqualFold(c.Name, name) {
			alike = append(alike, c)
		}
	}
	if len(alike) != 1 {
		return c, false
	}
	return alike[0], true
}

func sameNames(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(a, b)
}

// definition is the SQL of a new table for the rows.
func (c Config) definition(rows *arrow.Schema, w *Work) string {
	var lines, keys []string
	for i, f := range w.Fields {
		if f.Operation {
			continue
		}
		line := quote(f.Target) + " " + f.sent.ddl
		if !rows.Field(i).Nullable {
			line += " NOT NULL"
		}
		lines = append(lines, line)
	}
	for _, k := range c.Keys {
		for _, f := range w.Fields {
			if f.Key && strings.EqualFold(f.Name, k) {
				keys = append(keys, f.Target)
			}
		}
	}
	if c.Mode == Upsert {
		lines = append(lines, "PRIMARY KEY ("+quoteAll(keys)+")")
	}
	return "(" + strings.Join(lines, ", ") + ")"
}
