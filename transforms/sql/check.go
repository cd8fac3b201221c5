package sql

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"microbatch/internal/duck"
	"microbatch/internal/errcode"
)

// tree is a query as DuckDB's parser sees it.
type tree struct {
	query     string
	root      any // the statement
	functions []call
	tables    []call // table functions
	samples   []call
	batch     bool // the view is named somewhere
	limits    []bool
}

// call is a use of a function.
type call struct {
	name      string
	qualified bool // with a schema or catalog: it may be DuckDB's own in spite of a macro
	arguments int
	ordered   bool // has an ORDER BY of its own
	at        int
}

// tableFunctions may be called in FROM: they make rows from their arguments alone.
var tableFunctions = []string{"unnest", "range", "generate_series", "json_each", "json_tree", "repeat", "repeat_row", "regexp_split_to_table"}

// orderDependent are aggregates whose value depends on the order of the rows, unless they have an ORDER BY.
var orderDependent = []string{"first", "last", "any_value", "arbitrary", "list", "array_agg", "string_agg", "group_concat", "listagg"}

// clockMacros are DuckDB's own macros over the clock, which shadowing does not reach.
var clockMacros = []string{"ago", "pg_conf_load_time", "pg_postmaster_start_time"}

// steady are functions and operators that give the same for the same arguments. A query of no others is checked without DuckDB's list of all its functions,
// which takes it 40 ms to make.
var steady = []string{"+", "-", "*", "/", "//", "%", "||", "~~", "!~~", "lower", "upper", "length", "trim", "concat", "substring", "replace", "abs", "round", "floor", "ceil",
	"nullif", "greatest", "least", "date_trunc", "year", "month", "day", "hour", "strftime", "count", "count_star", "sum", "avg", "min", "max",
	"struct_extract", "array_extract", "list_value", "struct_pack", "regexp_matches", "starts_with", "contains", "now", "today"}

// parse lets DuckDB read the query: it must be one SELECT.
func parse(ctx context.Context, conn *duck.Conn, query string) (*tree, error) {
	text, err := conn.Text(ctx, "SELECT json_serialize_sql("+duck.Literal(query)+")::VARCHAR")
	if err != nil {
		return nil, err
	}
	var answer struct {
		Failed     bool   `json:"error"`
		Message    string `json:"error_message"`
		Position   any    `json:"position"`
		Statements []any  `json:"statements"`
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		return nil, fmt.Errorf("sql: parse %q: %w", query, err)
	}
	switch {
	case answer.Failed && strings.HasPrefix(answer.Message, "Only SELECT"):
		return nil, errcode.SQLInvalid.New("sql", "only SELECT (also WITH ... SELECT, and FROM ...) can be a transform")
	case answer.Failed:
		return nil, errcode.SQLInvalid.New(place(query, location(answer.Position)), "%s", answer.Message)
	case len(answer.Statements) != 1:
		return nil, errcode.SQLInvalid.New("sql", "want one SELECT, have %d statements", len(answer.Statements))
	}
	t := &tree{query: query, root: answer.Statements[0]}
	t.walk(t.root)
	return t, nil
}

// location is a position in DuckDB's JSON: a number, or a text of a number; 2^64-1 is nowhere.
func location(v any) int {
	switch n := v.(type) {
	case float64:
		if n >= 0 && n < 1<<31 {
			return int(n)
		}
	case string:
		var at int
		if _, err := fmt.Sscan(n, &at); err == nil {
			return at
		}
	}
	return -1
}

func (t *tree) walk(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			t.walk(item)
		}
	case map[string]any:
		t.visit(v)
		for _, item := range v {
			t.walk(item)
		}
	}
}

