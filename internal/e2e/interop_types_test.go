//go:build services

package e2e

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
)

var (
	//go:embed testdata/interop_types.py
	writeTypes string
	//go:embed testdata/interop_types_read.py
	readTypes string
	//go:embed testdata/interop_skip.py
	skipFiles string
)

// typed is a delta table of every type and how it is written.
type typed struct {
	Rows        string // which rows: small, single (one file a row), ntz, large
	Partitions  []string
	Encoding    string
	Compression string
}

func (k typed) name() string {
	return strings.Join(append([]string{k.Rows, k.Encoding, k.Compression}, k.Partitions...), "_")
}

// properties are what the table needs: Delta's plain protocol has no TIMESTAMP_NTZ.
func (k typed) properties() string {
	if k.Rows == "ntz" {
		return "delta.feature.timestampNtz: supported"
	}
	return ""
}

// fill writes the table with the program, a batch for each input file.
func (k typed) fill(t *testing.T, dir string, ddl map[string]string) (table string) {
	t.Helper()
	by, err := json.Marshal(append([]string{}, k.Partitions...))
	if err != nil {
		t.Fatal(err)
	}
	columns := ddl["all"]
	if k.Rows == "ntz" {
		columns = ddl["ntz"]
	}
	file := write(t, dir, k.name()+".yaml", fmt.Sprintf(`
name: types
source:
  files: {path: %s}
  format: json
  schema: %q
sink:
  table: {path: tables/%s, format: delta, partition_by: %s, encoding: %s, compression: %s, properties: {%s}}
checkpoint: checkpoints/%s
on_error: fail
trigger: {max_files: 1}
`, k.Rows, columns, k.name(), by, k.Encoding, k.Compression, k.properties(), k.name()))
	start(t, nil, file, "--once").wait(3 * time.Minute)
	return filepath.Join(dir, "tables", k.name())
}

// writeRows writes the inputs, of which "large" has n rows, and returns where they are and the schemas of rows of all types and of those without a zone.
func writeRows(t *testing.T, n int) (dir string, ddl map[string]string) {
	t.Helper()
	dir = t.TempDir()
	for _, d := range []string{"small", "ntz", "large", "single"} {
		if err := os.Mkdir(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := json.Unmarshal([]byte(python(t, writeTypes, dir, n)), &ddl); err != nil {
		t.Fatal(err)
	}
	return dir, ddl
}

// TestInteropEveryTypeIsReadByEveryReader writes rows of every type, with nulls everywhere and awkward partition values, in both encodings and compressions, and has
// them compared value by value by Spark, deltalake, DuckDB, PyArrow and arrow-go, as Delta tables and as bare Parquet files. Then readers look for rows by
// filters at the edges of the statistics.
func TestInteropEveryTypeIsReadByEveryReader(t *testing.T) {
	dir, ddl := writeRows(t, 130_000)
	large := typed{"large", nil, "auto", "zstd"}
	byTypes := typed{"small", []string{"p_date", "p_int", "p_bool", "p_dec", "p_ts"}, "auto", "zstd"}
	tables := []typed{
		large, byTypes,
		{"small", nil, "auto", "snappy"},
		{"small", []string{"p_str"}, "plain", "zstd"},
		{"ntz", nil, "plain", "snappy"},
		{"ntz", []string{"p_ntz"}, "auto", "snappy"},
		{"large", []string{"p_str", "p_bool"}, "plain", "snappy"},
	}
	var args []any
	for _, k := range tables {
		table := k.fill(t, dir, ddl)
		args = append(args, []any{k.Rows, table, append([]string{}, k.Partitions...)})
		if k.Partitions == nil {
			groups := readByArrowGo(t, filepath.Join(dir, k.Rows+".arrow"), table)
			if k.Rows == large.Rows && groups < 2 {
				t.Errorf("%s: %d row groups in a file", table, groups)
			}
		}
	}
	verdicts(t, 7*len(tables), readTypes, args...)

	single := typed{"single", nil, "auto", "snappy"}.fill(t, dir, ddl)
	columns := []string{"c_byte", "c_double", "c_dec9", "c_dec38", "c_str", "c_date", "c_ts"}
	verdicts(t, 4*len(columns)-1+4*3-1, skipFiles, []any{single, columns}, []any{filepath.Join(dir, "tables", byTypes.name()), []string{"p_date", "p_int", "p_dec", "p_ts"}})
}

// readByArrowGo compares the data files of a table with the rows in an Arrow file, and returns how many row groups a file has at most.
func readByArrowGo(t *testing.T, expected, table string) (groups int) {
	t.Helper()
	in, err := os.Open(expected)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	rows, err := ipc.NewFileReader(in)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for i := range rows.NumRecords() {
		rec, err := rows.RecordBatch(i)
		if err != nil {
			t.Fatal(err)
		}
		rowsByID(rec, want)
	}
	paths, err := filepath.Glob(table + "/*.parquet")
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, path := range paths {
		pf, err := file.OpenParquetFile(path, false)
		if err != nil {
			t.Fatal(err)
		}
		groups = max(groups, pf.NumRowGroups())
		r, err := pqarrow.NewFileReader(pf, pqarrow.ArrowReadProperties{BatchSize: 8192}, memory.DefaultAllocator)
		if err != nil {
			t.Fatal(err)
		}
		recs, err := r.GetRecordReader(t.Context(), nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for recs.Next() {
			rowsByID(recs.RecordBatch(), got)
		}
		if err := recs.Err(); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		recs.Release()
		if err := pf.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if len(got) != len(want) {
		t.Errorf("arrow-go: %s: %d rows, want %d", table, len(got), len(want))
	}
	for id, row := range want {
		if got[id] != row {
			t.Fatalf("arrow-go: %s:\nrow  %s\nwant %s", table, got[id], row)
		}
	}
	return groups
}

// rowsByID adds a record's rows as text, by their first column.
func rowsByID(rec arrow.RecordBatch, rows map[string]string) {
	var text strings.Builder
	for i := range int(rec.NumRows()) {
		text.Reset()
		for c := range int(rec.NumCols()) {
			text.WriteString(rec.Column(c).ValueStr(i) + "|")
		}
		rows[rec.Column(0).ValueStr(i)] = text.String()
	}
}
