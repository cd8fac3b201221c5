//go:build cgo && duckdb_arrow

package sql_test

import (
	"context"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/batch"
	"microbatch/guarantee"
	"microbatch/ident"
	"microbatch/transforms"
	"microbatch/transforms/transformtest"
)

// firstError applies the operator to the input in one part.
func firstError(t *testing.T, op transforms.Operator, in transformtest.Input) error {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	inst, err := op.Open(t.Context(), transforms.Env{Timestamp: transformtest.Timestamp, Input: in.Schema, Parts: 1, Alloc: mem})
	if err != nil {
		t.Fatal(err)
	}
	defer inst.Close()
	source := func(yield func(batch.Chunk, error) bool) {
		for _, text := range in.Chunks {
			rec, _, err := array.RecordFromJSON(mem, in.Schema, strings.NewReader(text))
			if err != nil {
				t.Fatal(err)
			}
			if !yield(batch.Chunk{Record: rec}, nil) {
				return
			}
		}
	}
	var last error
	for c, err := range inst.Apply(t.Context(), source) {
		c.Release()
		last = err
	}
	return last
}

// identity is the operator that does nothing.
type identity struct{}

func (identity) Describe() ident.Description                    { return ident.Description{} }
func (identity) Output(in *arrow.Schema) (*arrow.Schema, error) { return in, nil }
func (identity) Requires() transforms.Distribution              { return transforms.Distribution{} }
func (identity) Guarantee() guarantee.Link                      { return guarantee.Link{} }
func (identity) Open(context.Context, transforms.Env) (transforms.Instance, error) {
	return identity{}, nil
}
func (identity) Apply(_ context.Context, in batch.Stream) batch.Stream { return in }
func (identity) Counts() transforms.Counts                             { return transforms.Counts{} }
func (identity) Close() error                                          { return nil }
