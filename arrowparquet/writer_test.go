package arrowparquet_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"

	"microbatch/arrowparquet"
	"microbatch/arrowparquet/parquettest"
)

// write makes a file of the records, and releases them.
func write(t *testing.T, s *arrow.Schema, o arrowparquet.Options, recs ...arrow.RecordBatch) ([]byte, *arrowparquet.FileStats) {
	t.Helper()
	var buf bytes.Buffer
	w, err := arrowparquet.NewWriter(&buf, s, o)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range recs {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
		r.Release()
	}
	stats, err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	if stats.Bytes != int64(buf.Len()) || stats.Bytes != w.Size() {
		t.Errorf("stats say %d bytes, size %d, file has %d", stats.Bytes, w.Size(), buf.Len())
	}
	return buf.Bytes(), stats
}

// readByArrow reads a file by the Arrow project's reader.
func readByArrow(t *testing.T, alloc memory.Allocator, data []byte) arrow.Table {
	t.Helper()
	pf, err := file.NewParquetReader(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("arrow-go opens the file: %v", err)
	}
	r, err := pqarrow.NewFileReader(pf, pqarrow.ArrowReadProperties{BatchSize: 8192}, alloc)
	if err != nil {
		t.Fatalf("arrow-go reads the schema: %v", err)
	}
	tbl, err := r.ReadTable(context.Background())
	if err != nil {
		t.Fatalf("arrow-go reads the file: %v", err)
	}
	return tbl
}

// sameRows compares all values and nulls; where they differ it names the row.
func sameRows(t *testing.T, want []arrow.RecordBatch, got arrow.Table) {
	t.Helper()
	rows := int64(0)
	for _, w := range want {
		rows += w.NumRows()
	}
	if got.NumRows() != rows {
		t.Fatalf("%d rows read, %d written", got.NumRows(), rows)
	}
	for c := range int(got.NumCols()) {
		var w []arrow.Array
		for _, r := range want {
			w = append(w, r.Column(c))
		}
		sameColumn(t, got.Schema().Field(c).Name, w, got.Column(c).Data().Chunks())
	}
}

func sameColumn(t *testing.T, name string, want, got []arrow.Array) {
	t.Helper()
	nonEmpty := func(a arrow.Array) bool { return a.Len() == 0 }
	want, got = slices.DeleteFunc(slices.Clone(want), nonEmpty), slices.DeleteFunc(slices.Clone(got), nonEmpty)
	if len(want) == 0 || len(got) == 0 {
		return
	}
	w, err := array.Concatenate(want, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Release()
	g, err := array.Concatenate(got, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Release()
	if !array.Equal(w, g) { // it also looks at what stands below a null: so look closer, at what is visible
		compareColumns(t, name, w, g)
	}
}

func compareColumns(t *testing.T, name string, want, got arrow.Array) {
	t.Helper()
	for row := range want.Len() {
		if w, g := want.ValueStr(row), got.ValueStr(row); w != g || want.IsNull(row) != got.IsNull(row) {
			t.Fatalf("column %s (%s) row %d: %q read, %q written", name, want.DataType(), row, g, w)
		}
	}
}

func TestArrowReadsEveryTypeInEveryForm(t *testing.T) {
	for _, o := range []arrowparquet.Options{{}, {Encoding: arrowparquet.Plain, Compression: "none"}, {Compression: "zstd"}} {
		for _, rows := range []int{0, 1, 8193} {
			for _, nulls := range []float64{0, 0.3, 1} {
				t.Run(fmt.Sprintf("%v-%d-%d-%v", o.Compression, o.Encoding, rows, nulls), func(t *testing.T) {
					alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
					defer alloc.AssertSize(t, 0)
					rng := rand.New(rand.NewPCG(1, uint64(rows)))
					s := parquettest.AllTypes()
					rec := parquettest.Record(alloc, s, rows, nulls, rng)
					defer rec.Release()
					rec.Retain()
					o.RowGroupRows = 5000
					data, _ := write(t, s, o, rec)
					got := readByArrow(t, memory.DefaultAllocator, data)
					defer got.Release()
					sameRows(t, []arrow.RecordBatch{rec}, got)
				})
			}
		}
	}
}
