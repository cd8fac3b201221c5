package sql

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/internal/duck"
	"microbatch/internal/errcode"
	"microbatch/schema"
)

const notRead = "the query does not read the view batch, which is its input"

const (
	viewName   = "batch"    // of the batch in the query
	streamName = "__stream" // of the batch's stream, when batch itself is a table made from it
)

// plan is how a query is run on batches of one schema.
type plan struct {
	in, out  *arrow.Schema
	items    []string // how each column of the result is chosen from the query: by its name, in a cast where it needs one
	text     string   // what runs: the query, wrapped where columns are cast or not all are chosen
	shift    int      // bytes of the wrapping before the query
	query    string   // as the user wrote it, for positions
	rowWise  bool
	scans    int     // how often the batch is read
	empty    bool    // a part of the query was found to have no rows
	bypass   *bypass // nil where all columns go through DuckDB
	warnings []string
}

// viewName is what the stream of the batch is registered as.
func (p *plan) viewName() string {
	if p.scans > 1 {
		return streamName
	}
	return viewName
}

// viewSchema is what it has.
func (p *plan) viewSchema() *arrow.Schema {
	if p.bypass != nil {
		return p.bypass.view
	}
	return p.in
}

// makePlan checks the query and plans it on an empty stream of the input schema, of which DuckDB knows as little as of a full one.
func (s *session) makePlan(ctx context.Context, query string, in *arrow.Schema) (*plan, error) {
	p, list, err := s.plainPlan(ctx, query, in)
	if err != nil || !p.rowWise || list == nil {
		return p, err
	}
	if short, err := p.bypassing(ctx, s, list); short != nil || err != nil {
		return short, err
	}
	return p, nil
}

// plainPlan is the plan by which all columns go through DuckDB, and the query's list if it is a simple one.
func (s *session) plainPlan(ctx context.Context, query string, in *arrow.Schema) (*plan, *simple, error) {
	w, err := s.newWorker(ctx, viewName, in)
	if err != nil {
		return nil, nil, errcode.SQLInvalid.Wrap(err, "sql", "the input cannot be a view")
	}
	defer w.close()
	if err := w.setTime(ctx, planTime); err != nil {
		return nil, nil, err
	}
	tree, err := parse(ctx, w.conn, query)
	if err != nil {
		return nil, nil, err
	}
	if err := tree.check(func() (map[string]bool, error) { return s.unstable(ctx) }); err != nil {
		return nil, nil, err
	}
	p := &plan{in: in, query: query, text: query}
	if err := p.describe(ctx, w.conn); err != nil {
		return nil, nil, err
	}
	if err := p.explain(ctx, w.conn); err != nil {
		return nil, nil, err
	}
	if !p.rowWise {
		p.warnings = append([]string{"the query needs more than one row at a time, so it sees each batch as a whole: aggregates, joins and windows are per batch"}, tree.orderWarnings()...)
	}
	return p, readSimple(tree.root, in), nil
}

// describe finds the result's schema and wraps the query where a column has to be cast.
func (p *plan) describe(ctx context.Context, conn *duck.Conn) error {
	columns, err := conn.Describe(ctx, p.query)
	if err != nil {
		return p.failed(errcode.SQLInvalid, err)
	}
	fields, cast := make([]arrow.Field, len(columns)), false
	p.items = make([]string, len(columns))
	var wrong []error
	for i, c := range columns {
		t, ok := tableType(c.Type)
		if !ok {
			wrong = append(wrong, errcode.SQLType.New("sql", "column %s is %s, which a table cannot hold", c.Name, c.Type.Name))
			continue
		}
		fields[i] = arrow.Field{Name: c.Name, Type: t.arrow, Nullable: true}
		p.items[i] = duck.Ident(c.Name)
		if !t.exact {
			p.items[i], cast = fmt.Sprintf("CAST(%s AS %s) AS %[1]s", p.items[i], t.sql), true
		}
	}
	if len(wrong) > 0 {
		return errors.Join(wrong...)
	}
	p.out = arrow.NewSchema(fields, nil)
	if err := schema.CheckNames(p.out); err != nil {
		return errcode.SQLInvalid.Wrap(err, "sql", "the names of the result's columns").Advise("Name the columns in the SQL (expression AS name).")
	}
	if cast {
		p.wrap(p.items)
	}
	return nil
}

// wrap makes what runs choose from the query.
func (p *plan) wrap(items []string) {
	head := "SELECT " + strings.Join(items, ", ") + " FROM ("
	p.text, p.shift = head+trimEnd(p.query)+"\n)", len(head)
}

// trimEnd takes the semicolon from the end, which a subquery may not have.
func trimEnd(query string) string { return strings.TrimRight(query, "; \t\r\n") }

// explain decides from DuckDB's plan whether the query is row-wise, and counts how often it reads the batch.
func (p *plan) explain(ctx context.Context, conn *duck.Conn) error {
	text, err := conn.Text(ctx, "EXPLAIN (FORMAT JSON) "+p.text)
	if err != nil {
		return p.failed(errcode.SQLInvalid, err)
	}
	var roots []node
	if err := json.Unmarshal([]byte(text), &roots); err != nil {
		return fmt.Errorf("sql: plan %q: %w", text, err)
	}
	p.rowWise = true
	for _, root := range roots {
		p.walk(root)
	}
	p.rowWise = p.rowWise && p.scans == 1
	if p.scans == 0 && !p.empty { // a CTE has taken the name
		return errcode.SQLInvalid.New("sql", notRead)
	}
	return nil
}

// node is an operator of DuckDB's plan.
type node struct {
	Name     string `json:"name"`
	Children []node `json:"children"`
}

func (p *plan) walk(n node) {
	switch strings.TrimSpace(n.Name) {
	case duck.ScanOperator:
		p.scans++
	case "PROJECTION", "FILTER":
	case "EMPTY_RESULT": // a condition that is false, perhaps only at the time of planning: what stood there is gone, so it is not known to be row-wise
		p.empty, p.rowWise = true, false
	default:
		p.rowWise = false
	}
	for _, child := range n.Children {
		p.walk(child)
	}
}

// failed makes an error of DuckDB one of ours, with its place in the user's SQL.
func (p *plan) failed(code errcode.Code, err error) error {
	d, ok := errors.AsType[*duck.Error](err)
	if !ok {
		return err
	}
	if d.Kind == "Out of Memory" {
		code = errcode.SQLMemory
	}
	at := d.Position - p.shift // negative where the cast around the query failed
	return code.New(place(p.query, at), "%s: %s", strings.ToLower(d.Kind), d.Message)
}

// place is a byte offset in the SQL as "sql line:column", both from 1.
func place(query string, at int) string {
	if at < 0 || at > len(query) {
		return "sql"
	}
	before := query[:at]
	line := 1 + strings.Count(before, "\n")
	column := 1 + len([]rune(before[strings.LastIndexByte(before, '\n')+1:]))
	return fmt.Sprintf("sql %d:%d", line, column)
}
