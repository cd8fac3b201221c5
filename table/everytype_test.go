package table_test

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
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
	"microbatch/table/maintain"
	"microbatch/table/translog"
)

// awkward are partition values that a path must not be made of as they are.
var awkward = []string{
	"plain", "a b", "a/b", "../../x", "..", ".", "k=v", "50%", "%41", "q?r#s", "plus+amp&", "back\\slash", "quote'\"", "tab\there", "line\nbreak", "brace{}[]^",
	"ünï-日本", "😀", "x:y", "_hidden", ".dot", "nul\x00byte", "*", "~", "",
}

const everyType = `id BIGINT, p_str STRING, p_date DATE, p_int INT, p_bool BOOLEAN, p_dec DECIMAL(9,2), p_ts TIMESTAMP, p_dbl DOUBLE,
	c_bool BOOLEAN, c_byte TINYINT, c_short SMALLINT, c_int INT, c_long BIGINT, c_float FLOAT, c_double DOUBLE, c_dec9 DECIMAL(9,2), c_dec18 DECIMAL(18,6),
	c_dec38 DECIMAL(38,12), c_str STRING, c_bin BINARY, c_date DATE, c_ts TIMESTAMP, c_arr ARRAY<INT>, c_map MAP<STRING,INT>, c_struct STRUCT<a: INT, b: STRING>`

// TestEveryTypeAndAwkwardPartitionsRoundTrip writes rows of every type in both formats and reads them back. With MICROBATCH_KEEP_TABLES=<dir> the
// tables stay there, for a look with other readers.
func TestEveryTypeAndAwkwardPartitionsRoundTrip(t *testing.T) {
	for _, format := range []translog.Format{translog.Parquet, translog.Delta} {
		for name, by := range map[string][]string{
			"unpartitioned": nil, "by string": {"p_str"}, "by date and int": {"p_date", "p_int"}, "by bool decimal timestamp double": {"p_bool", "p_dec", "p_ts", "p_dbl"},
		} {
			t.Run(string(format)+" "+name, func(t *testing.T) {
				store := keptStore(t, string(format)+"-"+name)
				ddl, err := schema.ParseDDL(everyType)
				if err != nil {
					t.Fatal(err)
				}
				tbl, err := table.Create(t.Context(), store, table.Options{Format: format}, table.Definition{Schema: ddl, PartitionBy: by})
				if err != nil {
					t.Fatal(err)
				}
				alloc := memory.NewCheckedAllocator(memory.NewGoAllocator())
				defer alloc.AssertSize(t, 0)
				rec := everyRow(t, ddl, alloc)
				defer rec.Release()
				snap := appendRecord(t, tbl, "a", alloc, rec)
				want := rowsOf(t, rec, by)
				if diff := cmp.Diff(want, readRows(t, snap)); diff != "" {
					t.Fatalf("rows by id (-written +read):\n%s", diff)
				}
				report, err := tbl.Check(t.Context(), maintain.CheckOptions{Values: true})
				if err != nil {
					t.Fatal(err)
				}
				if len(report.Problems) > 0 || !report.GlobExact || report.Rows != rec.NumRows() {
					t.Errorf("check: %+v", report)
				}
			})
		}
	}
}

