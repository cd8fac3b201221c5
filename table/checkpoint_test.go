package table_test

import (
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"microbatch/schema"
	"microbatch/table"
	"microbatch/table/action"
	"microbatch/table/maintain"
	"microbatch/table/translog"
)

// TestATableIsReadFromItsCheckpointAlone writes until a checkpoint is due, deletes every entry before it and reads the table again.
func TestATableIsReadFromItsCheckpointAlone(t *testing.T) {
	for _, format := range []translog.Format{translog.Parquet, translog.Delta} {
		t.Run(string(format), func(t *testing.T) {
			store := keptStore(t, string(format)+"-checkpointed")
			ddl, err := schema.ParseDDL("id BIGINT, p_str STRING")
			if err != nil {
				t.Fatal(err)
			}
			tbl, err := table.Create(t.Context(), store, table.Options{Format: format}, table.Definition{
				Schema: ddl, PartitionBy: []string{"p_str"}, Properties: map[string]string{"owner": "test"}, Description: "with a checkpoint",
			})
			if err != nil {
				t.Fatal(err)
			}
			for i := range 14 {
				appendIDs(t, tbl, i)
			}
			snap := tbl.Snapshot()
			if _, err := tbl.Commit(t.Context(), snap, translog.Change{Info: action.CommitInfo{Operation: "TXN"}, Actions: []action.Action{{Txn: &action.Txn{AppID: "q", Version: 3}}}}); err != nil {
				t.Fatal(err)
			}
			want := readRows(t, tbl.Snapshot())
			if made, err := tbl.Checkpoint(t.Context()); err != nil || !made {
				t.Fatalf("checkpoint: %v, %v", made, err)
			}
			if made, err := tbl.Checkpoint(t.Context()); err != nil || made {
				t.Fatalf("a second checkpoint: %v, %v", made, err)
			}
			for v := range tbl.Snapshot().Version() + 1 {
				if err := store.Delete(t.Context(), format.CommitKey(v)); err != nil {
					t.Fatal(err)
				}
			}
			again, err := table.Open(t.Context(), store, table.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, readRows(t, again.Snapshot())); diff != "" {
				t.Errorf("rows (-before +after):\n%s", diff)
			}
			if diff := cmp.Diff(tbl.Snapshot().State().Metadata, again.Snapshot().State().Metadata); diff != "" {
				t.Errorf("metaData (-before +after):\n%s", diff)
			}
			if v, ok := again.Snapshot().Txn("q"); !ok || v != 3 {
				t.Errorf("txn q: %d, %v", v, ok)
			}
			appendIDs(t, again, 100) // the table goes on behind the checkpoint
			if report, err := again.Check(t.Context(), maintain.CheckOptions{Values: true}); err != nil || len(report.Problems) > 0 || report.Rows != int64(len(want)+1) {
				t.Errorf("check: %+v, %v", report, err)
			}
		})
	}
}

// appendIDs commits a row for each id.
func appendIDs(t *testing.T, tbl *table.Table, ids ...int) {
	t.Helper()
	b := array.NewRecordBuilder(memory.DefaultAllocator, tbl.Snapshot().Schema())
	defer b.Release()
	for _, id := range ids {
		b.Field(0).(*array.Int64Builder).Append(int64(id))
		if id%5 == 4 {
			b.Field(1).AppendNull()
		} else {
			b.Field(1).(*array.StringBuilder).Append(awkward[id%len(awkward)])
		}
	}
	rec := b.NewRecordBatch()
	defer rec.Release()
	appendRecord(t, tbl, fmt.Sprintf("a%d", ids[0]), memory.DefaultAllocator, rec)
}
