//go:build cgo && duckdb_arrow

package duck

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

var numbers = arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.PrimitiveTypes.Int64}, {Name: "s", Type: arrow.BinaryTypes.String}}, nil)

// counting yields records of rows a = 0, 1, 2, ... and counts them.
func counting(mem memory.Allocator, records, rows int) (next func() (arrow.RecordBatch, error), given *int) {
	given = new(int)
	return func() (arrow.RecordBatch, error) {
		if *given == records {
			return nil, nil
		}
		b := array.NewRecordBuilder(mem, numbers)
		defer b.Release()
		for i := range rows {
			n := int64(*given*rows + i)
			b.Field(0).(*array.Int64Builder).Append(n)
			b.Field(1).(*array.StringBuilder).Append(fmt.Sprint("row ", n))
		}
		*given++
		return b.NewRecordBatch(), nil
	}, given
}

func open(t *testing.T, cfg Config) *Conn {
	t.Helper()
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); s.Close() })
	return c
}

func TestOneViewServesManyStreams(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	c := open(t, Config{})
	v, err := c.Register(t.Context(), "batch", numbers)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		next, _ := counting(mem, 4, 1000)
		v.Feed(next)
		got, err := c.Text(t.Context(), "SELECT (count(*) || ' ' || sum(a) || ' ' || max(s)) FROM batch")
		if err != nil || got != "4000 7998000 row 999" {
			t.Fatalf("%q %v", got, err)
		}
	}
	if err := v.Drop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestResultsStream(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	c := open(t, Config{})
	v, err := c.Register(t.Context(), "batch", numbers)
	if err != nil {
		t.Fatal(err)
	}
	next, given := counting(mem, 1000, 1000)
	v.Feed(next)
	rows, err := c.Query(t.Context(), "SELECT a + 1 AS b, s FROM batch WHERE a % 2 = 0")
	if err != nil {
		t.Fatal(err)
	}
	rec, err := rows.Next()
	if err != nil {
		t.Fatal(err)
	}
	rec.Release()
	if *given > 200 {
		t.Errorf("%d of 1000 records were pulled for the first row", *given)
	}
	rows.Close() // left early
	if err := v.Drop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestAQueryThatIsReadToItsEndHoldsNothing(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	c := open(t, Config{})
	v, err := c.Register(t.Context(), "batch", numbers)
	if err != nil {
		t.Fatal(err)
	}
	readings := 0
	v.Serve(func([]string) (func() (arrow.RecordBatch, error), func()) {
		readings++
		next, _ := counting(mem, 4, 1000)
		return next, func() { readings-- }
	})
	for _, sql := range []string{"SELECT a, s FROM batch", "SELECT a FROM batch WHERE a < 0", "SELECT a FROM batch LIMIT 3", "SELECT a FROM batch ORDER BY s", "SELECT x.a FROM batch x JOIN batch y USING (a)"} {
		rows, err := c.Query(t.Context(), sql)
		if err != nil {
			t.Fatal(sql, err)
		}
		for {
			rec, err := rows.Next()
			if err != nil {
				t.Fatal(sql, err)
			}
			if rec == nil {
				break
			}
			rec.Release()
		}
		if readings != 0 || mem.CurrentAlloc() != 0 {
			t.Errorf("%s: %d readings and %d bytes", sql, readings, mem.CurrentAlloc())
		}
		rows.Close()
	}
	if err := v.Drop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestErrorOfTheStreamIsKept(t *testing.T) {
	c := open(t, Config{})
	v, err := c.Register(t.Context(), "batch", numbers)
	if err != nil {
		t.Fatal(err)
	}
	want := errors.New("disk on fire")
	v.Feed(func() (arrow.RecordBatch, error) { return nil, want })
	if err := c.Exec(t.Context(), "SELECT * FROM batch"); err == nil || !errors.Is(v.Err(), want) {
		t.Fatalf("%v, %v", err, v.Err())
	}
}

// TestPartsOfRecordsAreReadWhereTheyAre: a view hands a record over in parts of 2,048 rows, and the record may be a part of another one itself.
func TestPartsOfRecordsAreReadWhereTheyAre(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	c := open(t, Config{})
	place := arrow.StructOf(arrow.Field{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		arrow.Field{Name: "in", Type: arrow.StructOf(arrow.Field{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true}), Nullable: true})
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "id", Type: arrow.PrimitiveTypes.Int64},
		{Name: "text", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "place", Type: place, Nullable: true},
		{Name: "list", Type: arrow.ListOf(place), Nullable: true},
		{Name: "map", Type: arrow.MapOf(arrow.BinaryTypes.String, place), Nullable: true},
	}, nil)
	var rows []string
	for i := range 6000 {
		if i%7 == 3 {
			rows = append(rows, fmt.Sprintf(`{"id": %d}`, i))
			continue
		}
		one := fmt.Sprintf(`{"n": %d, "in": {"s": "a text of row %d"}}`, i, i)
		rows = append(rows, fmt.Sprintf(`{"id": %d, "text": "a text of row %d", "place": %s, "list": [%s, null], "map": [{"key": "k", "value": %s}]}`, i, i, one, one, one))
	}
	whole, _, err := array.RecordFromJSON(mem, schema, strings.NewReader("["+strings.Join(rows, ",")+"]"))
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Release()
	v, err := c.Register(t.Context(), "batch", schema)
	if err != nil {
		t.Fatal(err)
	}
	parts := []arrow.RecordBatch{whole.NewSlice(1, 4500), whole.NewSlice(5003, 5990)}
	v.Feed(func() (arrow.RecordBatch, error) {
		if len(parts) == 0 {
			return nil, nil
		}
		rec := parts[0]
		parts = parts[1:]
		return rec, nil
	})
	const want = "CASE WHEN id % 7 <> 3 THEN 'a text of row ' || id END"
	wrong, err := c.Text(t.Context(), "SELECT string_agg(id || ' ' || batch::VARCHAR, '; ' ORDER BY id) FROM batch WHERE text IS DISTINCT FROM "+want+
		" OR place.n IS DISTINCT FROM CASE WHEN id % 7 <> 3 THEN id END OR place.in.s IS DISTINCT FROM "+want+
		" OR list[1].in.s IS DISTINCT FROM "+want+" OR list[2] IS NOT NULL OR map['k'].in.s IS DISTINCT FROM "+want)
	if err != nil || wrong != "" {
		t.Errorf("%.1000s %v", wrong, err)
	}
	if err := v.Drop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestAColumnThatDuckDBDoesNotTakeIsNamed(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	c := open(t, Config{})
	schema := arrow.NewSchema([]arrow.Field{{Name: "id", Type: arrow.PrimitiveTypes.Int64}, {Name: "tags", Type: arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64)}}, nil)
	v, err := c.Register(t.Context(), "batch", schema)
	if err != nil {
		t.Fatal(err)
	}
	given := false
	v.Feed(func() (arrow.RecordBatch, error) {
		if given {
			return nil, nil
		}
		given = true
		rec, _, err := array.RecordFromJSON(mem, schema, strings.NewReader(`[{"id": 1, "tags": [{"key": "a", "value": 1}, {"key": "a", "value": 2}]}]`))
		return rec, err
	})
	if err := c.Exec(t.Context(), "SELECT id, tags FROM batch"); err == nil || !strings.Contains(err.Error(), "column tags: ") {
		t.Error(err)
	}
	if err := v.Drop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestErrorsAfterTheFirstRowAreNotLost(t *testing.T) {
	c := open(t, Config{})
	err := c.Exec(t.Context(), "SELECT CASE WHEN i = 90000 THEN error('boom') ELSE 'x' END FROM range(100000) t(i)")
	var e *Error
	if !errors.As(err, &e) || e.Message != "boom" {
		t.Fatal(err)
	}
}

func TestErrorsNameThePositionInTheSQL(t *testing.T) {
	c := open(t, Config{})
	for sql, at := range map[string]int{"SELECT 1,\n nosuch": 11, "SELEC 1": 0, "SELECT 1 +": 10} {
		_, err := c.Describe(t.Context(), sql)
		var e *Error
		if !errors.As(err, &e) || e.Position != at {
			t.Errorf("%q: %#v", sql, err)
		}
	}
}

func TestTheSQLReadsNoFiles(t *testing.T) {
	c := open(t, Config{})
	for _, sql := range []string{"SELECT * FROM read_text('/etc/passwd')", "SELECT * FROM '/tmp/x.parquet'", "LOAD '/tmp/x'", "INSTALL httpfs", "COPY (SELECT 1) TO '/tmp/x'"} {
		if err := c.Exec(t.Context(), sql); err == nil {
			t.Errorf("%s ran", sql)
		}
	}
}

func TestAQueryEndsWithItsContext(t *testing.T) {
	c := open(t, Config{})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	err := c.Exec(ctx, "SELECT sum(a.i * b.i) FROM range(1000000) a(i), range(1000000) b(i)")
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	if err := c.Exec(t.Context(), "SELECT 1"); err != nil {
		t.Fatal(err)
	}
}

func TestMemoryIsLimited(t *testing.T) {
	c := open(t, Config{MemoryLimit: 32 << 20})
	err := c.Exec(t.Context(), "CREATE TEMP TABLE t AS SELECT i, repeat('x', 100) || i FROM range(3000000) t(i)")
	var e *Error
	if !errors.As(err, &e) || e.Kind != "Out of Memory" {
		t.Fatalf("%#v", err)
	}
}

func TestWhatDoesNotFitIsSpilledBelowTheTempDirAndRemoved(t *testing.T) {
	dir := t.TempDir()
	for range 2 { // two sessions that share the folder
		s, err := Open(Config{MemoryLimit: 64 << 20, TempDir: dir})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			s.Close()
			if left, err := filepath.Glob(dir + "/*"); err != nil || len(left) > 1 {
				t.Error(left, err)
			}
		}()
		c, err := s.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if err := c.Exec(t.Context(), "CREATE TEMP TABLE t AS SELECT i, repeat('x', 100) || i FROM range(1000000) t(i)"); err != nil {
			t.Fatal(err)
		}
	}
	if spilled, err := filepath.Glob(dir + "/microbatch-duckdb-*/*"); err != nil || len(spilled) < 2 {
		t.Error(spilled, err)
	}
}

