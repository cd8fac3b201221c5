package table_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/objstore/localfs"
	"microbatch/table"
	"microbatch/table/maintain"
)

// TestAppendingToTablesOfSpark adds a row to each, and joins the files of those with deletion vectors.
func TestAppendingToTablesOfSpark(t *testing.T) {
	for _, name := range []string{"c_types", "c_types_ntz", "c_log_truncated", "c_multipart_checkpoint", "c_v2_checkpoint", "c_deletion_vectors"} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), name)
			if keep := os.Getenv("MICROBATCH_KEEP_TABLES"); keep != "" {
				dir = filepath.Join(keep, name)
			}
			if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata/spark", name, "table"))); err != nil {
				t.Fatal(err)
			}
			store, err := localfs.New(dir, localfs.Options{})
			if err != nil {
				t.Fatal(err)
			}
			tbl, err := table.Open(t.Context(), store, table.Options{})
			if err != nil {
				t.Fatal(err)
			}
			before := readRows(t, tbl.Snapshot())
			s := tbl.Snapshot().Schema()
			b := array.NewRecordBuilder(memory.DefaultAllocator, s)
			defer b.Release()
			for c, f := range s.Fields() {
				if f.Name != "id" {
					b.Field(c).AppendNull()
					continue
				}
				if err := b.Field(c).AppendValueFromString("9000"); err != nil {
					t.Fatal(err)
				}
			}
			appendRecord(t, tbl, "ours", memory.DefaultAllocator, b.NewRecordBatch())
			if name == "c_deletion_vectors" {
				if r, err := tbl.Optimize(t.Context(), maintain.OptimizeOptions{}); err != nil || r.Made != 1 || r.Rows != int64(len(before)+1) {
					t.Fatalf("optimize: %+v, %v", r, err)
				}
			}
			again, err := table.Open(t.Context(), store, table.Options{})
			if err != nil {
				t.Fatal(err)
			}
			after := readRows(t, again.Snapshot())
			if len(after) != len(before)+1 || after["9000"] == "" {
				t.Errorf("%d rows before, %d after", len(before), len(after))
			}
			if report, err := again.Check(t.Context(), maintain.CheckOptions{Values: true}); err != nil || len(report.Problems) > 0 {
				t.Errorf("check: %+v, %v", report, err)
			}
		})
	}
}