func (t *tree) visit(n map[string]any) {
	at := location(n["query_location"])
	switch {
	case n["class"] == "FUNCTION" || n["class"] == "WINDOW":
		t.functions = append(t.functions, functionCall(n, at))
	case n["type"] == "TABLE_FUNCTION":
		if f, ok := n["function"].(map[string]any); ok {
			t.tables = append(t.tables, functionCall(f, at))
		}
	case n["type"] == "BASE_TABLE":
		name, _ := n["table_name"].(string)
		t.batch = t.batch || strings.EqualFold(name, viewName)
	}
	if sample, ok := n["sample"].(map[string]any); ok {
		t.samples = append(t.samples, call{name: fmt.Sprint(sample["method"]), at: at})
	}
	if modifiers, ok := n["modifiers"].([]any); ok {
		t.limits = append(t.limits, unorderedLimit(modifiers))
	}
}

func functionCall(n map[string]any, at int) call {
	name, _ := n["function_name"].(string)
	children, _ := n["children"].([]any)
	c := call{name: strings.ToLower(name), arguments: len(children), at: at, ordered: n["class"] == "WINDOW"}
	schema, _ := n["schema"].(string)
	catalog, _ := n["catalog"].(string)
	c.qualified = schema != "" || catalog != ""
	if by, ok := n["order_bys"].(map[string]any); ok {
		orders, _ := by["orders"].([]any)
		c.ordered = len(orders) > 0
	}
	return c
}

func unorderedLimit(modifiers []any) bool {
	limit, order := false, false
	for _, m := range modifiers {
		m, _ := m.(map[string]any)
		limit = limit || m["type"] == "LIMIT_MODIFIER" || m["type"] == "LIMIT_PERCENT_MODIFIER"
		order = order || m["type"] == "ORDER_MODIFIER"
	}
	return limit && !order
}

// check refuses what would make the result depend on anything but the batch (Q1).
func (t *tree) check(unstable func() (map[string]bool, error)) error {
	var names map[string]bool
	if slices.ContainsFunc(t.functions, func(f call) bool { return !slices.Contains(steady, f.name) }) {
		var err error
		if names, err = unstable(); err != nil {
			return err
		}
	}
	for _, f := range t.functions {
		switch {
		case f.name == "error": // volatile for DuckDB's optimizer only: it ends the batch each time
		case f.name == "age" && f.arguments == 1:
			return t.refuse(f, "age(x) counts from the clock; age(now(), x) counts from the batch's time")
		case slices.Contains(clockMacros, f.name):
			return t.refuse(f, "%s() reads the clock; now() is the batch's time", f.name)
		case f.qualified && isAnchored(f.name):
			return t.refuse(f, "%s() by its full name reads the clock; by its name alone it is the batch's time", f.name)
		case names[f.name]:
			return t.refuse(f, "%s() gives another value each time it is run, and a batch that is run again after a crash must give the same rows", f.name)
		}
	}
	for _, f := range t.tables {
		if !slices.Contains(tableFunctions, f.name) {
			return t.refuse(f, "%s() reads something else than the batch, which may have changed when the batch is run again", f.name)
		}
	}
	for _, s := range t.samples {
		return t.refuse(s, "a sample takes other rows each time")
	}
	if !t.batch {
		return errcode.SQLInvalid.New("sql", notRead)
	}
	return nil
}

func isAnchored(function string) bool {
	_, ok := anchored[function]
	return ok
}

func (t *tree) refuse(f call, format string, args ...any) error {
	return errcode.SQLNotRepeatable.New(place(t.query, f.at), format, args...)
}

// orderWarnings name what depends on the order of the rows in the batch, which a rerun need not keep.
func (t *tree) orderWarnings() []string {
	var out []string
	if slices.Contains(t.limits, true) {
		out = append(out, "LIMIT without ORDER BY takes any rows of the batch, and may take others when the batch is run again")
	}
	for _, f := range t.functions {
		if slices.Contains(orderDependent, f.name) && !f.ordered {
			out = append(out, fmt.Sprintf("%s without ORDER BY depends on the order of the batch's rows, which may differ when the batch is run again: write %[1]s(... ORDER BY ...)", f.name))
		}
	}
	return out
}