func TestFiltersAndChoicesOfColumnsAreHonoured(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	c := open(t, Config{})
	v, err := c.Register(t.Context(), "batch", numbers)
	if err != nil {
		t.Fatal(err)
	}
	for sql, want := range map[string]string{
		"SELECT s FROM batch WHERE a > 3998":                                                             "row 3999",
		"SELECT s FROM batch WHERE a > 3995 AND s LIKE '%8'":                                             "row 3998",
		"SELECT string_agg(s, ',' ORDER BY a DESC) FROM batch WHERE a IN (3, 3005)":                      "row 3005,row 3",
		"SELECT max(s) FROM (SELECT s, a FROM batch ORDER BY a DESC LIMIT 3)":                            "row 3999",
		"SELECT max(b.s) FROM batch b JOIN (SELECT 2500 AS a) USING (a)":                                 "row 2500",
		"SELECT count(*)::VARCHAR FROM batch":                                                            "4000",
		"SELECT count(*)::VARCHAR FROM batch WHERE s = 'row 7'":                                          "1",
		"SELECT max(s) || sum(a) FROM batch WHERE a BETWEEN 10 AND 12":                                   "row 1233",
		"SELECT string_agg(s, ',' ORDER BY s) FROM (SELECT DISTINCT s[:5] AS s FROM batch WHERE a < 30)": "row 0,row 1,row 2,row 3,row 4,row 5,row 6,row 7,row 8,row 9",
	} {
		next, _ := counting(mem, 2, 2000)
		v.Feed(next)
		if got, err := c.Text(t.Context(), sql); err != nil || got != want {
			t.Errorf("%s: %q, %v", sql, got, err)
		}
	}
	if err := v.Drop(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestAServedViewIsReadOftenAndByColumns(t *testing.T) {
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	c := open(t, Config{})
	v, err := c.Register(t.Context(), "numbers", numbers)
	if err != nil {
		t.Fatal(err)
	}
	var asked [][]string
	open := 0
	v.Serve(func(columns []string) (func() (arrow.RecordBatch, error), func()) {
		asked = append(asked, columns)
		next, _ := counting(mem, 2, 1000)
		open++
		return func() (arrow.RecordBatch, error) {
			rec, err := next()
			if rec == nil {
				return nil, err
			}
			defer rec.Release()
			var fields []arrow.Field
			var arrays []arrow.Array
			for _, name := range columns {
				i := numbers.FieldIndices(name)[0]
				fields, arrays = append(fields, numbers.Field(i)), append(arrays, rec.Column(i))
			}
			return array.NewRecordBatch(arrow.NewSchema(fields, nil), arrays, rec.NumRows()), nil
		}, func() { open-- }
	})
	for sql, want := range map[string]string{
		"SELECT max(s) || count(*) FROM numbers WHERE s LIKE '%9'":                     "row 999200",
		"SELECT count(*)::VARCHAR FROM numbers":                                        "2000",
		"SELECT max(x.s) FROM numbers x JOIN numbers y ON x.a = y.a + 1 WHERE y.a < 5": "row 5",
		"SELECT s FROM numbers LIMIT 1":                                                "row 0",
	} {
		if got, err := c.Text(t.Context(), sql); err != nil || got != want {
			t.Errorf("%s: %q, %v", sql, got, err)
		}
	}
	if open != 0 || len(asked) != 5 {
		t.Errorf("%d readings of %d are still open", open, len(asked))
	}
	if err := v.Drop(t.Context()); err != nil {
		t.Fatal(err)
	}
}
