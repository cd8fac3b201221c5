package project

import (
	"context"
	"errors"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"microbatch/batch"
	"microbatch/guarantee"
	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/schema"
	"microbatch/transforms"
)

// Select is the operator that chooses, renames and casts columns.
type Select struct{ items []string }

var _ transforms.Operator = (*Select)(nil)

// NewSelect is a select of the items, each "*", or a value with a name. Output checks them.
func NewSelect(items []string) *Select { return &Select{items: items} }

// Describe is the list of items, which may evolve.
func (s *Select) Describe() ident.Description {
	items := make([]any, len(s.items))
	for i, item := range s.items {
		items[i] = item
	}
	return ident.Description{Kind: "select", Name: "select", Evolution: map[string]any{"select": items}}
}

// Requires is Any: each row is by itself.
func (s *Select) Requires() transforms.Distribution { return transforms.Distribution{} }

// Guarantee is exactly once.
func (s *Select) Guarantee() guarantee.Link { return rowByRow("select") }

// rowByRow is the link of an operator that looks at one row at a time.
func rowByRow(name string) guarantee.Link {
	return guarantee.Link{Name: name, Reason: "what becomes of a row is a function of the row alone, and the same when its batch runs again"}
}

// Output is the schema of the chosen columns. A column that is only chosen or renamed keeps its nullability and comment.
func (s *Select) Output(in *arrow.Schema) (*arrow.Schema, error) {
	_, out, err := s.bind(in)
	return out, err
}

func (s *Select) bind(in *arrow.Schema) ([]bound, *arrow.Schema, error) {
	var columns []bound
	var errs []error
	for _, text := range s.items {
		some, err := bindItem(text, in)
		if err != nil {
			errs = append(errs, failure("select", text, err))
			continue
		}
		columns = append(columns, some...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, nil, err
	}
	fields := make([]arrow.Field, len(columns))
	for i, c := range columns {
		fields[i] = c.field
	}
	out := arrow.NewSchema(fields, nil)
	if len(fields) == 0 {
		return nil, nil, errcode.ExpressionInvalid.New("select", "no columns are left")
	}
	if err := schema.CheckNames(out); err != nil {
		return nil, nil, errcode.ExpressionInvalid.Wrap(err, "select", "the names of the columns")
	}
	return columns, out, nil
}

func bindItem(text string, in *arrow.Schema) ([]bound, error) {
	it, err := parseItem(text)
	if err != nil {
		return nil, err
	}
	if it.star {
		return it.bindStar(in)
	}
	c, err := it.value.bind(in)
	if err != nil {
		return nil, err
	}
	if it.name != "" {
		c.field.Name = it.name
	}
	if c.field.Name == "" {
		return nil, wrong(it.value.at, "a literal needs a name: %s AS name", it.value.text)
	}
	return []bound{c}, nil
}

func (it *item) bindStar(in *arrow.Schema) ([]bound, error) {
	for _, name := range it.except {
		if find(in.Fields(), name) < 0 {
			return nil, wrong(strings.Index(it.text, name), "there is no column %s; there are %s", name, names(in.Fields()))
		}
	}
	var out []bound
	for i, f := range in.Fields() {
		if contains(it.except, f.Name) {
			continue
		}
		path := []int{i}
		out = append(out, bound{f, func(s *scope, rec arrow.RecordBatch) (arrow.Array, error) { return column(s.mem, rec, path), nil }})
	}
	return out, nil
}

func contains(names []string, name string) bool {
	for _, n := range names {
		if strings.EqualFold(n, name) {
			return true
		}
	}
	return false
}

// Open binds the items to the batch's schema.
func (s *Select) Open(ctx context.Context, env transforms.Env) (transforms.Instance, error) {
	columns, out, err := s.bind(env.Input)
	if err != nil {
		return nil, err
	}
	return &selecting{columns: columns, out: out, env: env}, nil
}

type selecting struct {
	counter
	columns []bound
	out     *arrow.Schema
	env     transforms.Env
}

// Apply evaluates the columns, chunk by chunk.
func (s *selecting) Apply(ctx context.Context, in batch.Stream) batch.Stream {
	sc := newScope(ctx, s.env, "select")
	return apply(in, &s.counter, func(rec arrow.RecordBatch) (arrow.RecordBatch, error) {
		arrays := make([]arrow.Array, 0, len(s.columns))
		defer func() {
			for _, a := range arrays {
				a.Release()
			}
		}()
		for _, c := range s.columns {
			a, err := c.eval(sc, rec)
			if err != nil {
				return nil, err
			}
			arrays = append(arrays, a)
		}
		return array.NewRecordBatch(s.out, arrays, rec.NumRows()), nil
	})
}

// Close does nothing: nothing is held.
func (s *selecting) Close() error { return nil }
