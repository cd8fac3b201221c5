package table_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/objstore/localfs"
	"microbatch/table"
	"microbatch/table/maintain"
)

// TestTablesOfSparkAreReadAsSparkReadsThem compares every row of the tables in testdata/spark with what Spark itself reads.
func TestTablesOfSparkAreReadAsSparkReadsThem(t *testing.T) {
	for _, name := range []string{
		"c_types", "c_types_ntz", "c_log_truncated", "c_multipart_checkpoint", "c_v2_checkpoint", "c_deletion_vectors",
	} {
		t.Run(name, func(t *testing.T) {
			tbl, err := table.Open(t.Context(), sparkTable(t, name), table.Options{})
			if err != nil {
				t.Fatal(err)
			}
			want := expectedRows(t, name)
			if diff := cmp.Diff(want, readRows(t, tbl.Snapshot())); diff != "" {
				t.Fatalf("rows by id (-Spark +ours):\n%s", diff)
			}
			report, err := tbl.Check(t.Context(), maintain.CheckOptions{Values: true})
			if err != nil {
				t.Fatal(err)
			}
			if len(report.Problems) > 0 || report.Rows != int64(len(want)) {
				t.Errorf("check: %d rows, problems %v", report.Rows, report.Problems)
			}
		})
	}
}

func TestMappedColumnsAreRefusedByName(t *testing.T) {
	_, err := table.Open(t.Context(), sparkTable(t, "c_column_mapping"), table.Options{})
	if !errcode.Has(err, errcode.TableFeature) || !strings.Contains(err.Error(), "columnMapping") {
		t.Fatalf("open: %v, want %s with the feature's name", err, errcode.TableFeature.ID)
	}
}

func TestTimeTravelWithinALogThatWasTruncated(t *testing.T) {
	tbl, err := table.Open(t.Context(), sparkTable(t, "c_log_truncated"), table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for version, rows := range map[int64]int{6: 70, 7: 80, 8: 70} {
		snap, err := tbl.At(t.Context(), version)
		if err != nil {
			t.Fatalf("version %d: %v", version, err)
		}
		if got := len(readRows(t, snap)); got != rows {
			t.Errorf("version %d has %d rows, want %d", version, got, rows)
		}
	}
	if _, err := tbl.At(t.Context(), 5); !errcode.Has(err, errcode.TableVersion) {
		t.Errorf("version 5: %v, want %s", err, errcode.TableVersion.ID)
	}
	if _, err := tbl.At(t.Context(), 9); !errcode.Has(err, errcode.TableVersion) {
		t.Errorf("version 9: %v, want %s", err, errcode.TableVersion.ID)
	}
}

func sparkTable(t *testing.T, name string) objstore.Store {
	t.Helper()
	store, err := localfs.New(filepath.Join("testdata/spark", name, "table"), localfs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// expectedRows are the rows as Spark read them, by id, as canonical JSON.
func expectedRows(t *testing.T, name string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata/spark", name, "expected.ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]string{}
	for line := range bytes.Lines(data) {
		var row map[string]any
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		if err := d.Decode(&row); err != nil {
			t.Fatal(err)
		}
		rows[fmt.Sprint(row["id"])] = canonical(t, row)
	}
	return rows
}

func canonical(t *testing.T, v any) string {
	t.Helper()
	out, err := json.MarshalIndent(normal(v), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// normal spells numbers alike.
func normal(v any) any {
	switch v := v.(type) {
	case json.Number:
		if f, err := v.Float64(); err == nil && strings.ContainsAny(v.String(), ".eE") {
			return f
		}
		return v
	case map[string]any:
		for k := range v {
			v[k] = normal(v[k])
		}
	case []any:
		for i := range v {
			v[i] = normal(v[i])
		}
	}
	return v
}

// readRows reads a snapshot in the same form.
func readRows(t *testing.T, snap *table.Snapshot) map[string]string {
	t.Helper()
	alloc := memory.NewCheckedAllocator(memory.NewGoAllocator())
	defer alloc.AssertSize(t, 0)
	rows := map[string]string{}
	for rec, err := range snap.Read(t.Context(), nil, alloc) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range int(rec.NumRows()) {
			row := map[string]any{}
			for c, f := range rec.Schema().Fields() {
				row[f.Name] = value(rec.Column(c), i)
			}
			id := fmt.Sprint(row["id"])
			if rows[id] != "" {
				t.Fatalf("id %s occurs twice", id)
			}
			rows[id] = canonical(t, row)
		}
		rec.Release()
	}
	return rows
}

// value is a cell in the form of expected.ndjson.
func value(a arrow.Array, i int) any {
	if a.IsNull(i) {
		return nil
	}
	switch a := a.(type) {
	case *array.Boolean:
		return a.Value(i)
	case *array.Int8:
		return json.Number(fmt.Sprint(a.Value(i)))
	case *array.Int16:
		return json.Number(fmt.Sprint(a.Value(i)))
	case *array.Int32:
		return json.Number(fmt.Sprint(a.Value(i)))
	case *array.Int64:
		return json.Number(fmt.Sprint(a.Value(i)))
	case *array.Float32:
		return float(float64(a.Value(i)))
	case *array.Float64:
		return float(a.Value(i))
	case *array.Decimal128:
		return a.Value(i).ToString(a.DataType().(*arrow.Decimal128Type).Scale)
	case *array.String:
		return a.Value(i)
	case *array.Binary:
		return hex.EncodeToString(a.Value(i))
	case *array.Date32:
		return a.Value(i).ToTime().Format(time.DateOnly)
	case *array.Timestamp:
		return time.UnixMicro(int64(a.Value(i))).UTC().Format("2006-01-02T15:04:05.000000")
	case *array.Map:
		from, to := a.ValueOffsets(i)
		out := map[string]any{}
		for j := int(from); j < int(to); j++ {
			out[a.Keys().(*array.String).Value(j)] = value(a.Items(), j)
		}
		return out
	case *array.List:
		from, to := a.ValueOffsets(i)
		out := []any{}
		for j := int(from); j < int(to); j++ {
			out = append(out, value(a.ListValues(), j))
		}
		return out
	case *array.Struct:
		out := map[string]any{}
		for j, f := range a.DataType().(*arrow.StructType).Fields() {
			out[f.Name] = value(a.Field(j), i)
		}
		return out
	}
	panic(fmt.Sprintf("no form for %T", a))
}

func float(v float64) any {
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	}
	return v
}
