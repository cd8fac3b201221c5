package sql

import (
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// simple is a query that is a list of columns and expressions over batch, perhaps with a condition, and nothing else.
type simple struct {
	in    *arrow.Schema
	table string   // what the query calls batch
	items []item   // in the order of the result's columns
	seen  []string // names that stand in an expression or in the condition
}

// item is a column of a simple query's result.
type item struct {
	name   string // "" where DuckDB makes one up
	column int    // of the input, which it is without change; -1 for an expression
}

// expressions are the classes of nodes whose meaning lies in their parts alone. A subquery, a star in an expression or a column by its position has another.
var expressions = []string{"CASE", "CAST", "COLLATE", "COLUMN_REF", "COMPARISON", "CONJUNCTION", "BETWEEN", "CONSTANT", "FUNCTION", "LAMBDA", "OPERATOR"}

// readSimple reads the tree of a SELECT. It is nil for one that is not simple, which is any that has a part that is not known here.
func readSimple(root any, in *arrow.Schema) *simple {
	statement, _ := root.(map[string]any)
	node, _ := statement["node"].(map[string]any)
	from, _ := node["from_table"].(map[string]any)
	if !only(statement, "node") || !only(node, "type", "select_list", "from_table", "where_clause", "aggregate_handling") || !only(from, "type", "table_name", "alias", "query_location") {
		return nil
	}
	name, _ := from["table_name"].(string)
	if node["type"] != "SELECT_NODE" || node["aggregate_handling"] != "STANDARD_HANDLING" || from["type"] != "BASE_TABLE" || !strings.EqualFold(name, viewName) {
		return nil
	}
	q := &simple{in: in, table: name}
	if alias, _ := from["alias"].(string); alias != "" {
		q.table = alias
	}
	if q.find(q.table) >= 0 {
		return nil // a name of two meanings
	}
	list, _ := node["select_list"].([]any)
	for _, v := range list {
		if !q.addItem(v) {
			return nil
		}
	}
	if !q.see(node["where_clause"]) {
		return nil
	}
	return q
}

func (q *simple) addItem(v any) bool {
	n, _ := v.(map[string]any)
	alias, _ := n["alias"].(string)
	switch n["class"] {
	case "STAR":
		return q.addStar(n)
	case "COLUMN_REF":
		if names := texts(n["column_names"]); len(names) == 1 || len(names) == 2 && strings.EqualFold(names[0], q.table) {
			if column := q.find(names[len(names)-1]); column >= 0 {
				if alias == "" {
					alias = names[len(names)-1]
				}
				q.items = append(q.items, item{alias, column})
				return true
			}
		}
	}
	q.items = append(q.items, item{alias, -1})
	return q.see(v)
}

// addStar adds the columns of a *, with its EXCLUDE and REPLACE.
func (q *simple) addStar(n map[string]any) bool {
	relation, _ := n["relation_name"].(string)
	if !only(n, "class", "type", "query_location", "relation_name", "exclude_list", "replace_list") || relation != "" && !strings.EqualFold(relation, q.table) {
		return false
	}
	excluded := texts(n["exclude_list"])
	replaced := map[int]bool{}
	list, _ := n["replace_list"].([]any)
	for _, v := range list {
		r, _ := v.(map[string]any)
		key, _ := r["key"].(string)
		replaced[q.find(key)] = true
		if !q.see(r["value"]) {
			return false
		}
	}
	for column, f := range q.in.Fields() {
		switch {
		case slices.ContainsFunc(excluded, func(name string) bool { return strings.EqualFold(name, f.Name) }):
		case replaced[column]:
			q.items = append(q.items, item{f.Name, -1})
		default:
			q.items = append(q.items, item{f.Name, column})
		}
	}
	return true
}

// see notes the names in an expression. It is false for one that may depend on what it does not name.
func (q *simple) see(v any) bool {
	switch v := v.(type) {
	case []any:
		for _, part := range v {
			if !q.see(part) {
				return false
			}
		}
	case map[string]any:
		if class, ok := v["class"].(string); ok && !slices.Contains(expressions, class) {
			return false
		}
		switch v["class"] {
		case "CONSTANT":
			return true
		case "COLUMN_REF":
			return q.seeNames(texts(v["column_names"]))
		}
		for _, part := range v {
			if !q.see(part) {
				return false
			}
		}
	}
	return true
}

// seeNames notes the names of a reference. It is false for the table itself, which is a STRUCT of all columns.
func (q *simple) seeNames(names []string) bool {
	for i, name := range names {
		isTable := strings.EqualFold(name, q.table) || strings.EqualFold(name, viewName)
		if isTable && (i > 0 || len(names) == 1) {
			return false
		}
	}
	q.seen = append(q.seen, names...)
	return true
}

// unseen says whether nothing but items that are the column itself depends on it: neither its name nor that of such an item is used elsewhere.
func (q *simple) unseen(column int) bool {
	names := []string{q.in.Field(column).Name}
	for _, it := range q.items {
		if it.column == column {
			names = append(names, it.name)
		}
	}
	return !slices.ContainsFunc(q.seen, func(seen string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, seen) })
	})
}

// find is the column of the input by its name; -1 if there is none.
func (q *simple) find(name string) int {
	return slices.IndexFunc(q.in.Fields(), func(f arrow.Field) bool { return strings.EqualFold(f.Name, name) })
}

// only says whether a node has no other parts than these: all others are empty.
func only(n map[string]any, parts ...string) bool {
	for key, v := range n {
		if !slices.Contains(parts, key) && !isEmpty(v) {
			return false
		}
	}
	return n != nil
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case []any:
		return len(v) == 0
	case map[string]any:
		return only(v)
	}
	return false
}

func texts(v any) []string {
	list, _ := v.([]any)
	out := make([]string, len(list))
	for i, item := range list {
		out[i], _ = item.(string)
	}
	return out
}
