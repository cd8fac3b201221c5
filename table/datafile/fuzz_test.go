package datafile

import (
	"encoding/binary"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/internal/corpus"
	"microbatch/internal/heap"
	"microbatch/objstore"
	"microbatch/objstore/mem"
	"microbatch/table/action"
)

// FuzzPartitionDirectory: whatever names and values hold, the path of a partition stays below the table, has one level for each column, and gives
// names and values back.
func FuzzPartitionDirectory(f *testing.F) {
	for _, seed := range []string{"a", "../../etc/passwd", "/", "%2F", "a=b", "\x00", "日本", " ", "\\", ".", "..", "C:", "a:b", nullDirectory, "\u202e", "a\r\nb"} {
		f.Add("c", seed)
		f.Add(seed, "x")
	}
	f.Fuzz(func(t *testing.T, column, value string) {
		if column == "" || value == "" || !utf8.ValidString(column) || !utf8.ValidString(value) {
			return
		}
		dir, err := directory([]string{column, "second"}, []*string{&value, nil})
		if err != nil {
			return // too long
		}
		key := dir + "part-0.parquet"
		if err := objstore.ValidKey(key); err != nil || strings.Count(key, "/") != 2 {
			t.Fatalf("%q=%q makes the key %q: %v", column, value, key, err)
		}
		back, err := action.DecodePath(action.EncodePath(key))
		if err != nil || back != key {
			t.Fatalf("the key %q comes back as %q, %v", key, back, err)
		}
		first, _, _ := strings.Cut(dir, "/")
		name, text, _ := strings.Cut(first, "=")
		name, err1 := url.PathUnescape(name)
		text, err2 := url.PathUnescape(text)
		if err1 != nil || err2 != nil || name != column || text != value {
			t.Fatalf("%q=%q comes back as %q=%q, %v %v", column, value, name, text, err1, err2)
		}
	})
}

// FuzzPartitionValue: the text of a partition value in a log is an error, or a value whose own text is read as the same value again; or not at all, then no
// writer accepts it.
func FuzzPartitionValue(f *testing.F) {
	types := []arrow.DataType{
		arrow.FixedWidthTypes.Boolean, arrow.PrimitiveTypes.Int8, arrow.PrimitiveTypes.Int64, arrow.PrimitiveTypes.Float32, arrow.PrimitiveTypes.Float64,
		arrow.BinaryTypes.String, arrow.FixedWidthTypes.Date32, &arrow.TimestampType{Unit: arrow.Microsecond}, &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"},
		&arrow.Decimal128Type{Precision: 10, Scale: 2}, &arrow.Decimal128Type{Precision: 38, Scale: 0},
	}
	for i, text := range []string{"true", "-128", "9223372036854775807", "NaN", "-Infinity", "a/b", "2024-02-29", "2024-01-01 10:00:00.000001", "2024-01-01T10:00:00.5Z", "-12345.67", "1e400",
		"99999999999999999999999999999999999999", "0001-01-01", "9999-12-31", "290000-01-01 00:00:00", "-0", "0x1p-2", " 1", "2024-01-01 10:00:00+23:59"} {
		f.Add(uint8(i), text)
	}
	f.Fuzz(func(t *testing.T, kind uint8, text string) {
		typ := types[int(kind)%len(types)]
		if !utf8.ValidString(text) {
			return
		}
		a, err := constant(typ, &text, 1, memory.DefaultAllocator)
		if err != nil || a.IsNull(0) {
			return
		}
		defer a.Release()
		own := partitionText(a, 0)
		b, err := constant(typ, own, 1, memory.DefaultAllocator)
		if err != nil {
			rec := array.NewRecordBatch(arrow.NewSchema([]arrow.Field{{Name: "p", Type: typ}}, nil), []arrow.Array{a}, 1)
			defer rec.Release()
			s := newSplitter(rec.Schema(), []string{"p"}, memory.DefaultAllocator)
			if s.readable(piece{values: []*string{own}, rec: rec}) == nil {
				t.Fatalf("%s %q is written as %q, which cannot be read: %v", typ, text, *own, err)
			}
			return
		}
		defer b.Release()
		if again := partitionText(b, 0); again == nil || *again != *own {
			t.Fatalf("%s %q is written as %q, and then as %v", typ, text, *own, again)
		}
	})
}

// FuzzVector: a deletion vector, inline or in a file, is an error or a set that can be walked, in memory bounded by its size.
func FuzzVector(f *testing.F) {
	for _, data := range corpus.Files(f, "../testdata/spark/c_deletion_vectors/table/*.bin") {
		f.Add(data[9:], int64(1))
	}
	f.Add(append(binary.LittleEndian.AppendUint64(nil, 1<<31), 0, 0, 0, 0, 0), int64(1))
	f.Add(append(binary.LittleEndian.AppendUint64(nil, 1<<62), 0, 0, 0, 0, 0), int64(1))
	f.Fuzz(func(t *testing.T, data []byte, cardinality int64) {
		heap.AtMost(t, 1<<20+100*int64(len(data)), "a vector", func() {
			rows, err := parseVector(data)
			if err != nil {
				return
			}
			n := 0
			for it := rows.Iterator(); it.HasNext() && n < 1000; n++ {
				if row := it.Next(); !rows.Contains(row) || !overlaps(rows, row, row+1) {
					t.Fatalf("row %d is in the set and is not", row)
				}
			}
		})
	})
}

// FuzzVectorOfALog: a deletion vector as a log describes it never names a file outside of the table, and reading it is never a panic.
func FuzzVectorOfALog(f *testing.F) {
	f.Add("u", "ab^-aqEH.-t@S}K{vb[*k^", int32(maxVectorBytes), int32(1), int64(2))
	f.Add("p", "/etc/passwd", int32(34), int32(1), int64(2))
	f.Add("i", "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", int32(40), int32(0), int64(6))
	f.Add("u", "../../../vBn[lx{q8@P<9BNH/isA", int32(1<<31-1), int32(-1), int64(-1))
	store := mem.New()
	if err := store.Put(f.Context(), "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin", []byte("short")); err != nil { // the one of the first seed
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, storage, path string, size, offset int32, cardinality int64) {
		v := &action.DeletionVector{Storage: storage, Path: path, Size: size, Offset: &offset, Cardinality: cardinality}
		key, err := VectorKey(v)
		if err == nil && key != "" {
			if err := objstore.ValidKey(key); err != nil {
				t.Fatalf("%q names %q", path, key)
			}
		}
		heap.AtMost(t, 1<<20+100*int64(len(path)), "a vector", func() {
			if _, err := readVector(t.Context(), store, v); err == nil && storage != "i" {
				t.Fatal("a vector was read that is not there")
			}
		})
	})
}
