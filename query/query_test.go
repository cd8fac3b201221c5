//go:build cgo && duckdb_arrow

package query

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/objstore/localfs"
	"microbatch/objstore/mem"
	"microbatch/schema"
	"microbatch/table"
	"microbatch/table/action"
	"microbatch/table/datafile"
	"microbatch/table/translog"
)

func ddl(t testing.TB, text string) *arrow.Schema {
	t.Helper()
	s, err := schema.ParseDDL(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func folder(t testing.TB) objstore.Store {
	t.Helper()
	s, err := localfs.New(t.TempDir(), localfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// maker writes tables.
type maker struct {
	t     testing.TB
	store objstore.Store
	table *table.Table
	batch ident.BatchID
}

func create(t testing.TB, store objstore.Store, format translog.Format, columns string, partitionBy ...string) *maker {
	t.Helper()
	tbl, err := table.Create(t.Context(), store, table.Options{Format: format}, table.Definition{
		Schema: ddl(t, columns), PartitionBy: partitionBy, Properties: map[string]string{"delta.feature.timestampNtz": "supported"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return &maker{t: t, store: store, table: tbl}
}

// append commits rows, which are JSON objects.
func (m *maker) append(rows string) {
	m.t.Helper()
	adds := m.stage(m.table.Snapshot().Schema(), rows)
	actions := make([]action.Action, len(adds))
	for i, a := range adds {
		actions[i].Add = a
	}
	m.commit(actions)
}

// stage writes rows to files that no version names.
func (m *maker) stage(s *arrow.Schema, rows string) []*action.Add {
	m.t.Helper()
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, s, strings.NewReader("["+rows+"]"))
	if err != nil {
		m.t.Fatal(err)
	}
	defer rec.Release()
	m.batch++
	st := datafile.NewStage(m.store, datafile.Spec{
		Name:   datafile.Name{Prefix: datafile.PrefixPart, Owner: datafile.OwnerOf("q", ident.Shard{}), Batch: m.batch, Attempt: ident.NewAttempt()},
		Schema: s, PartitionBy: m.table.Snapshot().PartitionBy(), Alloc: memory.DefaultAllocator,
	})
	if err := st.Write(m.t.Context(), rec); err != nil {
		m.t.Fatal(err)
	}
	adds, err := st.Finish(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	return adds
}

func (m *maker) commit(actions []action.Action) {
	m.t.Helper()
	snap, err := m.table.Refresh(m.t.Context())
	if err != nil {
		m.t.Fatal(err)
	}
	if _, err := m.table.Commit(m.t.Context(), snap, translog.Change{Info: action.CommitInfo{Operation: "WRITE"}, Actions: actions}); err != nil {
		m.t.Fatal(err)
	}
}

// addColumns changes the table's schema.
func (m *maker) addColumns(columns string) {
	m.t.Helper()
	text, err := schema.ToDelta(ddl(m.t, columns))
	if err != nil {
		m.t.Fatal(err)
	}
	meta := m.table.Snapshot().State().Metadata
	meta.Schema = text
	m.commit([]action.Action{{Metadata: &meta}})
}

func session(t testing.TB, o Options) *Session {
	t.Helper()
	mem := memory.NewCheckedAllocator(memory.NewGoAllocator())
	o.Alloc = mem
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		mem.AssertSize(t, 0)
	})
	return s
}

// rows runs a query and returns its rows as text, sorted.
func rows(t testing.TB, s *Session, sql string) []string {
	t.Helper()
	out, err := run(t.Context(), s, sql)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(out)
	return out
}

func run(ctx context.Context, s *Session, sql string) ([]string, error) {
	res, err := s.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	defer res.Close()
	var out []string
	for {
		rec, err := res.Next()
		if rec == nil || err != nil {
			return out, err
		}
		for i := range int(rec.NumRows()) {
			cells := make([]string, rec.NumCols())
			for j := range cells {
				cells[j] = strings.Clone(rec.Column(j).ValueStr(i)) // the record's memory goes
			}
			out = append(out, strings.Join(cells, "|"))
		}
		rec.Release()
	}
}

func add(t testing.TB, s *Session, name string, tbl Table) Reading {
	t.Helper()
	if err := s.Add(t.Context(), name, tbl); err != nil {
		t.Fatal(err)
	}
	r := s.Readings()
	return r[len(r)-1]
}

const everyType = "a BOOLEAN, b TINYINT, c SMALLINT, d INT, e BIGINT, f FLOAT, g DOUBLE, h DECIMAL(9,2), i DECIMAL(38,10), j STRING, k BINARY, l DATE, m TIMESTAMP, " +
	"n TIMESTAMP_NTZ, o ARRAY<INT>, p MAP<STRING, BIGINT>, q STRUCT<x: INT, y: ARRAY<STRUCT<z: STRING>>>"

const everyValue = `{"a": true, "b": -128, "c": 32767, "d": -5, "e": 9223372036854775807, "f": 1.5, "g": -2.25, "h": "1234567.89", "i": "-1234567890123456789012345678.0123456789", "j": "héllo", "k": "AP8=",
	"l": "1969-12-31", "m": "2024-01-02 03:04:05.678901Z", "n": "1960-01-02 03:04:05.678901", "o": [1, null], "p": [{"key": "k", "value": 2}], "q": {"x": 1, "y": [{"z": "deep"}, null]}}, {}`

func TestDuckDBAndOurOwnReaderGiveTheSameRows(t *testing.T) {
	for _, format := range []translog.Format{translog.Parquet, translog.Delta} {
		local, memory := folder(t), mem.New()
		for _, store := range []objstore.Store{local, memory} {
			create(t, store, format, everyType).append(everyValue)
		}
		s := session(t, Options{})
		if r := add(t, s, "byduck", Table{Store: local}); !r.DuckDB {
			t.Errorf("%s", r)
		}
		if r := add(t, s, "byown", Table{Store: memory}); r.DuckDB || !strings.Contains(r.String(), "read by microbatch's own reader, because DuckDB does not know the store mem:") {
			t.Errorf("%s", r)
		}
		for _, sql := range []string{"SELECT * FROM %s", "SELECT m::DATE, upper(j), h + 1 FROM %s WHERE e > 0", "SELECT count(*) FROM %s", "SELECT column_name, column_type FROM (DESCRIBE %s)"} {
			if diff := cmp.Diff(rows(t, s, fmt.Sprintf(sql, "byduck")), rows(t, s, fmt.Sprintf(sql, "byown"))); diff != "" {
				t.Errorf("%s, %s:\n%s", format, sql, diff)
			}
		}
		if diff := cmp.Diff([]string{"HÉLLO|1234568.89"}, rows(t, s, "SELECT upper(j), h + 1 FROM byduck WHERE a")); diff != "" {
			t.Error(diff)
		}
	}
}

func TestOnlyFilesOfTheLogAreRead(t *testing.T) {
	store := folder(t)
	m := create(t, store, translog.Parquet, "id BIGINT, day DATE", "day")
	m.append(`{"id": 1, "day": "2024-01-01"}, {"id": 2, "day": "2024-01-02"}`)
	m.stage(m.table.Snapshot().Schema(), `{"id": 99, "day": "2024-01-01"}`) // an orphan, as a killed writer leaves it
	s := session(t, Options{})
	if r := add(t, s, "t", Table{Store: store}); !r.DuckDB || r.Files != 2 || r.Version != 1 {
		t.Errorf("%+v", r)
	}
	if diff := cmp.Diff([]string{"1|2024-01-01", "2|2024-01-02"}, rows(t, s, "SELECT * FROM t")); diff != "" {
		t.Error(diff)
	}
}

func TestPartitionValuesAreThoseOfTheLog(t *testing.T) {
	odd := `{"id": 1, "p": "a b/c=d%e"}, {"id": 2, "p": null}, {"id": 3, "p": "ü:?*[x]"}, {"id": 4, "p": "07"}, {"id": 5, "p": "1.50"}, {"id": 6, "p": "NULL"}`
	for _, format := range []translog.Format{translog.Parquet, translog.Delta} {
		local, other := folder(t), mem.New()
		for _, store := range []objstore.Store{local, other} {
			create(t, store, format, "id BIGINT, p STRING", "p").append(odd)
		}
		s := session(t, Options{})
		add(t, s, "a", Table{Store: local})
		add(t, s, "b", Table{Store: other})
		want := []string{"1|a b/c=d%e", "2|(null)", "3|ü:?*[x]", "4|07", "5|1.50", "6|NULL"}
		for _, name := range []string{"a", "b"} {
			if diff := cmp.Diff(want, rows(t, s, "FROM "+name)); diff != "" {
				t.Errorf("%s: %s\n%s", name, s.Readings(), diff)
			}
			if diff := cmp.Diff([]string{"1"}, rows(t, s, "SELECT id FROM "+name+" WHERE p = 'a b/c=d%e'")); diff != "" {
				t.Errorf("%s\n%s", name, diff)
			}
			if diff := cmp.Diff([]string{"2"}, rows(t, s, "SELECT id FROM "+name+" WHERE p IS NULL")); diff != "" {
				t.Errorf("%s\n%s", name, diff)
			}
		}
		if !strings.Contains(s.Readings()[0].Why, "DuckDB would take p=NULL for null") {
			t.Error(s.Readings()[0])
		}
		add(t, s, "c", Table{Store: ordinary(t, format)})
		if diff := cmp.Diff([]string{"1|a b/c=d%e", "2|(null)", "3|ü:?*[x]"}, rows(t, s, "FROM c")); diff != "" || !s.Readings()[2].DuckDB {
			t.Errorf("%s\n%s", s.Readings(), diff)
		}
	}
}

func ordinary(t *testing.T, format translog.Format) objstore.Store {
	store := folder(t)
	create(t, store, format, "id BIGINT, p STRING", "p").append(`{"id": 1, "p": "a b/c=d%e"}, {"id": 2, "p": null}, {"id": 3, "p": "ü:?*[x]"}`)
	return store
}

func TestPartitionColumnsOfEveryType(t *testing.T) {
	const columns = "id INT, a BOOLEAN, b TINYINT, c BIGINT, d DOUBLE, e DECIMAL(9,2), f DATE, g TIMESTAMP, h TIMESTAMP_NTZ"
	const row = `{"id": 1, "a": true, "b": -3, "c": 5000000000, "d": 1.5, "e": "-0.10", "f": "2024-02-29", "g": "2024-01-02 03:04:05.678901Z", "h": "2024-01-02 03:04:05"}, {"id": 2}`
	local, other := folder(t), mem.New()
	for _, store := range []objstore.Store{local, other} {
		create(t, store, translog.Delta, columns, "a", "b", "c", "d", "e", "f", "g", "h").append(row)
	}
	s := session(t, Options{})
	if r := add(t, s, "x", Table{Store: local}); !r.DuckDB {
		t.Error(r)
	}
	add(t, s, "y", Table{Store: other})
	for _, sql := range []string{"FROM %s", "FROM %s WHERE f = '2024-02-29' AND g > '2024-01-01'", "SELECT count(*) FROM %s WHERE c > 1 AND e < 0", "DESCRIBE %s"} {
		if diff := cmp.Diff(rows(t, s, fmt.Sprintf(sql, "x")), rows(t, s, fmt.Sprintf(sql, "y"))); diff != "" {
			t.Errorf("%s\n%s", sql, diff)
		}
	}
}

func TestAPartitionValueThatTheDirectoryDoesNotSayIsTakenFromTheLog(t *testing.T) {
	store := folder(t)
	m := create(t, store, translog.Parquet, "id BIGINT, p STRING", "p")
	adds := m.stage(m.table.Snapshot().Schema(), `{"id": 1, "p": "directory"}`)
	log := "log"
	adds[0].PartitionValues = map[string]*string{"p": &log}
	m.commit([]action.Action{{Add: adds[0]}})
	s := session(t, Options{})
	if r := add(t, s, "t", Table{Store: store}); r.DuckDB || !strings.Contains(r.Why, "stand in the log alone") {
		t.Error(r)
	}
	if diff := cmp.Diff([]string{"1|log"}, rows(t, s, "FROM t")); diff != "" {
		t.Error(diff)
	}
}

func TestColumnsThatCameLaterAreNullInOlderFiles(t *testing.T) {
	for _, later := range []bool{false, true} {
		store := folder(t)
		m := create(t, store, translog.Parquet, "id BIGINT, small SMALLINT")
		m.append(`{"id": 1, "small": 1}`)
		m.addColumns("id BIGINT, small INT, note STRING, more STRUCT<x: INT>")
		if later {
			m.append(`{"id": 2, "small": 100000, "note": "x", "more": {"x": 1}}`)
		}
		s := session(t, Options{})
		r := add(t, s, "t", Table{Store: store})
		if r.DuckDB != later {
			t.Error(r)
		}
		want := []string{"1|1|(null)|(null)", `2|100000|x|{"x":1}`}
		if !later {
			want = want[:1]
		}
		if diff := cmp.Diff(want, rows(t, s, "FROM t")); diff != "" {
			t.Errorf("%s\n%s", r, diff)
		}
	}
}

func TestTimeTravel(t *testing.T) {
	store := folder(t)
	m := create(t, store, translog.Parquet, "id BIGINT")
	m.append(`{"id": 1}`)
	between := time.Now()
	for time.Now().UnixMilli() <= between.UnixMilli() { // versions are told apart by milliseconds
	}
	m.append(`{"id": 2}`)
	s := session(t, Options{})
	one, nine := int64(1), int64(9)
	add(t, s, "v1", Table{Store: store, Version: &one})
	add(t, s, "newest", Table{Store: store})
	add(t, s, "earlier", Table{Store: store, AsOf: &between})
	for name, want := range map[string][]string{"v1": {"1"}, "earlier": {"1"}, "newest": {"1", "2"}} {
		if diff := cmp.Diff(want, rows(t, s, "FROM "+name)); diff != "" {
			t.Errorf("%s\n%s", name, diff)
		}
	}
	if err := s.Add(t.Context(), "v9", Table{Store: store, Version: &nine}); !errcode.Has(err, errcode.TableVersion) {
		t.Error(err)
	}
}

func TestAnEmptyTableHasItsColumns(t *testing.T) {
	store := folder(t)
	create(t, store, translog.Parquet, everyType)
	s := session(t, Options{})
	add(t, s, "t", Table{Store: store})
	if got := rows(t, s, "SELECT count(*), count(m) FROM t"); !slices.Equal(got, []string{"0|0"}) {
		t.Error(got)
	}
	if got := len(rows(t, s, "DESCRIBE t")); got != 17 {
		t.Error(got)
	}
}

func TestTablesAreFoundByNameAndByPath(t *testing.T) {
	store := folder(t)
	create(t, store, translog.Parquet, "id BIGINT").append(`{"id": 1}`)
	asked := []string{}
	s := session(t, Options{Resolve: func(ctx context.Context, name string) (Table, bool, error) {
		asked = append(asked, name)
		switch name {
		case "orders", store.URL(), "s3://lake/orders":
			return Table{Store: store}, true, nil
		case "broken":
			return Table{}, false, errors.New("no such pipeline")
		}
		return Table{}, false, nil
	}})
	for _, sql := range []string{
		"SELECT * FROM orders", "SELECT * FROM '" + store.URL() + "'", "SELECT * FROM 's3://lake/orders'",
		"WITH x AS (FROM orders) SELECT x.id FROM x JOIN '" + store.URL() + "' USING (id)",
	} {
		if got := rows(t, s, sql); !slices.Equal(got, []string{"1"}) {
			t.Error(sql, got)
		}
	}
	if diff := cmp.Diff([]string{"orders", store.URL(), "s3://lake/orders"}, asked); diff != "" {
		t.Error(diff)
	}
	_, err := run(t.Context(), s, "SELECT *\nFROM unknown")
	if !errcode.Has(err, errcode.QuerySQL) || !strings.HasPrefix(err.Error(), "MB4020 query 2:6: catalog: no table is called \"unknown\", and there is none at that path") {
		t.Error(err)
	}
	if _, err := run(t.Context(), s, "FROM broken"); err == nil || err.Error() != "no such pipeline" {
		t.Error(err)
	}
	if err := s.Add(t.Context(), "gone", Table{Store: mem.New()}); !errcode.Has(err, errcode.QueryTable) {
		t.Error(err)
	}
}

func TestAMissingFileIsAnErrorOfTheTable(t *testing.T) {
	store := mem.New()
	m := create(t, store, translog.Parquet, "id BIGINT")
	m.append(`{"id": 1}`)
	s := session(t, Options{})
	add(t, s, "t", Table{Store: store})
	for info, err := range store.List(t.Context(), "part-", "") {
		if err != nil {
			t.Fatal(err)
		}
		if err := store.Delete(t.Context(), info.Key); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := run(t.Context(), s, "FROM t"); !errcode.Has(err, errcode.TableFile) {
		t.Error(err)
	}
	if _, err := run(t.Context(), s, "SELECT 1 AS x"); err != nil {
		t.Error(err)
	}
}

func TestAQueryEndsWithItsContextAndMayBeLeftEarly(t *testing.T) {
	store := mem.New()
	m := create(t, store, translog.Parquet, "id BIGINT")
	for i := range 20 {
		m.append(fmt.Sprintf(`{"id": %d}`, i))
	}
	s := session(t, Options{})
	add(t, s, "t", Table{Store: store})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := run(ctx, s, "FROM t"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	res, err := s.Query(t.Context(), "FROM t")
	if err != nil {
		t.Fatal(err)
	}
	rec, err := res.Next()
	if err != nil {
		t.Fatal(err)
	}
	rec.Release()
	res.Close()
	if got := rows(t, s, "SELECT count(*) FROM t x, t y"); !slices.Equal(got, []string{"400"}) {
		t.Error(got)
	}
}

func TestTablesOfSparkReadTheSameByDuckDBAndByUs(t *testing.T) {
	for name, why := range map[string]string{"c_types": "", "c_types_ntz": "", "c_log_truncated": "", "c_multipart_checkpoint": "", "c_v2_checkpoint": "", "c_deletion_vectors": "deletion vectors"} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "table", "testdata", "spark", name, "table"))); err != nil {
			t.Fatal(err)
		}
		local, err := localfs.New(dir, localfs.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := session(t, Options{})
		r := add(t, s, "t", Table{Store: local})
		if r.DuckDB != (why == "") || !strings.Contains(r.Why, why) {
			t.Errorf("%s: %s", name, r)
		}
		add(t, s, "own", Table{Store: inMemory(t, dir)})
		if diff := cmp.Diff(rows(t, s, "FROM own"), rows(t, s, "FROM t")); diff != "" {
			t.Errorf("%s (-own +DuckDB)\n%s", name, diff)
		}
	}
}

// inMemory copies a folder to a store that DuckDB does not reach.
func inMemory(t *testing.T, dir string) objstore.Store {
	store := mem.New()
	err := fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil {
			return err
		}
		return store.Put(t.Context(), path, data)
	})
	if err != nil {
		t.Fatal(err)
	}
	return store
}
