//go:build cgo && duckdb_arrow

package foreachbatch

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	_ "github.com/duckdb/duckdb-go/v2"

	"microbatch/arrowparquet"
	"microbatch/batch"
	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/sinks"
)

var itemSchema = arrow.NewSchema([]arrow.Field{
	{Name: "id", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
	{Name: "what is it", Type: arrow.BinaryTypes.String, Nullable: true},
	{Name: "version", Type: arrow.PrimitiveTypes.Int32, Nullable: true},
	{Name: "op", Type: arrow.BinaryTypes.String, Nullable: true},
}, nil)

// items makes a record from JSON rows of itemSchema.
func items(t *testing.T, schema *arrow.Schema, rows string) arrow.RecordBatch {
	t.Helper()
	r, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(rows))
	must(t, err)
	return r
}

// process is one process of a query.
type process struct {
	t     *testing.T
	sink  *Sink
	epoch ident.Epoch
}

func start(t *testing.T, epoch ident.Epoch, apply func(context.Context, Batch) error) *process {
	t.Helper()
	s, err := New(Config{Func: apply, SpoolDir: t.TempDir(), Exact: ByLedger})
	must(t, err)
	newest := func(context.Context) (ident.Epoch, error) { return epoch, nil }
	must(t, s.Recover(t.Context(), sinks.QueryInfo{ID: "q-1", Epoch: epoch, Newest: newest}, nil))
	t.Cleanup(func() { must(t, s.Close()) })
	return &process{t, s, epoch}
}

// give passes a batch, each record as a part.
func (d *process) give(id ident.BatchID, entry string, records ...arrow.RecordBatch) error {
	d.t.Helper()
	b := &batch.Batch{ID: id, Attempt: ident.NewAttempt(), Digest: ident.DigestOf([]byte(entry)), Schema: records[0].Schema()}
	for _, r := range records {
		b.Parts = append(b.Parts, batch.PartFunc(func(context.Context) batch.Stream {
			return func(yield func(batch.Chunk, error) bool) {
				r.Retain()
				yield(batch.Chunk{Record: r}, nil)
			}
		}))
	}
	p, err := d.sink.Prepare(d.t.Context(), b)
	must(d.t, err)
	r, err := d.sink.Commit(d.t.Context(), p)
	if err == nil && r.Outcome != sinks.Committed {
		err = errors.New(r.Outcome.String())
	}
	return err
}

func open(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("duckdb", filepath.Join(t.TempDir(), "items.duckdb"))
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	return db
}

func content(t *testing.T, db *sql.DB, query string) string {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	must(t, err)
	defer rows.Close()
	columns, err := rows.Columns()
	must(t, err)
	var out []string
	for rows.Next() {
		values, places := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			places[i] = &values[i]
		}
		must(t, rows.Scan(places...))
		out = append(out, strings.TrimSuffix(fmt.Sprintln(values...), "\n"))
	}
	must(t, rows.Err())
	return strings.Join(out, "; ")
}

// TestALedgerAppliesABatchOnce: a batch that comes again is skipped; another one under its number, an older one and an older driver are refused; what fails leaves nothing.
func TestALedgerAppliesABatchOnce(t *testing.T) {
	db := open(t)
	_, err := db.ExecContext(t.Context(), "CREATE TABLE seen (id BIGINT)")
	must(t, err)
	var fail error
	apply := Ledger(db, func(ctx context.Context, tx *sql.Tx, b Batch) error {
		rows, err := b.SQLRows(ctx)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id sql.NullInt64
			var what, op sql.NullString
			var version any
			if err := rows.Scan(&id, &what, &version, &op); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, "INSERT INTO seen VALUES ($1)", id); err != nil {
				return err
			}
		}
		return errors.Join(rows.Err(), fail)
	})
	one, two := items(t, itemSchema, `[{"id":1},{"id":2}]`), items(t, itemSchema, `[{"id":3}]`)
	first := start(t, 1, apply)
	must(t, first.give(0, "zero", one, two))
	must(t, first.give(0, "zero", one, two))
	fail = errors.New("broken")
	if err := first.give(1, "one", two); !errors.Is(err, fail) || !errcode.Has(err, errcode.ForeachFailed) {
		t.Error(err)
	}
	fail = nil
	second := start(t, 2, apply)
	must(t, second.give(0, "zero", one, two))
	must(t, second.give(1, "one", two))
	if err := second.give(1, "other", two); !errcode.Has(err, errcode.ForeignDigest) {
		t.Error("another batch under the same number:", err)
	}
	if err := second.give(0, "zero", one, two); !errcode.Has(err, errcode.ForeignDigest) {
		t.Error("a batch behind the newest:", err)
	}
	if err := first.give(2, "two", two); !errcode.Has(err, errcode.DriverFenced) {
		t.Error("an older driver:", err)
	}
	must(t, first.give(1, "one", two)) // the very batch that the newer driver has applied
	if got := content(t, db, "SELECT id FROM seen ORDER BY id"); got != "1; 2; 3; 3" {
		t.Error(got)
	}
	if got := content(t, db, "SELECT query_id, batch_id, epoch, row_count FROM microbatch_ledger ORDER BY batch_id"); got != "q-1 0 1 3; q-1 1 2 1" {
		t.Error(got)
	}
	if g := second.sink.Guarantee(); !strings.Contains(g.Reason, "ledger") {
		t.Errorf("%+v", g)
	}
}

