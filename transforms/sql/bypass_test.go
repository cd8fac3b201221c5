//go:build cgo && duckdb_arrow

package sql

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"microbatch/batch"
	"microbatch/schema"
	"microbatch/transforms"
	"microbatch/transforms/transformtest"
)

func ddl(t testing.TB, text string) *arrow.Schema {
	s, err := schema.ParseDDL(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestColumnsOfTheInputGoAroundDuckDB has queries with what DuckDB is asked for: the rows' numbers, in the place of a column, and what it has to compute.
func TestColumnsOfTheInputGoAroundDuckDB(t *testing.T) {
	in := ddl(t, "id BIGINT, amount DOUBLE, country STRING, url STRING, tags ARRAY<STRING>, place STRUCT<lat: DOUBLE, name: STRING>, labels MAP<STRING, INT>")
	for _, c := range []struct{ text, want string }{
		{"SELECT id, amount * 2 AS twice, url FROM batch WHERE amount > 1", `"id", "twice"`},
		{"FROM batch", `"id", "labels"`}, // DuckDB takes no map with a key twice, and has to say so
		{"SELECT * FROM batch WHERE id > 7;", `"amount", "labels"`},
		{"SELECT * REPLACE (upper(country) AS country) FROM batch -- the end", `"id", "country", "labels"`},
		{"SELECT b.* EXCLUDE (id, labels) FROM batch AS b WHERE b.id > 7", `"amount"`},
		{"SELECT ID, Url AS link FROM BATCH WHERE Amount > 3", `"id"`},
		{"SELECT id, place, place.name AS name FROM batch", `"id", "name"`},
		{"SELECT url, id::UTINYINT AS small FROM batch", `"url", CAST("small" AS SMALLINT) AS "small"`},
		{"SELECT tags, list_transform(['x'], lambda e: e || url) AS l FROM batch WHERE now() > TIMESTAMP '1960-01-01'", `"tags", "l"`},
		{"SELECT id AS url, url AS id FROM batch", `"url"`},
	} {
		p := planOf(t, c.text, in)
		if p.bypass == nil {
			t.Errorf("%s: all goes through DuckDB", c.text)
		} else if got, _, _ := strings.Cut(strings.TrimPrefix(p.text, "SELECT "), " FROM ("); got != c.want {
			t.Errorf("%s: DuckDB is asked for %s, want %s", c.text, got, c.want)
		}
	}
	for text, why := range map[string]string{
		"SELECT upper(url) AS url FROM batch":                "there is nothing else",
		"SELECT id, id + 1 AS next FROM batch":               "the numbers have no place: the expression reads id",
		"SELECT id FROM batch WHERE id = 7":                  "the condition reads it",
		"SELECT id, typeof(id) AS type FROM batch":           "the expression takes its type",
		"SELECT id AS x, typeof(x) AS type FROM batch":       "also by another name",
		"SELECT id AS x, x AS y, typeof(y) AS z FROM batch":  "and another one",
		"SELECT id, batch AS r FROM batch":                   "a row has all columns",
		"SELECT id, to_json(b)::VARCHAR AS r FROM batch b":   "also as an argument",
		"SELECT id, hash(COLUMNS('url')) AS h FROM batch":    "a pattern may mean any column",
		"SELECT id, #3 AS c FROM batch":                      "so may a number",
		"SELECT x FROM batch AS b(x, y, z)":                  "the columns have other names",
		"SELECT id, 7 IN (SELECT 7) AS seven FROM batch":     "a query in the query may read anything",
		"SELECT id FROM (SELECT * FROM batch)":               "it may",
		"WITH b AS (SELECT id FROM batch) SELECT id FROM b":  "it may",
		"SELECT id, url FROM batch WHERE now() > '3000-1-1'": "nothing is read",
		"SELECT id FROM batch LIMIT 10":                      "rows are dropped that no condition drops",
		"SELECT id FROM batch ORDER BY id":                   "rows are moved",
	} {
		if p := planOf(t, text, in); p.bypass != nil {
			t.Errorf("%s: %s, but DuckDB is asked for %s", text, why, p.text)
		}
	}
}

func planOf(t *testing.T, text string, in *arrow.Schema) *plan {
	t.Helper()
	op := New(Config{SQL: text})
	defer op.Close()
	if _, err := op.Output(in); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return op.plan
}

// outcome is what a plan makes of chunks: the rows in their order, as text.
type outcome struct {
	Rows   []string
	Counts transforms.Counts
	Error  string
}

// runPlan runs a plan on records, each as a chunk of one part. What it allocates has to be released.
func runPlan(t *testing.T, s *session, p *plan, records []arrow.RecordBatch) outcome {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer mem.AssertSize(t, 0)
	return runPlanIn(t, s, p, records, mem)
}

func runPlanIn(t *testing.T, s *session, p *plan, records []arrow.RecordBatch, mem memory.Allocator) outcome {
	t.Helper()
	inst := &instance{session: s, plan: p, env: transforms.Env{Timestamp: transformtest.Timestamp, Input: p.in, Parts: 1, Alloc: mem}}
	var out outcome
	for c, err := range inst.Apply(t.Context(), func(yield func(batch.Chunk, error) bool) {
		for _, rec := range records {
			rec.Retain()
			if !yield(batch.Chunk{Record: rec}, nil) {
				return
			}
		}
	}) {
		if err != nil {
			out.Error = err.Error()
			break
		}
		if !c.Record.Schema().Equal(p.out) {
			t.Errorf("the schema is %s, want %s", c.Record.Schema(), p.out)
		}
		out.Rows = append(out.Rows, transformtest.Text(c.Record)...)
		c.Release()
	}
	if out.Error != "" {
		return outcome{Error: out.Error} // how far it came is left to chance
	}
	out.Counts = inst.Counts()
	return out
}

// TestAConditionThatIsFalseByTheBatchsTime lets DuckDB read nothing at all. While the query is planned it is the year 1970.
func TestAConditionThatIsFalseByTheBatchsTime(t *testing.T) {
	in := ddl(t, "id BIGINT, url STRING")
	p := planOf(t, "SELECT id, upper(url) AS url FROM batch WHERE now() < TIMESTAMP '2000-01-01'", in)
	if p.bypass == nil {
		t.Fatal("all goes through DuckDB")
	}
	s := newSession(t)
	r := rand.New(rand.NewPCG(1, 1))
	records := []arrow.RecordBatch{randomRecord(r, in, 10), randomRecord(r, in, 3000), randomRecord(r, in, 10)}
	defer release(records)
	if diff := cmp.Diff(outcome{Counts: transforms.Counts{In: 3020, Filtered: 3020}}, runPlan(t, s, p, records)); diff != "" {
		t.Error(diff)
	}
}

func newSession(t testing.TB) *session {
	s, err := openSession(t.Context(), Config{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	return s
}

// TestErrorsAreTheSame: the code, the words and the place in the SQL do not tell which way the columns went.
func TestErrorsAreTheSame(t *testing.T) {
	in := ddl(t, "id BIGINT, url STRING, country STRING")
	s := newSession(t)
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, in, strings.NewReader(`[{"id": 1, "url": "7", "country": "DE"}, {"id": 2, "url": "x", "country": "FR"}]`))
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	for _, text := range []string{
		"SELECT id, url::INT AS n FROM batch",
		"SELECT id,\n  country\nFROM batch WHERE url::INT > 3",
		"SELECT *, url::UTINYINT AS n FROM batch",
		"SELECT country, error('bad ' || url) AS x FROM batch",
		"SELECT country, id + 9223372036854775807 AS x FROM batch",
	} {
		plain, _, err := s.plainPlan(t.Context(), text, in)
		if err != nil {
			t.Fatal(text, err)
		}
		short, err := s.makePlan(t.Context(), text, in)
		if err != nil || short.bypass == nil {
			t.Fatal(text, short, err)
		}
		records := []arrow.RecordBatch{rec}
		want, got := runPlan(t, s, plain, records), runPlan(t, s, short, records)
		if want.Error == "" || got.Error != want.Error {
			t.Errorf("%s:\n%s\nwant\n%s", text, got.Error, want.Error)
		}
	}
}

// FuzzBypass runs queries with and without a bypass: rows, order, counts and errors are the same.
func FuzzBypass(f *testing.F) {
	for seed := range uint64(150) {
		f.Add(seed)
	}
	s := newSession(f)
	f.Fuzz(func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 0))
		in := randomSchema(r)
		text := randomQuery(r, in)
		plain, _, err := s.plainPlan(t.Context(), text, in)
		short, failure := s.makePlan(t.Context(), text, in)
		if (err == nil) != (failure == nil) {
			t.Fatalf("%s: %v, and %v", text, err, failure)
		}
		if err != nil || short.bypass == nil {
			return
		}
		var records []arrow.RecordBatch
		defer func() { release(records) }()
		for range r.IntN(8) {
			rec := randomRecord(r, in, []int{0, 1, 7, 100, 2500}[r.IntN(5)])
			if n := rec.NumRows(); n > 1 && r.IntN(3) == 0 {
				whole := rec
				rec = whole.NewSlice(r.Int64N(n/2), n-r.Int64N(n/2))
				whole.Release()
			}
			records = append(records, rec)
		}
		want, got := runPlan(t, s, plain, records), runPlan(t, s, short, records)
		if want.Error != "" && got.Error != "" {
			return // the parts of the condition and the columns may be tried in another order; see TestErrorsAreTheSame
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s\nof %s: %s", text, schema.FormatDDL(in), diff)
		}
		if diff := cmp.Diff(want, runPlanIn(t, s, short, records, memory.DefaultAllocator)); diff != "" { // in memory that is used again
			t.Errorf("%s\nof %s: %s", text, schema.FormatDDL(in), diff)
		}
	})
}

