package arrowparquet_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/parquet-go/parquet-go"

	"microbatch/arrowparquet"
	"microbatch/arrowparquet/parquettest"
)

// parquet-go's own reader, which shares no code with ours above the encodings, must find the same values in every flat column, and as many entries in nested
// ones.
func TestParquetGoReadsEveryType(t *testing.T) {
	for _, o := range []arrowparquet.Options{{}, {Encoding: arrowparquet.Plain, Compression: "none"}, {Compression: "zstd"}} {
		s := parquettest.AllTypes()
		rec := parquettest.Record(memory.DefaultAllocator, s, 9000, 0.2, rand.New(rand.NewPCG(4, 4)))
		defer rec.Release()
		rec.Retain()
		o.RowGroupRows = 5000
		data, _ := write(t, s, o, rec)
		f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		if f.NumRows() != 9000 {
			t.Errorf("%d rows", f.NumRows())
		}
		flat := len(s.Fields()) - 6
		for i := range flat {
			got := leafValues(t, f, i)
			if len(got) != 9000 {
				t.Fatalf("column %s: %d values", s.Field(i).Name, len(got))
			}
			for row, v := range got {
				if want := plainText(rec.Column(i), row); want != "" && v != want {
					t.Fatalf("column %s row %d: parquet-go reads %s, %s was written", s.Field(i).Name, row, v, want)
				}
			}
		}
		for i := flat; i < len(f.RowGroups()[0].ColumnChunks()); i++ {
			if len(leafValues(t, f, i)) < 9000 {
				t.Errorf("leaf %d has fewer entries than rows", i)
			}
		}
	}
}

// leafValues are the values of a leaf as text.
func leafValues(t *testing.T, f *parquet.File, leaf int) []string {
	t.Helper()
	var out []string
	buf := make([]parquet.Value, 1000)
	for _, g := range f.RowGroups() {
		pages := g.ColumnChunks()[leaf].Pages()
		for {
			page, err := pages.ReadPage()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("leaf %d: %v", leaf, err)
			}
			values := page.Values()
			for {
				n, err := values.ReadValues(buf)
				for _, v := range buf[:n] {
					out = append(out, v.String())
				}
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatalf("leaf %d: %v", leaf, err)
				}
			}
			parquet.Release(page)
		}
		if err := pages.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// plainText is what parquet-go prints for a value; "" for types that it prints in a way of its own.
func plainText(a arrow.Array, row int) string {
	if a.IsNull(row) {
		return "<null>"
	}
	switch a := a.(type) {
	case *array.Boolean, *array.Int8, *array.Int16, *array.Int32, *array.Int64:
		return a.ValueStr(row)
	case *array.String:
		return a.Value(row)
	case *array.Binary:
		return string(a.Value(row))
	case *array.Timestamp:
		return fmt.Sprint(int64(a.Value(row)))
	case *array.Date32:
		return fmt.Sprint(int32(a.Value(row)))
	}
	return ""
}

// TestParquetGoReadsRowGroupsOfOneCompression: the second row group would not gain by compression. parquet-go takes the compression of a column's first chunk for that of all.
func TestParquetGoReadsRowGroupsOfOneCompression(t *testing.T) {
	s := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.BinaryTypes.String}}, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	defer b.Release()
	for i := range 101 {
		text := "the same text in many rows"
		if i == 100 {
			text = "p4xQ!z"
		}
		b.Field(0).(*array.StringBuilder).Append(text)
	}
	all := b.NewRecordBatch()
	defer all.Release()
	data, _ := write(t, s, arrowparquet.Options{Encoding: arrowparquet.Plain, RowGroupRows: 100, OneCompression: true}, all.NewSlice(0, 100), all.NewSlice(100, 101))
	f, err := parquet.OpenFile(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if len(f.RowGroups()) != 2 {
		t.Fatalf("%d row groups", len(f.RowGroups()))
	}
	if got := leafValues(t, f, 0); len(got) != 101 || got[100] != "p4xQ!z" {
		t.Errorf("%d values", len(got))
	}
}
