//go:build services

package e2e

import (
	_ "embed"
	"encoding/json"
	"path/filepath"
	"testing"
	"time"
)

var (
	//go:embed testdata/interop_inputs.py
	writeInputs string
	//go:embed testdata/interop_inputs_read.py
	readInputs string
)

// TestInteropFilesOfOthersAreInputs has PyArrow, DuckDB and Spark write Parquet, NDJSON and CSV files in many ways, compressed and not; the program takes each folder
// into a table, and the tables are compared with what was written, value by value.
func TestInteropFilesOfOthersAreInputs(t *testing.T) {
	dir := t.TempDir()
	var ddl map[string]string
	if err := json.Unmarshal([]byte(python(t, writeInputs, dir)), &ddl); err != nil {
		t.Fatal(err)
	}
	var tables []any
	for kind, format := range map[string]string{
		"parquet": "format: parquet", "json": "format: json", "csv": "format: csv",
		"sparkcsv": "format: csv\n  csv: {delimiter: \"\\t\", escape: \"\\\\\", \"null\": \"\\\\N\"}",
	} {
		file := write(t, dir, kind+".yaml", `
name: inputs
source:
  files: {path: `+kind+`}
  `+format+`
  schema: "`+ddl[kind]+`"
sink:
  table: {path: table_`+kind+`, format: delta}
checkpoint: checkpoint_`+kind+`
on_error: fail
trigger: {max_files: 4}
`)
		start(t, nil, file, "--once").wait(3 * time.Minute)
		tables = append(tables, []any{kind, filepath.Join(dir, "table_"+kind)})
	}
	verdicts(t, len(tables), readInputs, tables...)
}
