package transformtest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/batch"
	"microbatch/ident"
	"microbatch/transforms"
)

// Timestamp is the batch timestamp that the suite uses.
var Timestamp = time.Date(2024, 2, 29, 12, 34, 56, 789000000, time.UTC)

// Input is what an operator under test gets.
type Input struct {
	Schema *arrow.Schema
	// Chunks are records as JSON arrays of objects, by column name.
	Chunks []string
}

// Run checks (T1) to (T4) for an operator. fresh makes one; where it implements Close() error, it is closed.
func Run(t *testing.T, fresh func() transforms.Operator, in Input) {
	t.Helper()
	cases := []struct {
		name string
		test func(*testing.T, transforms.Operator, Input)
	}{
		{"T1 the same rows again", func(t *testing.T, op transforms.Operator, in Input) { sameRowsAgain(t, op, fresh(), in) }},
		{"T2 the schema is known before any row", schemaBeforeRows},
		{"T3 rejected rows pass through", rejectedPass},
		{"T3 left early, everything is released", leftEarly},
		{"T3 an error of the input is passed on", inputError},
		{"T3 an ended context ends the stream", endedContext},
		{"T4 rows are accounted for", counted},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			op := fresh()
			defer closeIt(op)
			c.test(t, op, in)
		})
	}
}

// Rows applies the operator to the chunks, dealt out over parts, and returns the rows as text, sorted, and the counts.
func Rows(t *testing.T, op transforms.Operator, in Input, parts int) ([]string, transforms.Counts) {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	inst, out := open(t, op, in.Schema, mem, parts)
	var rows []string
	for part := range parts {
		var mine []string
		for i, chunk := range in.Chunks {
			if i%parts == part {
				mine = append(mine, chunk)
			}
		}
		for c, err := range inst.Apply(t.Context(), stream(t, mem, in.Schema, mine)) {
			if err != nil {
				t.Fatal(err)
			}
			if c.Record != nil {
				if !c.Record.Schema().Equal(out) {
					t.Errorf("record has the schema\n%s\nwant\n%s", c.Record.Schema(), out)
				}
				rows = append(rows, Text(c.Record)...)
			}
			c.Release()
		}
	}
	counts := inst.Counts()
	if err := inst.Close(); err != nil {
		t.Fatal(err)
	}
	sort.Strings(rows)
	return rows, counts
}

// Text is a record's rows as "a=1 b=x".
func Text(rec arrow.RecordBatch) []string {
	rows := make([]string, rec.NumRows())
	for i := range rows {
		cells := make([]string, rec.NumCols())
		for j := range cells {
			cells[j] = rec.ColumnName(j) + "=" + rec.Column(j).ValueStr(i)
		}
		rows[i] = strings.Join(cells, " ")
	}
	return rows
}

func open(t *testing.T, op transforms.Operator, in *arrow.Schema, mem memory.Allocator, parts int) (transforms.Instance, *arrow.Schema) {
	t.Helper()
	out, err := op.Output(in)
	if err != nil {
		t.Fatal(err)
	}
	inst, err := op.Open(t.Context(), transforms.Env{Batch: 7, Attempt: ident.NewAttempt(), Timestamp: Timestamp, Input: in, Parts: parts, Alloc: mem})
	if err != nil {
		t.Fatal(err)
	}
	return inst, out
}

func stream(t *testing.T, mem memory.Allocator, schema *arrow.Schema, chunks []string) batch.Stream {
	t.Helper()
	return func(yield func(batch.Chunk, error) bool) {
		for _, text := range chunks {
			rec, _, err := array.RecordFromJSON(mem, schema, strings.NewReader(text))
			if err != nil {
				t.Error(err)
				yield(batch.Chunk{}, err)
				return
			}
			if !yield(batch.Chunk{Record: rec}, nil) {
				return
			}
		}
	}
}

func partsFor(op transforms.Operator, in Input) int {
	if _, err := op.Output(in.Schema); err == nil && op.Requires().Kind == transforms.Any {
		return min(3, len(in.Chunks))
	}
	return 1
}

func closeIt(op transforms.Operator) {
	if closer, ok := op.(interface{ Close() error }); ok {
		closer.Close()
	}
}