var randomTypes = []string{"BOOLEAN", "TINYINT", "INT", "BIGINT", "DOUBLE", "DECIMAL(9,2)", "DECIMAL(30,5)", "STRING", "BINARY", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ",
	"ARRAY<STRING>", "STRUCT<x: INT, y: STRING>", "MAP<STRING, INT>"}

func randomSchema(r *rand.Rand) *arrow.Schema {
	columns := make([]string, 1+r.IntN(7))
	for i := range columns {
		columns[i] = fmt.Sprintf("c%d %s", i, randomTypes[r.IntN(len(randomTypes))])
	}
	s, err := schema.ParseDDL(strings.Join(columns, ", "))
	if err != nil {
		panic(err)
	}
	return s
}

// randomQuery is a query that is mostly simple, with names that mislead.
func randomQuery(r *rand.Rand, in *arrow.Schema) string {
	var items []string
	column := func() arrow.Field { return in.Field(r.IntN(in.NumFields())) }
	for i := range 1 + r.IntN(6) {
		c := column()
		switch r.IntN(12) {
		case 0:
			items = append(items, "*")
		case 1:
			items = append(items, fmt.Sprintf("* REPLACE (%s AS %s)", randomExpression(r, c), c.Name))
		case 2:
			items = append(items, fmt.Sprintf("b.* EXCLUDE (%s)", c.Name))
		case 3, 4:
			items = append(items, c.Name)
		case 5:
			items = append(items, fmt.Sprintf("b.%s AS %s", c.Name, column().Name))
		case 6, 7:
			items = append(items, fmt.Sprintf("%s AS n%d", c.Name, i))
		case 8:
			items = append(items, fmt.Sprintf("%s AS %s", randomExpression(r, c), column().Name))
		default:
			items = append(items, fmt.Sprintf("%s AS n%d", randomExpression(r, c), i))
		}
	}
	text := "SELECT " + strings.Join(items, ",\n  ") + " FROM batch AS b"
	for i := range r.IntN(3) {
		text += []string{" WHERE ", " AND ", " OR "}[min(i, 1)+min(i, r.IntN(2))] + randomCondition(r, column())
	}
	return text
}

