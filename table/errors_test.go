package table_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/objstore/mem"
	"microbatch/schema"
	"microbatch/table"
	"microbatch/table/action"
	"microbatch/table/datafile"
	"microbatch/table/translog"
)

func newTable(t *testing.T, store objstore.Store, ddl string) *table.Table {
	t.Helper()
	s, err := schema.ParseDDL(ddl)
	if err != nil {
		t.Fatal(err)
	}
	tbl, err := table.Create(t.Context(), store, table.Options{Format: translog.Delta}, table.Definition{Schema: s})
	if err != nil {
		t.Fatal(err)
	}
	return tbl
}

// unlisted is a store whose first list fails.
type unlisted struct {
	objstore.Store
	failed bool
}

func (s *unlisted) List(ctx context.Context, prefix, after string) iter.Seq2[objstore.Info, error] {
	if s.failed {
		return s.Store.List(ctx, prefix, after)
	}
	s.failed = true
	return func(yield func(objstore.Info, error) bool) {
		yield(objstore.Info{}, errcode.StoreBusy.New(prefix, "503"))
	}
}

// A table is not created where it cannot be seen whether there is one, and the error is that of the store, which says whether to try again.
func TestCreateSaysWhyItCannotLook(t *testing.T) {
	s, err := schema.ParseDDL("id INT")
	if err != nil {
		t.Fatal(err)
	}
	store := &unlisted{Store: mem.New()}
	create := func() error {
		_, err := table.Create(t.Context(), store, table.Options{}, table.Definition{Schema: s})
		return err
	}
	if err := create(); !errcode.Has(err, errcode.StoreBusy) {
		t.Errorf("%v, want code %s", err, errcode.StoreBusy.ID)
	}
	if err := create(); err != nil {
		t.Errorf("the second try: %v", err)
	}
}

// TestFilesThatCannotBeTrusted reads tables whose log names what it must not, or what is not there.
func TestFilesThatCannotBeTrusted(t *testing.T) {
	tests := []struct {
		name string
		add  action.Add
		want errcode.Code
	}{
		{"a path above the table", action.Add{Path: "../secret.parquet"}, errcode.TablePath},
		{"an absolute path", action.Add{Path: "file:///etc/passwd"}, errcode.TablePath},
		{"a file that is gone", action.Add{Path: "gone.parquet"}, errcode.TableFile},
		{"a file that is no Parquet", action.Add{Path: "junk.parquet"}, errcode.TableFile},
		{"a deletion vector elsewhere", action.Add{Path: "good.parquet", DeletionVector: &action.DeletionVector{Storage: "p", Path: "s3://elsewhere/x.bin", Size: 40, Cardinality: 1}}, errcode.TablePath},
		{"a deletion vector that is gone", action.Add{Path: "good.parquet", DeletionVector: &action.DeletionVector{Storage: "u", Path: "ab^-aqEH.-t@S}K{vb[*k^", Size: 40, Cardinality: 1}}, errcode.TableFile},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			store := mem.New()
			tbl := newTable(t, store, "id BIGINT, p_str STRING")
			appendIDs(t, tbl, 1)
			files, err := tbl.Snapshot().Files(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			good, err := store.Get(t.Context(), files[0].Path)
			if err != nil {
				t.Fatal(err)
			}
			for key, data := range map[string][]byte{"good.parquet": good, "junk.parquet": []byte("PAR1 but not really PAR1")} {
				if err := store.Put(t.Context(), key, data); err != nil {
					t.Fatal(err)
				}
			}
			add := test.add
			add.PartitionValues = map[string]*string{}
			snap, err := tbl.Commit(t.Context(), tbl.Snapshot(), translog.Change{Actions: []action.Action{{Add: &add}}})
			if err != nil {
				t.Fatal(err)
			}
			for rec, readErr := range snap.Read(t.Context(), nil, memory.DefaultAllocator) {
				if readErr != nil {
					err = readErr
					break
				}
				rec.Release()
			}
			if !hasDeep(err, test.want) {
				t.Errorf("%v, want %s", err, test.want.ID)
			}
		})
	}
}

// hasDeep looks for a code anywhere in the chain of causes.
func hasDeep(err error, want errcode.Code) bool {
	return err != nil && strings.Contains(err.Error(), want.ID)
}

func TestANullInAColumnOfAnotherWriterThatIsNotNull(t *testing.T) {
	store := mem.New()
	tbl := newTable(t, store, "id BIGINT, p_str STRING")
	m := tbl.Snapshot().State().Metadata
	m.Schema = strings.Replace(m.Schema, `"id","type":"long","nullable":true`, `"id","type":"long","nullable":false`, 1)
	snap, err := tbl.Commit(t.Context(), tbl.Snapshot(), translog.Change{Actions: []action.Action{{Metadata: &m}}})
	if err != nil {
		t.Fatal(err)
	}
	appendIDs(t, tbl, 1)
	b := array.NewRecordBuilder(memory.DefaultAllocator, snap.Schema())
	b.Field(0).AppendNull()
	b.Field(1).(*array.StringBuilder).Append("x")
	stage := datafile.NewStage(store, datafile.Spec{Schema: snap.Schema()})
	if err := stage.Write(t.Context(), b.NewRecordBatch()); !errcode.Has(err, errcode.TableNull) {
		t.Errorf("%v, want %s", err, errcode.TableNull.ID)
	}
}

// crowded is a store in which somebody else takes each version first.
type crowded struct{ objstore.Store }

func (c crowded) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	other := fmt.Sprintf(`{"commitInfo":{"timestamp":1,"operation":"WRITE","operationParameters":{},"txnId":%q}}`+"\n", key)
	if err := c.Store.PutIfAbsent(ctx, key, []byte(other)); err != nil {
		return err
	}
	return c.Store.PutIfAbsent(ctx, key, data)
}

func TestACommitGivesUpInTimeWhenOthersAreAlwaysFirst(t *testing.T) {
	store := mem.New()
	newTable(t, store, "id BIGINT")
	tbl, err := table.Open(t.Context(), crowded{store}, table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = tbl.Commit(t.Context(), tbl.Snapshot(), translog.Change{Budget: 50 * time.Millisecond, Actions: []action.Action{{Txn: &action.Txn{AppID: "q", Version: 1}}}})
	if !errcode.Has(err, errcode.TableBusy) {
		t.Errorf("%v, want %s", err, errcode.TableBusy.ID)
	}
}