// sameRowsAgain runs the batch by another operator too, as after a restart, and dealt out over other parts.
func sameRowsAgain(t *testing.T, op, restarted transforms.Operator, in Input) {
	defer closeIt(restarted)
	first, _ := Rows(t, op, in, 1)
	second, _ := Rows(t, restarted, in, partsFor(restarted, in))
	if !slices.Equal(first, second) {
		t.Errorf("first\n%s\nthen\n%s", strings.Join(first, "\n"), strings.Join(second, "\n"))
	}
}

func schemaBeforeRows(t *testing.T, op transforms.Operator, in Input) {
	first, err := op.Output(in.Schema)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := op.Output(in.Schema); err != nil || !again.Equal(first) {
		t.Errorf("asked again: %v %v", again, err)
	}
	Rows(t, op, Input{Schema: in.Schema}, 1) // checks the schema of what comes, and that nothing fails without input
	Rows(t, op, in, 1)
}

func rejectedPass(t *testing.T, op transforms.Operator, in Input) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	inst, _ := open(t, op, in.Schema, mem, 1)
	want := []batch.Rejected{{Position: "a-0-1", Reason: "MB3001 x", Raw: []byte("{")}, {Position: "a-0-2", Reason: "MB3001 y", Raw: []byte("}")}, {Position: "a-0-9"}}
	source := func(yield func(batch.Chunk, error) bool) {
		if !yield(batch.Chunk{Rejected: want[:2]}, nil) {
			return
		}
		for c, err := range stream(t, mem, in.Schema, in.Chunks) {
			if !yield(c, err) {
				return
			}
		}
		yield(batch.Chunk{Rejected: want[2:]}, nil)
	}
	var got []batch.Rejected
	for c, err := range inst.Apply(t.Context(), source) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, c.Rejected...)
		c.Release()
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	inst.Close()
}

func leftEarly(t *testing.T, op transforms.Operator, in Input) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	inst, _ := open(t, op, in.Schema, mem, 1)
	for c, err := range inst.Apply(t.Context(), stream(t, mem, in.Schema, in.Chunks)) {
		if err != nil {
			t.Fatal(err)
		}
		c.Release()
		break
	}
	inst.Close()
}

func inputError(t *testing.T, op transforms.Operator, in Input) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	inst, _ := open(t, op, in.Schema, mem, 1)
	broken := errors.New("the wire is cut")
	source := func(yield func(batch.Chunk, error) bool) {
		for c, err := range stream(t, mem, in.Schema, in.Chunks) {
			if !yield(c, err) {
				return
			}
		}
		yield(batch.Chunk{}, fmt.Errorf("source: %w", broken))
	}
	var last error
	for c, err := range inst.Apply(t.Context(), source) {
		if last != nil {
			t.Error("the stream goes on after an error")
		}
		last = err
		c.Release()
	}
	if !errors.Is(last, broken) {
		t.Errorf("the stream ended with %v", last)
	}
	inst.Close()
}

// endedContext has an input without end, as a topic that is fed faster than it is read.
func endedContext(t *testing.T, op transforms.Operator, in Input) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	inst, _ := open(t, op, in.Schema, mem, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	source := func(yield func(batch.Chunk, error) bool) {
		for i := 0; ; i++ {
			if i == 20 {
				cancel()
			}
			if ctx.Err() != nil {
				yield(batch.Chunk{}, ctx.Err())
				return
			}
			for c, err := range stream(t, mem, in.Schema, in.Chunks) {
				if !yield(c, err) {
					return
				}
			}
		}
	}
	var last error
	for c, err := range inst.Apply(ctx, source) {
		last = err
		c.Release()
	}
	if !errors.Is(last, context.Canceled) {
		t.Errorf("the stream ended with %v", last)
	}
	inst.Close()
}

func counted(t *testing.T, op transforms.Operator, in Input) {
	rows, counts := Rows(t, op, in, partsFor(op, in))
	var want int64
	for _, chunk := range in.Chunks {
		rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, in.Schema, strings.NewReader(chunk))
		if err != nil {
			t.Fatal(err)
		}
		want += rec.NumRows()
		rec.Release()
	}
	if counts.In != want || counts.Out != int64(len(rows)) {
		t.Errorf("counts %+v, with %d rows in and %d out", counts, want, len(rows))
	}
	if counts.Filtered >= 0 && counts.In != counts.Out+counts.Filtered {
		t.Errorf("counts %+v do not add up", counts)
	}
}