func randomExpression(r *rand.Rand, c arrow.Field) string {
	name := []string{c.Name, "b." + c.Name, strings.ToUpper(c.Name), "n0"}[min(r.IntN(20), 3)%4]
	if r.IntN(4) == 0 {
		return fmt.Sprintf([]string{"%s IS NULL", "typeof(%s)", "coalesce(%[1]s, %[1]s)", "CASE WHEN %[1]s IS NOT NULL THEN 1 END", "hash(%s)::VARCHAR", "length(%s::VARCHAR)"}[r.IntN(6)], name)
	}
	switch c.Type.ID() {
	case arrow.BOOL:
		return "NOT " + name
	case arrow.STRING:
		return fmt.Sprintf([]string{"upper(%s)", "%s || '!'", "length(%s)", "TRY_CAST(%s AS INT)", "%s::ENUM('a', 'b')"}[min(r.IntN(20), 4)], name)
	case arrow.BINARY:
		return fmt.Sprintf("octet_length(%s)", name)
	case arrow.DATE32, arrow.TIMESTAMP:
		return fmt.Sprintf([]string{"year(%s)", "%s::DATE", "%s + INTERVAL 1 DAY"}[r.IntN(3)], name)
	case arrow.LIST:
		return fmt.Sprintf([]string{"len(%s)", "%s[1]", "list_transform(%s, lambda x: x || 'y')"}[r.IntN(3)], name)
	case arrow.STRUCT:
		return fmt.Sprintf([]string{"%s.x", "%s.y || 'y'"}[r.IntN(2)], name)
	case arrow.MAP:
		return fmt.Sprintf("cardinality(%s)", name)
	}
	return fmt.Sprintf([]string{"%s / 2", "%s * 2.5", "-%s", "%s::VARCHAR"}[r.IntN(4)], name)
}

