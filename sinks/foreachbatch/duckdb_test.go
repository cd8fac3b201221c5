//go:build services

package foreachbatch

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"microbatch/batch"
	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/internal/services"
	"microbatch/sinks"
)

var orderSchema = arrow.NewSchema([]arrow.Field{
	{Name: "order id", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "status", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "ts", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, Nullable: true},
}, nil)

// order is one row for the example.
type order struct {
	id, status string
	ts         int64
}

func TestTheDuckDBExampleUpsertsEachBatchOnce(t *testing.T) {
	python := services.Python(t)
	example, err := filepath.Abs("../../examples/foreachbatch-duckdb/upsert.py")
	must(t, err)
	database := filepath.Join(t.TempDir(), "orders.duckdb")
	s, alloc := fixture(t, Config{Command: []string{python, example, database, "the orders", "order id", "ts"}})
	run := func(id ident.BatchID, entry string, orders ...order) error {
		b := &batch.Batch{ID: id, Attempt: ident.NewAttempt(), Digest: ident.DigestOf([]byte(entry)), Schema: orderSchema}
		b.Parts = append(b.Parts, batch.PartFunc(func(context.Context) batch.Stream {
			return func(yield func(batch.Chunk, error) bool) {
				rb := array.NewRecordBuilder(alloc, orderSchema)
				defer rb.Release()
				for _, o := range orders {
					rb.Field(0).(*array.StringBuilder).Append(o.id)
					rb.Field(1).(*array.StringBuilder).Append(o.status)
					rb.Field(2).(*array.TimestampBuilder).Append(arrow.Timestamp(o.ts))
				}
				yield(batch.Chunk{Record: rb.NewRecordBatch()}, nil)
			}
		}))
		return apply(t, s, b)
	}
	must(t, run(0, "zero", order{"a", "placed", 1}, order{"b", "placed", 2}, order{"a", "paid", 3}))
	must(t, run(1, "one"))
	must(t, run(2, "two", order{"b", "late", 1}, order{"c", "placed", 5}, order{"a", "shipped", 6}))
	must(t, run(2, "two", order{"b", "late", 1}, order{"c", "placed", 5}, order{"a", "shipped", 6})) // passed again after a crash
	if err := run(2, "other"); !errcode.Has(err, errcode.CommandFailed) || !strings.Contains(err.Error(), "another checkpoint") {
		t.Error("another batch under the same id:", err)
	}
	got := services.RunPython(t, python, `
import duckdb, sys
db = duckdb.connect(sys.argv[1])
for row in db.sql('SELECT "order id", status FROM "the orders" ORDER BY 1').fetchall(): print(*row)
for row in db.sql("SELECT query_id, batch_id, row_count FROM microbatch_ledger ORDER BY batch_id").fetchall(): print(*row)
`, time.Minute, database)
	want := "a shipped\nb placed\nc placed\nq-1 0 3\nq-1 1 0\nq-1 2 3\n"
	if got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

func TestTheDuckDBExampleThatFailsLeavesNothingAndSaysWhy(t *testing.T) {
	python := services.Python(t)
	example, err := filepath.Abs("../../examples/foreachbatch-duckdb/upsert.py")
	must(t, err)
	s, alloc := fixture(t, Config{Command: []string{python, example, filepath.Join(t.TempDir(), "db"), "t", "no_such_column", "n"}})
	p, err := s.Prepare(t.Context(), testBatch(0, part(alloc, 0, 10, nil)))
	must(t, err)
	var r sinks.Result
	r, err = s.Commit(t.Context(), p)
	if !errcode.Has(err, errcode.CommandFailed) || !strings.Contains(err.Error(), "no_such_column") || r.Outcome == sinks.Committed {
		t.Error(r, err)
	}
	must(t, s.Abort(t.Context(), p))
}