// TestALedgerStaysSmall: it keeps the newest batches only.
func TestALedgerStaysSmall(t *testing.T) {
	db := open(t)
	d := start(t, 1, Ledger(db, func(context.Context, *sql.Tx, Batch) error { return nil }))
	for id := range ident.BatchID(keptEntries + 20) {
		must(t, d.give(id, id.String(), items(t, itemSchema, `[]`)))
	}
	if got := content(t, db, "SELECT count(*), min(batch_id), max(batch_id) FROM microbatch_ledger"); got != "101 19 119" {
		t.Error(got)
	}
}

// TestMerge: what a batch does to a table, row by row; names and null keys included.
func TestMerge(t *testing.T) {
	db := open(t)
	_, err := db.ExecContext(t.Context(), `CREATE SCHEMA "a b"; CREATE TABLE "a b".items ("what is it" VARCHAR, id BIGINT, version INT)`)
	must(t, err)
	d := start(t, 1, Merge(db, MergeConfig{Table: `"a b".items`, Keys: []string{"id"}, OrderBy: "version", Operation: "op", Deletes: []string{"d"}}))
	step := func(id ident.BatchID, want string, rows ...string) {
		t.Helper()
		var records []arrow.RecordBatch
		for _, r := range rows {
			records = append(records, items(t, itemSchema, r))
		}
		must(t, d.give(id, id.String(), records...))
		if got := content(t, db, `SELECT id, "what is it", version FROM "a b".items ORDER BY ALL`); got != want {
			t.Errorf("batch %d: %s, want %s", id, got, want)
		}
	}
	step(0, "1 one 1; 2 two 1; <nil> nobody 1", `[{"id":1,"what is it":"one","version":1},{"id":2,"what is it":"two","version":1}]`, `[{"what is it":"nobody","version":1}]`)
	step(1, "1 uno 3; <nil> anybody 2", // of key 1 the highest version counts, in whatever part it comes; key 2 goes, null is a key
		`[{"id":1,"what is it":"uno","version":3},{"id":2,"version":2,"op":"d"}]`, `[{"id":1,"what is it":"eins","version":2},{"what is it":"anybody","version":2}]`)
	step(1, "1 uno 3; <nil> anybody 2", `[]`) // it came before
	step(2, "<nil> anybody 2", `[{"id":1,"version":4,"op":"d"},{"id":1,"what is it":"late","version":1,"op":"u"}]`)
	step(3, "7 same 1; <nil> anybody 2", `[{"id":7,"what is it":"same","version":1},{"id":7,"what is it":"same","version":1}]`)
	err = d.give(4, "4", items(t, itemSchema, `[{"id":8,"what is it":"a","version":1},{"id":8,"what is it":"b","version":1}]`))
	if err == nil || !strings.Contains(err.Error(), "1 keys have several rows") {
		t.Error(err)
	}
	if got := content(t, db, `SELECT id FROM "a b".items WHERE id = 8`); got != "" {
		t.Error(got)
	}
	for _, c := range []MergeConfig{{Table: "t"}, {Table: "t", Keys: []string{"no"}}, {Table: "t", Keys: []string{"id"}, OrderBy: "no"}, {Table: "t", Keys: []string{"id"}, Operation: "no"}} {
		if err := start(t, 1, Merge(db, c)).give(9, "9", items(t, itemSchema, `[{"id":1}]`)); err == nil || !strings.Contains(err.Error(), "merge:") {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// TestMergeOfMoreRowsThanAStatementTakes: rows are staged in several statements.
func TestMergeOfMoreRowsThanAStatementTakes(t *testing.T) {
	db := open(t)
	_, err := db.ExecContext(t.Context(), `CREATE TABLE items (id BIGINT, "what is it" VARCHAR, version INT)`)
	must(t, err)
	b := array.NewRecordBuilder(memory.DefaultAllocator, itemSchema)
	defer b.Release()
	const rows = maxParameters/4*2 + 5
	for i := range rows {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).AppendNull()
		b.Field(2).AppendNull()
		b.Field(3).AppendNull()
	}
	must(t, start(t, 1, Merge(db, MergeConfig{Table: "items", Keys: []string{"id"}, Operation: "op"})).give(0, "0", b.NewRecordBatch()))
	if got := content(t, db, "SELECT count(*), count(DISTINCT id) FROM items"); got != fmt.Sprint(rows, " ", rows) {
		t.Error(got)
	}
}

// TestDuckDBStatements: statements see the batch and its number, several times; they are one transaction with the ledger.
func TestDuckDBStatements(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.duckdb")
	apply, err := DuckDB(DuckDBConfig{Path: file, SQL: []string{
		"CREATE TABLE IF NOT EXISTS kept (id BIGINT, batch BIGINT, query VARCHAR)",
		"INSERT INTO kept SELECT id, $batch_id, $query_id FROM batch WHERE version > 0",
		"CREATE OR REPLACE TABLE newest AS SELECT count(*) AS n, sum(version) AS v, '$batch_id' AS text FROM batch",
		"INSERT INTO kept SELECT 1000 + id, $batch_id, 'again' FROM batch WHERE \"what is it\" = 'twice'",
	}})
	must(t, err)
	d := start(t, 1, apply)
	rows := items(t, itemSchema, `[{"id":1,"version":1},{"id":2,"version":0},{"id":3,"version":5,"what is it":"twice"}]`)
	must(t, d.give(0, "0", rows, rows))
	must(t, d.give(0, "0", rows, rows))
	must(t, d.give(1, "1", rows))
	bad, err := DuckDB(DuckDBConfig{Path: file, SQL: []string{"DELETE FROM kept", "SELECT * FROM nowhere"}})
	must(t, err)
	if err := start(t, 2, bad).give(2, "2", rows); !errcode.Has(err, errcode.ForeachSQL) || !strings.Contains(err.Error(), "statement 2") || !strings.Contains(err.Error(), "nowhere") {
		t.Error(err)
	}
	if err := start(t, 1, apply).give(1, "other", rows); !errcode.Has(err, errcode.ForeignDigest) {
		t.Error(err)
	}
	db, err := sql.Open("duckdb", file)
	must(t, err)
	if got := content(t, db, "SELECT * FROM kept ORDER BY ALL"); got != "1 0 q-1; 1 0 q-1; 1 1 q-1; 3 0 q-1; 3 0 q-1; 3 1 q-1; 1003 0 again; 1003 0 again; 1003 1 again" {
		t.Error(got)
	}
	if got := content(t, db, "SELECT n, v::INT, text FROM newest"); got != "3 6 $batch_id" {
		t.Error(got)
	}
	if got := content(t, db, "SELECT batch_id, epoch, row_count FROM microbatch_ledger ORDER BY ALL"); got != "0 1 6; 1 1 3" {
		t.Error(got)
	}
	must(t, db.Close())
	for _, c := range []DuckDBConfig{{Path: file}, {SQL: []string{"SELECT 1"}}, {Path: file, SQL: []string{"SELECT $no"}}} {
		if _, err := DuckDB(c); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
}

// TestParquetAndBoxedRows: the batch as one Parquet file, and as rows of database/sql of every type.
func TestParquetAndBoxedRows(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "b", Type: arrow.FixedWidthTypes.Boolean, Nullable: true}, {Name: "i", Type: arrow.PrimitiveTypes.Int8, Nullable: true},
		{Name: "f", Type: arrow.PrimitiveTypes.Float32, Nullable: true}, {Name: "d", Type: &arrow.Decimal128Type{Precision: 10, Scale: 2}, Nullable: true},
		{Name: "bin", Type: arrow.BinaryTypes.Binary, Nullable: true}, {Name: "day", Type: arrow.FixedWidthTypes.Date32, Nullable: true},
		{Name: "ts", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, Nullable: true},
		{Name: "l", Type: arrow.ListOf(arrow.PrimitiveTypes.Int64), Nullable: true},
	}, nil)
	var got []string
	var file bytes.Buffer
	d := start(t, 1, func(ctx context.Context, b Batch) error {
		rows, err := b.SQLRows(ctx)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			v := make([]any, 8)
			if err := rows.Scan(&v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7]); err != nil {
				return err
			}
			got = append(got, strings.TrimSuffix(fmt.Sprintln(v...), "\n"))
		}
		return errors.Join(rows.Err(), b.WriteParquet(&file))
	})
	must(t, d.give(0, "0", items(t, schema, `[{"b":true,"i":-1,"f":0.5,"d":"12.30","bin":"AP8=","day":"2026-01-31","ts":"2026-01-31 12:00:00.5Z","l":[1,2]},{}]`)))
	want := []string{"true -1 0.5 12.30 [0 255] 2026-01-31 00:00:00 +0000 UTC 2026-01-31 12:00:00.5 +0000 UTC [1,2]", "<nil> <nil> <nil> <nil> <nil> <nil> <nil> <nil>"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	f, err := arrowparquet.Open(bytes.NewReader(file.Bytes()), int64(file.Len()), arrowparquet.Limits{})
	must(t, err)
	if f.Rows() != 2 || !f.Schema().Equal(schema) {
		t.Error(f.Rows(), f.Schema())
	}
}