func keptStore(t *testing.T, name string) objstore.Store {
	t.Helper()
	dir := t.TempDir()
	if keep := os.Getenv("MICROBATCH_KEEP_TABLES"); keep != "" {
		dir = filepath.Join(keep, name)
	}
	store, err := localfs.New(dir, localfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// appendRecord commits a record's rows.
func appendRecord(t *testing.T, tbl *table.Table, attempt string, alloc memory.Allocator, recs ...arrow.RecordBatch) *table.Snapshot {
	t.Helper()
	snap := tbl.Snapshot()
	stage := datafile.NewStage(tbl.Log().Store(), datafile.Spec{
		Name:   datafile.Name{Prefix: datafile.PrefixPart, Owner: "test", Attempt: ident.Attempt(attempt)},
		Schema: snap.Schema(), PartitionBy: snap.PartitionBy(), Alloc: alloc,
	})
	for _, rec := range recs {
		if err := stage.Write(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
	}
	adds, err := stage.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var actions []action.Action
	for _, a := range adds {
		actions = append(actions, action.Action{Add: a})
	}
	next, err := tbl.Commit(t.Context(), snap, translog.Change{Info: action.CommitInfo{Operation: "WRITE"}, Actions: actions})
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// everyRow has a row for each awkward value, every third of them with nulls in all other columns.
func everyRow(t *testing.T, s *arrow.Schema, alloc memory.Allocator) arrow.RecordBatch {
	t.Helper()
	b := array.NewRecordBuilder(alloc, s)
	defer b.Release()
	doubles := []float64{1e308, -1e-300, math.Inf(1), math.Inf(-1), math.NaN(), 0, math.Copysign(0, -1), 0.1}
	for i, text := range awkward {
		b.Field(0).(*array.Int64Builder).Append(int64(i))
		b.Field(1).(*array.StringBuilder).Append(text)
		for c := 2; c < s.NumFields(); c++ {
			if i%3 == 2 {
				b.Field(c).AppendNull()
				continue
			}
			switch f := b.Field(c).(type) {
			case *array.BooleanBuilder:
				f.Append(i%2 == 0)
			case *array.Int8Builder:
				f.Append(int8(-128 + i))
			case *array.Int16Builder:
				f.Append(int16(-32768 + i))
			case *array.Int32Builder:
				f.Append(int32(math.MinInt32 + i%4))
			case *array.Int64Builder:
				f.Append(math.MinInt64 + int64(i))
			case *array.Float32Builder:
				f.Append(float32(doubles[i%len(doubles)]))
			case *array.Float64Builder:
				f.Append(doubles[i%len(doubles)])
			case *array.Decimal128Builder:
				f.Append(decimal128.FromI64(-1_234_567 + int64(i%5)*1_000_003))
			case *array.StringBuilder:
				f.Append("text " + text)
			case *array.BinaryBuilder:
				f.Append([]byte{0, 1, byte(i), 255})
			case *array.Date32Builder:
				f.Append(arrow.Date32([]int32{-141_427, -1, 0, 19_782, 2_932_896}[i%5]))
			case *array.TimestampBuilder:
				f.Append(arrow.Timestamp([]int64{-1, 0, 1_711_936_799_999_999, 253_402_300_799_999_999}[i%4]))
			case *array.ListBuilder:
				f.Append(true)
				for j := range i % 3 {
					f.ValueBuilder().(*array.Int32Builder).Append(int32(j))
				}
				f.ValueBuilder().AppendNull()
			case *array.MapBuilder:
				f.Append(true)
				for j := range i % 3 {
					f.KeyBuilder().(*array.StringBuilder).Append(fmt.Sprintf("k%d", j))
					f.ItemBuilder().(*array.Int32Builder).Append(int32(j))
				}
			case *array.StructBuilder:
				f.Append(true)
				f.FieldBuilder(0).(*array.Int32Builder).Append(int32(i))
				f.FieldBuilder(1).AppendNull()
			default:
				t.Fatalf("no value for %T", f)
			}
		}
	}
	return b.NewRecordBatch()
}

// rowsOf is a record in the form of readRows. An empty string in a partition column is null.
func rowsOf(t *testing.T, rec arrow.RecordBatch, by []string) map[string]string {
	t.Helper()
	rows := map[string]string{}
	for i := range int(rec.NumRows()) {
		row := map[string]any{}
		for c, f := range rec.Schema().Fields() {
			row[f.Name] = value(rec.Column(c), i)
		}
		for _, p := range by {
			if row[p] == "" {
				row[p] = nil
			}
		}
		rows[fmt.Sprint(row["id"])] = canonical(t, row)
	}
	return rows
}

func TestAPartitionValueThatIsTooLongIsAnErrorOfTheData(t *testing.T) {
	ddl, err := schema.ParseDDL("id BIGINT, p STRING")
	if err != nil {
		t.Fatal(err)
	}
	for length, ok := range map[int]bool{253: true, 254: false, 300: false} {
		tbl, err := table.Create(t.Context(), mem.New(), table.Options{}, table.Definition{Schema: ddl, PartitionBy: []string{"p"}})
		if err != nil {
			t.Fatal(err)
		}
		b := array.NewRecordBuilder(memory.DefaultAllocator, ddl)
		b.Field(0).(*array.Int64Builder).Append(1)
		b.Field(1).(*array.StringBuilder).Append(fmt.Sprintf("%0*d", length, 7))
		stage := datafile.NewStage(tbl.Log().Store(), datafile.Spec{Schema: tbl.Snapshot().Schema(), PartitionBy: []string{"p"}})
		if err := stage.Write(t.Context(), b.NewRecordBatch()); (err == nil) != ok || err != nil && errcode.ClassOf(err) != errcode.Data {
			t.Errorf("%d bytes: %v", length, err)
		}
		if err := stage.Abort(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// A year of five digits has no text that readers of a log understand: such a value once made a table that nobody could open.
func TestATimeThatALogCannotHoldIsAnErrorOfTheData(t *testing.T) {
	for _, column := range []string{"TIMESTAMP", "TIMESTAMP_NTZ", "DATE"} {
		ddl, err := schema.ParseDDL("id BIGINT, p " + column)
		if err != nil {
			t.Fatal(err)
		}
		const day = 86_400
		for seconds, ok := range map[int64]bool{0: true, 253_402_214_400: true, 253_402_300_800: false, -62_135_596_800: true, 400_000_000_000 / day * day: false} {
			tbl, err := table.Create(t.Context(), mem.New(), table.Options{}, table.Definition{Schema: ddl, PartitionBy: []string{"p"}})
			if err != nil {
				t.Fatal(err)
			}
			b := array.NewRecordBuilder(memory.DefaultAllocator, ddl)
			b.Field(0).(*array.Int64Builder).Append(1)
			switch p := b.Field(1).(type) {
			case *array.Date32Builder:
				p.Append(arrow.Date32(seconds / day))
			case *array.TimestampBuilder:
				p.Append(arrow.Timestamp(seconds * 1e6))
			}
			stage := datafile.NewStage(tbl.Log().Store(), datafile.Spec{Schema: tbl.Snapshot().Schema(), PartitionBy: []string{"p"}})
			if err := stage.Write(t.Context(), b.NewRecordBatch()); (err == nil) != ok || err != nil && !errcode.Has(err, errcode.TablePartitionValue) {
				t.Errorf("%s of %d seconds: %v", column, seconds, err)
			}
			if err := stage.Abort(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
}
