//go:build services

package e2e

import (
	_ "embed"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

//go:embed testdata/interop_parquet.py
var readPlainParquet string

// TestInteropPlainParquetIsReadByGlobs has tables of format parquet read by those who know nothing of the log beside the files: with awkward partition values and
// without, after so many batches that the log has a checkpoint. Then files are joined, and DuckDB takes the file list from the log by the documented recipe.
func TestInteropPlainParquetIsReadByGlobs(t *testing.T) {
	dir, ddl := writeRows(t, 1000)
	var globs, lists []any
	for name, partitions := range map[string]string{"plain": "", "by_text": "p_str", "by_types": "p_date, p_int, p_bool, p_dec, p_ts"} {
		file := write(t, dir, name+".yaml", `
name: plain
source:
  files: {path: single}
  format: json
  schema: "`+ddl["all"]+`"
sink:
  table: {path: `+name+`, partition_by: [`+partitions+`]}
checkpoint: checkpoint_`+name+`
on_error: fail
trigger: {max_files: 3}
`)
		start(t, nil, file, "--once").wait(3 * time.Minute)
		table, by := filepath.Join(dir, name), strings.FieldsFunc(partitions, func(r rune) bool { return r == ',' || r == ' ' })
		if checkpoints, err := filepath.Glob(table + "/_metadata/*.checkpoint.json"); err != nil || len(checkpoints) == 0 {
			t.Errorf("%s: no checkpoint of the log: %v", table, err)
		}
		globs = append(globs, []any{"small", table, append([]string{}, by...), ""})
		if name != "by_types" { // the recipe's types of partitions are guesses
			lists = append(lists, []any{"small", table, append([]string{}, by...), strings.ReplaceAll(recipe, "T/", table+"/")})
		}
	}
	verdicts(t, 8, readPlainParquet, globs...)
	verdicts(t, 2, readPlainParquet, lists...)
	for _, name := range []string{"plain", "by_text"} {
		run(t, nil, "table", "optimize", "--force", filepath.Join(dir, name))
	}
	verdicts(t, 2, readPlainParquet, lists...)
}
