package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/internal/duck"
)

// sameColumns reports whether every file is known to have every column, so that DuckDB need not open all of them to find out. The statistics in
// the log name the columns; files without a column that came later, or without statistics, make it false.
func (o *opened) sameColumns() bool {
	var want []string
	for _, f := range o.schema.Fields() {
		if !slices.Contains(o.partitionBy, f.Name) {
			want = append(want, f.Name)
		}
	}
	last, tail := "", "" // the columns of the file before, and the part of its statistics that says so
	for _, add := range o.files {
		if tail != "" && strings.HasSuffix(add.Stats, tail) { // as of most files: all columns and no nulls
			continue
		}
		at := strings.LastIndex(add.Stats, nullCount)
		if at < 0 {
			return false
		}
		names, ok := counted(add.Stats[at+len(nullCount):])
		if !ok {
			return false
		}
		tail = add.Stats[at:]
		if names == last {
			continue
		}
		for _, name := range want {
			if !strings.Contains(names, ",\""+name+"\",") {
				return false
			}
		}
		last = names
	}
	return true
}

// nullCount begins the counts of nulls. A struct column of that name has them too: the innermost is looked at, which lacks the column itself at least.
const nullCount = `"nullCount":{`

// counted is the keys of an object from behind its brace on, as they are written there: ,"a",,"b",. It looks at each byte once and understands no more of JSON
// than that. ok: the object ends.
func counted(stats string) (names string, ok bool) {
	var b strings.Builder
	depth, start, key := 1, -1, true // at the outermost level, key says whether a name or a value comes next
	for i := 0; i < len(stats); i++ {
		switch c := stats[i]; {
		case start >= 0 && c == '\\':
			i++
		case c == '"' && start < 0:
			start = i
		case c == '"':
			if depth == 1 && key {
				b.WriteString("," + stats[start:i+1] + ",")
			}
			start = -1
		case start >= 0:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return b.String(), true
			}
		case depth == 1 && (c == ':' || c == ','):
			key = c == ','
		}
	}
	return "", false
}

// typeSQL is DuckDB's name of a canonical type.
func typeSQL(t arrow.DataType) string {
	switch t := t.(type) {
	case *arrow.TimestampType:
		if t.TimeZone == "" {
			return "TIMESTAMP"
		}
		return "TIMESTAMPTZ"
	case *arrow.Decimal128Type:
		return fmt.Sprintf("DECIMAL(%d,%d)", t.Precision, t.Scale)
	case *arrow.ListType:
		return typeSQL(t.Elem()) + "[]"
	case *arrow.MapType:
		return fmt.Sprintf("MAP(%s, %s)", typeSQL(t.KeyType()), typeSQL(t.ItemType()))
	case *arrow.StructType:
		parts := make([]string, t.NumFields())
		for i, f := range t.Fields() {
			parts[i] = duck.Ident(f.Name) + " " + typeSQL(f.Type)
		}
		return "STRUCT(" + strings.Join(parts, ", ") + ")"
	}
	return scalars[t.ID()]
}

var scalars = map[arrow.Type]string{
	arrow.BOOL: "BOOLEAN", arrow.INT8: "TINYINT", arrow.INT16: "SMALLINT", arrow.INT32: "INTEGER", arrow.INT64: "BIGINT", arrow.FLOAT32: "FLOAT",
	arrow.FLOAT64: "DOUBLE", arrow.STRING: "VARCHAR", arrow.BINARY: "BLOB", arrow.DATE32: "DATE",
}
