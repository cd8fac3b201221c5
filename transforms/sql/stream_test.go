//go:build cgo && duckdb_arrow

package sql_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"golang.org/x/sync/errgroup"

	"microbatch/batch"
	"microbatch/internal/errcode"
	"microbatch/schema"
	"microbatch/transforms"
	"microbatch/transforms/sql"
	"microbatch/transforms/transformtest"
)

// metered counts the bytes that are allocated now, and the most there ever were.
type metered struct {
	memory.Allocator
	now, most atomic.Int64
}

func (m *metered) add(n int) {
	now := m.now.Add(int64(n))
	for most := m.most.Load(); now > most && !m.most.CompareAndSwap(most, now); most = m.most.Load() {
	}
}

func (m *metered) Allocate(n int) []byte { m.add(n); return m.Allocator.Allocate(n) }
func (m *metered) Free(b []byte)         { m.add(-len(b)); m.Allocator.Free(b) }
func (m *metered) Reallocate(n int, b []byte) []byte {
	m.add(n - len(b))
	return m.Allocator.Reallocate(n, b)
}

var events = func() *arrow.Schema {
	s, err := schema.ParseDDL("id BIGINT, ts TIMESTAMP, user_id INT, event STRING, country STRING, amount DOUBLE, url STRING, session STRING")
	if err != nil {
		panic(err)
	}
	return s
}()

func eventRecord(mem memory.Allocator, from, rows int) arrow.RecordBatch {
	b := array.NewRecordBuilder(mem, events)
	defer b.Release()
	for i := from; i < from+rows; i++ {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.TimestampBuilder).Append(arrow.Timestamp(1700000000000000 + int64(i)*1000))
		b.Field(2).(*array.Int32Builder).Append(int32(i % 1000))
		b.Field(3).(*array.StringBuilder).Append([]string{"view", "click", "buy"}[i%3])
		b.Field(4).(*array.StringBuilder).Append("DE")
		b.Field(5).(*array.Float64Builder).Append(float64(i%100) / 4)
		b.Field(6).(*array.StringBuilder).Append(fmt.Sprintf("https://shop.example/p/%d?ref=mail", i%5000))
		b.Field(7).(*array.StringBuilder).Append(fmt.Sprintf("session-%016x", i))
	}
	return b.NewRecordBatch()
}

const chosen = "SELECT id, ts, ts::DATE AS day, upper(event) AS event, amount * 1.19 AS gross, url, session FROM batch WHERE amount > 5"

// TestAPartOfAMillionRowsStreams: of 130 MB, few are ever held at once, whether nearly all rows are left or hardly any, and whether DuckDB computes much or
// little.
func TestAPartOfAMillionRowsStreams(t *testing.T) {
	for text, left := range map[string]func(i int) bool{
		chosen: func(i int) bool { return i%100 > 20 },
		"SELECT id + 0 AS id, session FROM batch WHERE amount > 5":               func(i int) bool { return i%100 > 20 },
		"SELECT * FROM batch WHERE amount >= 0":                                  func(int) bool { return true },
		"SELECT *, amount * 2 AS twice FROM batch WHERE id % 100000 = 77":        func(i int) bool { return i%100_000 == 77 },
		"SELECT * FROM batch WHERE id = 1000000 OR now() < TIMESTAMP '1999-1-1'": func(i int) bool { return i == 1_000_000 },
	} {
		t.Run(text, func(t *testing.T) { streamAMillion(t, sql.Config{SQL: text}, left) })
	}
	t.Run("threads", func(t *testing.T) {
		streamAMillion(t, sql.Config{SQL: "SELECT id + 0 AS id, session FROM batch WHERE amount > 5", Threads: 4}, func(i int) bool { return i%100 > 20 })
	})
}

func streamAMillion(t *testing.T, cfg sql.Config, left func(i int) bool) {
	const rows = 1 << 20
	mem := &metered{Allocator: memory.NewGoAllocator()}
	op := sql.New(cfg)
	defer op.Close()
	if _, err := op.Output(events); err != nil {
		t.Fatal(err)
	}
	inst, err := op.Open(t.Context(), transforms.Env{Timestamp: transformtest.Timestamp, Input: events, Parts: 1, Alloc: mem})
	if err != nil {
		t.Fatal(err)
	}
	source := func(yield func(batch.Chunk, error) bool) {
		for from := 0; from < rows; from += batch.TargetRows {
			if !yield(batch.Chunk{Record: eventRecord(mem, from, batch.TargetRows)}, nil) {
				return
			}
		}
	}
	var want []int
	for i := range rows {
		if left(i) {
			want = append(want, i)
		}
	}
	got := 0
	for c, err := range inst.Apply(t.Context(), source) {
		if err != nil {
			t.Fatal(err)
		}
		ids := c.Record.Column(0).(*array.Int64).Int64Values()
		sessions := c.Record.Column(c.Record.Schema().FieldIndices("session")[0]).(*array.String)
		for i, id := range ids {
			if got >= len(want) || id != int64(want[got]) || sessions.Value(i) != fmt.Sprintf("session-%016x", id) {
				t.Fatalf("row %d has id %d and %s", got, id, sessions.Value(i))
			}
			got++
		}
		c.Release()
	}
	counts := transforms.Counts{In: rows, Out: int64(len(want)), Filtered: int64(rows - len(want))}
	if c := inst.Counts(); got != len(want) || c != counts {
		t.Errorf("%d rows, want %d; counts %+v", got, len(want), c)
	}
	if mem.now.Load() != 0 {
		t.Errorf("%d bytes are not freed", mem.now.Load())
	}
	most := mem.most.Load()
	if most > 24<<20 {
		t.Errorf("%d bytes were held at once", most)
	}
	t.Logf("%d bytes were held at once", most)
}