func randomCondition(r *rand.Rand, c arrow.Field) string {
	if r.IntN(6) == 0 {
		return []string{"true", "now() > TIMESTAMP '1960-01-01'", "n0 IS NOT NULL", "n1 IS NULL"}[r.IntN(4)]
	}
	switch c.Type.ID() {
	case arrow.BOOL:
		return c.Name
	case arrow.STRING:
		return c.Name + " > 'b'"
	case arrow.INT8, arrow.INT32, arrow.INT64, arrow.FLOAT64, arrow.DECIMAL128:
		return fmt.Sprintf("%s > %d", c.Name, []int{-20, 0, 40, 49}[r.IntN(4)])
	}
	return fmt.Sprintf("b.%s IS NOT NULL", c.Name)
}

func randomRecord(r *rand.Rand, in *arrow.Schema, rows int) arrow.RecordBatch {
	b := array.NewRecordBuilder(memory.DefaultAllocator, in)
	defer b.Release()
	for i := range in.NumFields() {
		nulls := []int{0, 0, 10, 60, 100}[r.IntN(5)]
		for range rows {
			appendRandom(r, b.Field(i), nulls)
		}
	}
	return b.NewRecordBatch()
}

func appendRandom(r *rand.Rand, b array.Builder, nulls int) {
	if r.IntN(100) < nulls {
		b.AppendNull()
		return
	}
	n := r.IntN(100) - 50
	text := strings.Repeat(string(rune('a'+r.IntN(5))), r.IntN(20))
	switch b := b.(type) {
	case *array.BooleanBuilder:
		b.Append(n > 0)
	case *array.Int8Builder:
		b.Append(int8(n))
	case *array.Int32Builder:
		b.Append(int32(n))
	case *array.Int64Builder:
		b.Append(int64(n))
	case *array.Float64Builder:
		b.Append([]float64{float64(n) / 4, math.NaN(), math.Inf(1), math.Copysign(0, -1)}[max(r.IntN(20)-16, 0)])
	case *array.Decimal128Builder:
		b.Append(decimal128.FromI64(int64(n) * 1001))
	case *array.StringBuilder:
		b.Append(text)
	case *array.BinaryBuilder:
		b.Append([]byte(text + "\xff\x00"))
	case *array.Date32Builder:
		b.Append(arrow.Date32(n * 1000))
	case *array.TimestampBuilder:
		b.Append(arrow.Timestamp(int64(n) * 86_400_123_456))
	case *array.MapBuilder: // before the list, which it holds
		b.Append(true)
		for i := range r.IntN(3) {
			b.KeyBuilder().(*array.StringBuilder).Append(fmt.Sprint(text, i))
			appendRandom(r, b.ItemBuilder(), nulls)
		}
	case *array.ListBuilder:
		b.Append(true)
		for range r.IntN(3) {
			appendRandom(r, b.ValueBuilder(), nulls)
		}
	case *array.StructBuilder:
		b.Append(true)
		for i := range b.NumField() {
			appendRandom(r, b.FieldBuilder(i), nulls)
		}
	default:
		panic(b.Type())
	}
}
