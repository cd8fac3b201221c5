package sql

import (
	"context"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/internal/duck"
)

// bypass is how those columns of the result that are columns of the input go around DuckDB, which then computes the others alone and says which rows are
// left: a row-wise query drops rows, and neither makes nor moves any. One of those columns, of which nothing else in the query takes notice, goes into
// DuckDB with the numbers of the rows instead of its values. So what runs is still the user's own SQL, on a view with the same names.
//
// With eight columns, of which five only pass through, and a row of ten dropped (internal/bench), two million rows took 0.7 s of processor time more than
// without a query, and take 0.3 s more with a bypass. FuzzBypass holds the two ways against each other.
type bypass struct {
	view    *arrow.Schema // the input, with numbers in one column
	numbers int           // which one
	from    []int         // for each column of the result: the column of the input that it is, or -1 where DuckDB computes it
	rest    *arrow.Schema // what DuckDB computes
}

// bypassing is the plan for the same result with a bypass; nil where there is none, because DuckDB has to see all, or because what it says of the
// shorter query is not what it says of the whole one.
func (p *plan) bypassing(ctx context.Context, s *session, q *simple) (*plan, error) {
	b, carrier := findBypass(q, p.in, p.out)
	if b == nil {
		return nil, nil
	}
	short := &plan{in: p.in, out: p.out, query: p.query, bypass: b}
	chosen := []string{duck.Ident(p.out.Field(carrier).Name)}
	for i, from := range b.from {
		if from < 0 {
			chosen = append(chosen, p.items[i])
		}
	}
	short.wrap(chosen)
	w, err := s.newWorker(ctx, viewName, b.view)
	if err != nil {
		return nil, err
	}
	defer w.close()
	if err := w.setTime(ctx, planTime); err != nil {
		return nil, err
	}
	columns, err := w.conn.Describe(ctx, short.text)
	if err != nil || len(columns) != 1+b.rest.NumFields() || columns[0].Type.Name != "BIGINT" {
		return nil, ctx.Err()
	}
	for i, c := range columns[1:] {
		if t, ok := tableType(c.Type); !ok || !t.exact || !arrow.TypeEqual(t.arrow, b.rest.Field(i).Type) {
			return nil, nil
		}
	}
	if err := short.explain(ctx, w.conn); err != nil || !short.rowWise {
		return nil, ctx.Err()
	}
	return short, nil
}

// findBypass also says which column of the result has the numbers.
func findBypass(q *simple, in, out *arrow.Schema) (b *bypass, carrier int) {
	if len(q.items) != out.NumFields() {
		return nil, 0
	}
	b, carrier = &bypass{from: make([]int, len(q.items))}, -1
	var rest []arrow.Field
	for i, it := range q.items {
		result := out.Field(i)
		switch {
		case it.name != "" && !strings.EqualFold(it.name, result.Name): // the list was not read as DuckDB reads it
			return nil, 0
		case it.column < 0 || !passes(in.Field(it.column).Type, result.Type):
			b.from[i] = -1
			rest = append(rest, result)
			continue
		case carrier < 0 && q.unseen(it.column):
			carrier, b.numbers = i, it.column
		}
		b.from[i] = it.column
	}
	if carrier < 0 {
		return nil, 0
	}
	fields := slices.Clone(in.Fields())
	fields[b.numbers] = arrow.Field{Name: fields[b.numbers].Name, Type: arrow.PrimitiveTypes.Int64, Nullable: true}
	b.view, b.rest = arrow.NewSchema(fields, nil), arrow.NewSchema(rest, nil)
	return b, carrier
}

// passes says whether DuckDB would give the values of a column back as they are. It would not take a MAP with a key twice.
func passes(in, out arrow.DataType) bool { return arrow.TypeEqual(in, out) && !hasMap(in) }

func hasMap(t arrow.DataType) bool {
	if t.ID() == arrow.MAP {
		return true
	}
	nested, ok := t.(arrow.NestedType)
	return ok && slices.ContainsFunc(nested.Fields(), func(f arrow.Field) bool { return hasMap(f.Type) })
}