// holdsFile, in the environment, makes a run of this test's binary hold a DuckDB file until its input ends.
const holdsFile = "FOREACHBATCH_TEST_HOLDS"

// TestAFileThatAnotherProcessHasOpenIsTriedAgain: DuckDB lets one process in.
func TestAFileThatAnotherProcessHasOpenIsTriedAgain(t *testing.T) {
	if file := os.Getenv(holdsFile); file != "" {
		db, err := sql.Open("duckdb", file)
		must(t, err)
		must(t, db.PingContext(t.Context()))
		fmt.Println("held")
		_, err = io.Copy(io.Discard, os.Stdin)
		must(t, errors.Join(err, db.Close()))
		return
	}
	file := filepath.Join(t.TempDir(), "x.duckdb")
	other := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	other.Env = append(os.Environ(), holdsFile+"="+file)
	in, err := other.StdinPipe()
	must(t, err)
	out, err := other.StdoutPipe()
	must(t, err)
	must(t, other.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)
	if line != "held\n" {
		t.Fatal(line)
	}
	apply, err := DuckDB(DuckDBConfig{Path: file, SQL: []string{"SELECT 1"}})
	must(t, err)
	rows := items(t, itemSchema, `[{"id":1}]`)
	if err := start(t, 1, apply).give(0, "0", rows); !errcode.Has(err, errcode.DuckDBLocked) || errcode.ClassOf(err) != errcode.Retry {
		t.Error(err)
	}
	must(t, errors.Join(in.Close(), other.Wait()))
	must(t, start(t, 1, apply).give(0, "0", rows))
}

// TestADuckDBFileThatCannotBeUsed: what DuckDB says of its file is not put down to the user's function.
func TestADuckDBFileThatCannotBeUsed(t *testing.T) {
	text := filepath.Join(t.TempDir(), "notes.txt")
	must(t, os.WriteFile(text, []byte(strings.Repeat("no database\n", 1000)), 0o600))
	for _, file := range []string{text, filepath.Join(t.TempDir(), "nowhere", "x.duckdb")} {
		apply, err := DuckDB(DuckDBConfig{Path: file, SQL: []string{"SELECT 1"}})
		must(t, err)
		if err := start(t, 1, apply).give(0, "0", items(t, itemSchema, `[{"id":1}]`)); !errcode.Has(err, errcode.DuckDBFailed) || !strings.Contains(err.Error(), file) {
			t.Error(err)
		}
	}
}
