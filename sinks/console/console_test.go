package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"microbatch/batch"
	"microbatch/internal/errcode"
	"microbatch/sinks"
)

var schema = arrow.NewSchema([]arrow.Field{{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "text", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)

func part(alloc memory.Allocator, texts ...string) batch.Part {
	return batch.PartFunc(func(context.Context) batch.Stream {
		return func(yield func(batch.Chunk, error) bool) {
			b := array.NewRecordBuilder(alloc, schema)
			defer b.Release()
			for i, text := range texts {
				b.Field(0).(*array.Int64Builder).Append(int64(i) * 100)
				if text == "" {
					b.Field(1).AppendNull()
				} else {
					b.Field(1).(*array.StringBuilder).Append(text)
				}
				if !yield(batch.Chunk{Record: b.NewRecordBatch()}, nil) {
					return
				}
			}
		}
	})
}

// jsonEncoder is an encoder of the shape that package codec/json has.
type jsonEncoder struct{}

func (jsonEncoder) AppendRow(dst []byte, r arrow.RecordBatch, row int) ([]byte, error) {
	text, err := json.Marshal(map[string]any{"n": r.Column(0).GetOneForMarshal(row), "text": r.Column(1).GetOneForMarshal(row)})
	return append(dst, text...), err
}

func show(t *testing.T, config Config, parts func(memory.Allocator) []batch.Part) (string, error) {
	t.Helper()
	alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer alloc.AssertSize(t, 0)
	var out bytes.Buffer
	if config.Writer == nil {
		config.Writer = &out
	}
	s, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Prepare(t.Context(), &batch.Batch{ID: 12, Schema: schema, Parts: parts(alloc)})
	if err != nil {
		return "", err
	}
	if out.Len() > 0 {
		t.Error("printed before Commit")
	}
	r, err := s.Commit(t.Context(), p)
	if err != nil {
		return "", errors.Join(err, s.Abort(t.Context(), p))
	}
	if r.Outcome != sinks.Committed || r.Version != -1 {
		t.Error(r)
	}
	return out.String(), nil
}

func TestRowsArePrintedAsAnAlignedTable(t *testing.T) {
	got, err := show(t, Config{}, func(a memory.Allocator) []batch.Part {
		return []batch.Part{part(a, "short", "", "\x1b[31mred\n"), part(a, strings.Repeat("long", 20))}
	})
	want := `-- batch 12: 4 rows
n    text
  0  short
100  NULL
200  �[31mred�
  0  ` + strings.Repeat("long", 9) + "lon…\n"
	if d := cmp.Diff(want, got); d != "" || err != nil {
		t.Error(d, err)
	}
}

func TestOnlyTheFirstRowsArePrintedAndAllAreCounted(t *testing.T) {
	got, _ := show(t, Config{Rows: 3}, func(a memory.Allocator) []batch.Part {
		return []batch.Part{part(a, "a", "b"), part(a, "c", "d", "e"), part(a)}
	})
	if want := "-- batch 12: 5 rows, the first 3\nn    text\n  0  a\n100  b\n  0  c\n"; got != want {
		t.Errorf("%q", got)
	}
}

func TestRowsArePrintedAsJSONLines(t *testing.T) {
	got, _ := show(t, Config{Encoder: jsonEncoder{}}, func(a memory.Allocator) []batch.Part { return []batch.Part{part(a, "a", "")} })
	if want := "-- batch 12: 2 rows\n{\"n\":0,\"text\":\"a\"}\n{\"n\":100,\"text\":null}\n"; got != want {
		t.Errorf("%q", got)
	}
}

func TestABatchWithoutRows(t *testing.T) {
	if got, _ := show(t, Config{}, func(memory.Allocator) []batch.Part { return nil }); got != "-- batch 12: 0 rows\nn  text\n" {
		t.Errorf("%q", got)
	}
}

type closedPipe struct{}

func (closedPipe) Write([]byte) (int, error) { return 0, errors.New("closed pipe") }

func TestAWriterThatFailsIsAnErrorWithACode(t *testing.T) {
	_, err := show(t, Config{Writer: closedPipe{}}, func(a memory.Allocator) []batch.Part { return []batch.Part{part(a, "a")} })
	if !errcode.Has(err, errcode.ConsoleFailed) || !strings.Contains(err.Error(), "batch 12") {
		t.Error(err)
	}
}

func TestAnErrorOfAPartFailsPrepare(t *testing.T) {
	broken := errors.New("broken")
	failing := batch.PartFunc(func(context.Context) batch.Stream {
		return func(yield func(batch.Chunk, error) bool) { yield(batch.Chunk{}, broken) }
	})
	_, err := show(t, Config{}, func(a memory.Allocator) []batch.Part { return []batch.Part{part(a, "a"), failing} })
	if !errors.Is(err, broken) {
		t.Error(err)
	}
}