// run applies the operator to parts at once and returns how many rows came out.
func run(t *testing.T, op *sql.Operator, parts, chunks int) (int64, error) {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	inst, err := op.Open(t.Context(), transforms.Env{Timestamp: transformtest.Timestamp, Input: events, Parts: parts, Alloc: mem})
	if err != nil {
		t.Fatal(err)
	}
	var g errgroup.Group
	for part := range parts {
		g.Go(func() error {
			source := func(yield func(batch.Chunk, error) bool) {
				for i := part; i < chunks; i += parts {
					if !yield(batch.Chunk{Record: eventRecord(mem, i*batch.TargetRows, batch.TargetRows)}, nil) {
						return
					}
				}
			}
			for c, err := range inst.Apply(t.Context(), source) {
				if err != nil {
					return err
				}
				c.Release()
			}
			return nil
		})
	}
	err = g.Wait()
	return inst.Counts().Out, err
}

func TestPartsRunAtOnceAndTheSessionServesManyBatches(t *testing.T) {
	op := sql.New(sql.Config{SQL: "SELECT id, now() AS at FROM batch WHERE id % 2 = 0"})
	defer op.Close()
	for range 3 {
		if out, err := run(t, op, 4, 16); err != nil || out != 16*batch.TargetRows/2 {
			t.Fatal(out, err)
		}
	}
}

func TestAQueryThatNeedsTooMuchMemoryEndsOrSpills(t *testing.T) {
	const text = "SELECT session, url, row_number() OVER (ORDER BY session DESC) AS n FROM batch"
	op := sql.New(sql.Config{SQL: text, MemoryLimit: 24 << 20})
	defer op.Close()
	if _, err := run(t, op, 1, 40); !errcode.Has(err, errcode.SQLMemory) {
		t.Fatal(err)
	}
	spilling := sql.New(sql.Config{SQL: text, MemoryLimit: 40 << 20, TempDir: t.TempDir()})
	defer spilling.Close()
	if out, err := run(t, spilling, 1, 40); err != nil || out != 40*batch.TargetRows {
		t.Fatal(out, err)
	}
}

func BenchmarkProjectionAndFilter(b *testing.B) {
	for name, text := range map[string]string{
		"most": "SELECT id, ts, user_id % 10 AS user_id, event, lower(country) AS country, amount * 1.19 AS amount, url, session FROM batch WHERE amount >= 2.5", // as internal/bench
		"few":  "SELECT *, amount * 1.19 AS gross FROM batch WHERE amount = 1",
		"date": chosen,
	} {
		b.Run(name, func(b *testing.B) { benchmarkStream(b, text) })
	}
}

func benchmarkStream(b *testing.B, text string) {
	rec := eventRecord(memory.DefaultAllocator, 0, batch.TargetRows)
	op := sql.New(sql.Config{SQL: text})
	defer op.Close()
	inst, err := op.Open(b.Context(), transforms.Env{Timestamp: transformtest.Timestamp, Input: events, Parts: 1, Alloc: memory.DefaultAllocator})
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for c, err := range inst.Apply(b.Context(), func(yield func(batch.Chunk, error) bool) {
		for b.Loop() {
			n++
			rec.Retain()
			if !yield(batch.Chunk{Record: rec}, nil) {
				return
			}
		}
	}) {
		if err != nil {
			b.Fatal(err)
		}
		c.Release()
	}
	b.ReportMetric(float64(n)*batch.TargetRows/b.Elapsed().Seconds()/1e6, "Mrows/s")
}

func BenchmarkBatchOf1000Rows(b *testing.B) {
	for name, text := range map[string]string{"rowwise": chosen, "aggregate": "SELECT event, count(*) AS n, sum(amount) AS total FROM batch GROUP BY event", "twice": "SELECT x.id FROM batch x JOIN batch y ON x.id = y.id + 1"} {
		b.Run(name, func(b *testing.B) {
			rec := eventRecord(memory.DefaultAllocator, 0, 1000)
			op := sql.New(sql.Config{SQL: text})
			defer op.Close()
			for b.Loop() {
				inst, err := op.Open(b.Context(), transforms.Env{Timestamp: transformtest.Timestamp, Input: events, Parts: 1, Alloc: memory.DefaultAllocator})
				if err != nil {
					b.Fatal(err)
				}
				for c, err := range inst.Apply(b.Context(), func(yield func(batch.Chunk, error) bool) {
					rec.Retain()
					yield(batch.Chunk{Record: rec}, nil)
				}) {
					if err != nil {
						b.Fatal(err)
					}
					c.Release()
				}
			}
		})
	}
}
