package project

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/compute"

	"microbatch/batch"
	"microbatch/guarantee"
	"microbatch/ident"
	"microbatch/transforms"
)

// Filter is the operator that keeps the rows for which a condition is true.
type Filter struct{ condition string }

var _ transforms.Operator = (*Filter)(nil)

// NewFilter is a filter by a condition. Output checks it.
func NewFilter(condition string) *Filter { return &Filter{condition: condition} }

// Describe is the condition, which may evolve.
func (f *Filter) Describe() ident.Description {
	return ident.Description{Kind: "filter", Name: "filter", Evolution: map[string]any{"filter": f.condition}}
}

// Requires is Any: each row is by itself.
func (f *Filter) Requires() transforms.Distribution { return transforms.Distribution{} }

// Guarantee is exactly once: the rows that are left out are so by a condition that does not change.
func (f *Filter) Guarantee() guarantee.Link { return rowByRow("filter") }

// Output is the input's schema, if the condition fits it.
func (f *Filter) Output(in *arrow.Schema) (*arrow.Schema, error) {
	if _, err := f.bind(in); err != nil {
		return nil, err
	}
	return in, nil
}

func (f *Filter) bind(in *arrow.Schema) (test, error) {
	c, err := parseCondition(f.condition)
	if err != nil {
		return nil, failure("filter", f.condition, err)
	}
	t, err := c.bind(in)
	if err != nil {
		return nil, failure("filter", f.condition, err)
	}
	return t, nil
}

// Open binds the condition to the batch's schema.
func (f *Filter) Open(ctx context.Context, env transforms.Env) (transforms.Instance, error) {
	t, err := f.bind(env.Input)
	if err != nil {
		return nil, err
	}
	return &filtering{keep: t, env: env}, nil
}

type filtering struct {
	counter
	keep test
	env  transforms.Env
}

// Apply keeps the rows for which the condition is true, chunk by chunk.
func (f *filtering) Apply(ctx context.Context, in batch.Stream) batch.Stream {
	s := newScope(ctx, f.env, "filter")
	return apply(in, &f.counter, func(rec arrow.RecordBatch) (arrow.RecordBatch, error) {
		keep, err := f.keep(s, rec)
		if err != nil {
			return nil, err
		}
		defer keep.Release()
		switch kept := countTrue(keep.(*array.Boolean)); kept {
		case 0:
			return nil, nil
		case keep.Len():
			rec.Retain()
			return rec, nil
		}
		return compute.FilterRecordBatch(s.ctx, rec, keep, compute.DefaultFilterOptions())
	})
}

func countTrue(a *array.Boolean) int {
	n := 0
	for i := range a.Len() {
		if a.IsValid(i) && a.Value(i) {
			n++
		}
	}
	return n
}

// Close does nothing: nothing is held.
func (f *filtering) Close() error { return nil }

// newScope is the scope of one part.
func newScope(ctx context.Context, env transforms.Env, operator string) *scope {
	return &scope{ctx: compute.WithAllocator(ctx, env.Alloc), mem: env.Alloc, batch: env.Batch, operator: operator}
}
