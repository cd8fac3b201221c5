package datafile

import (
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/ident"
	"microbatch/internal/errcode"
)

func shardOf(i, n int) ident.Shard { return ident.Shard{Index: i, Count: n} }

func TestPartitionTexts(t *testing.T) {
	tests := []struct {
		typ  arrow.DataType
		text string // as a value is read from and written again
		dir  string
	}{
		{arrow.PrimitiveTypes.Int8, "-128", "c=-128/"},
		{arrow.PrimitiveTypes.Int64, "9223372036854775807", "c=9223372036854775807/"},
		{arrow.FixedWidthTypes.Boolean, "true", "c=true/"},
		{arrow.FixedWidthTypes.Date32, "2021-09-08", "c=2021-09-08/"},
		{&arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}, "2024-01-01T10:00:00.000000Z", "c=2024-01-01T10%3A00%3A00.000000Z/"},
		{&arrow.TimestampType{Unit: arrow.Microsecond}, "2024-01-01 10:00:00.000001", "c=2024-01-01%2010%3A00%3A00.000001/"},
		{&arrow.Decimal128Type{Precision: 9, Scale: 2}, "-12345.67", "c=-12345.67/"},
		{arrow.PrimitiveTypes.Float64, "NaN", "c=NaN/"},
		{arrow.PrimitiveTypes.Float64, "-0", "c=-0/"},
		{arrow.PrimitiveTypes.Float64, "-Infinity", "c=-Infinity/"},
		{arrow.PrimitiveTypes.Float32, "0.1", "c=0.1/"},
		{arrow.BinaryTypes.String, "a/b", "c=a%2Fb/"},
		{arrow.BinaryTypes.String, "..", "c=../"},
		{arrow.BinaryTypes.String, "日本", "c=日本/"},
		{arrow.BinaryTypes.String, "x\x00", "c=x%00/"},
	}
	for _, test := range tests {
		a, err := constant(test.typ, &test.text, 1, memory.DefaultAllocator)
		if err != nil {
			t.Fatalf("%s %q: %v", test.typ, test.text, err)
		}
		got := partitionText(a, 0)
		if got == nil || *got != test.text {
			t.Errorf("%s %q is written as %v", test.typ, test.text, got)
			continue
		}
		if dir, err := directory([]string{"c"}, []*string{got}); err != nil || dir != test.dir {
			t.Errorf("%s %q: directory %q, %v; want %q", test.typ, test.text, dir, err, test.dir)
		}
	}
	for _, null := range []*string{nil, new(string)} {
		a, err := constant(arrow.BinaryTypes.String, null, 1, memory.DefaultAllocator)
		if err != nil || !a.IsNull(0) {
			t.Errorf("null: %v, %v", a, err)
		}
	}
	if dir, err := directory([]string{"a b", "c"}, []*string{nil, nil}); err != nil || dir != "a%20b=__HIVE_DEFAULT_PARTITION__/c=__HIVE_DEFAULT_PARTITION__/" {
		t.Errorf("nulls: %q, %v", dir, err)
	}
}

// TestTimestampsOfOtherWriters reads the forms that Spark has used.
func TestTimestampsOfOtherWriters(t *testing.T) {
	utc := &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}
	for text, want := range map[string]arrow.Timestamp{
		"2024-01-01 10:00:00": 1_704_103_200_000_000, "2024-01-01 10:00:00.5": 1_704_103_200_500_000, "2024-01-01T10:00:00.000000Z": 1_704_103_200_000_000,
		"2024-01-01 10:00:00.123456": 1_704_103_200_123_456,
	} {
		a, err := constant(utc, &text, 1, memory.DefaultAllocator)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if got := a.(*array.Timestamp).Value(0); got != want {
			t.Errorf("%q is %d, want %d", text, got, want)
		}
	}
}

// TestAPartitionValueThatNoDirectoryCanHold: the names of a file system end at 255 bytes.
func TestAPartitionValueThatNoDirectoryCanHold(t *testing.T) {
	for value, fits := range map[string]bool{strings.Repeat("x", 200): true, strings.Repeat("x", 300): false, strings.Repeat("/", 100): false} {
		_, err := directory([]string{"c"}, []*string{&value})
		if fits && err != nil || !fits && !errcode.Has(err, errcode.TablePartitionValue) {
			t.Errorf("%d bytes: %v", len(value), err)
		}
	}
}
