package column

import (
	"fmt"
	"math/rand"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"microbatch/schema"
)

func parseDDL(t testing.TB, ddl string) *arrow.Schema {
	t.Helper()
	s, err := schema.ParseDDL(ddl)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// appendRandom appends a random value and returns it as Arrow shows it.
func appendRandom(rng *rand.Rand, c *Column) string {
	if rng.Intn(5) == 0 {
		c.AppendNull()
		return array.NullValueStr
	}
	switch n := rng.Intn(100); c.Kind() {
	case Bool:
		c.AppendBool(n > 50)
		return fmt.Sprint(n > 50)
	case Int8, Int16, Int32, Int64:
		c.AppendInt(int64(n))
		return fmt.Sprint(n)
	case Float32, Float64:
		c.AppendFloat(float64(n) + 0.5)
		return fmt.Sprintf("%d.5", n)
	case Decimal:
		c.AppendDecimal(decimal128.FromI64(int64(1000 + n)))
		return fmt.Sprintf("%d.%02d", (1000+n)/100, (1000+n)%100)
	case Date:
		c.AppendText([]byte("2024-05-01"))
		return "2024-05-01"
	case Timestamp:
		c.AppendText([]byte("2024-05-01T12:34:56Z"))
		return "2024-05-01T12:34:56Z"
	case TimestampNTZ:
		c.AppendText([]byte("2024-05-01T12:34:56"))
		return "2024-05-01T12:34:56"
	case String:
		text := fmt.Sprintf("%0*d", n%7+1, n)
		copy(c.Tail(n), text)
		copy(c.Tail(len(text)), text)
		c.CommitTail(len(text))
		return text
	case Binary:
		c.AppendBase64([]byte("AQID"))
		return "AQID"
	case List:
		text := ""
		for range n % 4 {
			text += appendRandom(rng, c.Kids()[0]) + ","
		}
		c.AppendList()
		return "[" + text + "]"
	case Map:
		text := ""
		for i := range n % 4 {
			c.Kids()[0].Kids()[0].AppendBytes([]byte{byte('a' + i)})
			text += appendRandom(rng, c.Kids()[0].Kids()[1]) + ","
			c.Kids()[0].AppendStruct()
		}
		c.AppendList()
		return "{" + text + "}"
	}
	text := ""
	for _, kid := range c.Kids() {
		text += appendRandom(rng, kid) + ","
	}
	c.AppendStruct()
	return "(" + text + ")"
}

// shown is a value of an array in the form of appendRandom.
func shown(a arrow.Array, i int) string {
	if a.IsNull(i) {
		return array.NullValueStr
	}
	text := ""
	switch a := a.(type) {
	case *array.Decimal128:
		return a.Value(i).ToString(2)
	case *array.Map:
		from, to := a.ValueOffsets(i)
		for k := from; k < to; k++ {
			text += shown(a.Items(), int(k)) + ","
		}
		return "{" + text + "}"
	case *array.List:
		from, to := a.ValueOffsets(i)
		for k := from; k < to; k++ {
			text += shown(a.ListValues(), int(k)) + ","
		}
		return "[" + text + "]"
	case *array.Struct:
		for k := range a.NumField() {
			text += shown(a.Field(k), i) + ","
		}
		return "(" + text + ")"
	}
	return a.ValueStr(i)
}

// TestTakingRowsBack appends rows, takes some back, also half appended ones, and flushes now and then: what comes out is what was left (C1, C2).
func TestTakingRowsBack(t *testing.T) {
	alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer alloc.AssertSize(t, 0)
	s := parseDDL(t, `b BOOLEAN, i8 TINYINT, i16 SMALLINT, i INT, l BIGINT, f FLOAT, d DOUBLE, x DECIMAL(10,2), s STRING, bin BINARY, dt DATE, ts TIMESTAMP, tn TIMESTAMP_NTZ,
		a ARRAY<STRING>, m MAP<STRING, INT>, st STRUCT<x: INT, y: ARRAY<STRUCT<z: BOOLEAN>>>, e STRUCT<m: MAP<STRING, ARRAY<INT>>>`)
	cols, err := New(s, alloc)
	if err != nil {
		t.Fatal(err)
	}
	defer cols.Release()
	rng := rand.New(rand.NewSource(1))
	for range 30 {
		var want [][]string
		for range rng.Intn(500) {
			row := make([]string, len(cols.Cols()))
			for i, c := range cols.Cols() {
				if row[i] = appendRandom(rng, c); rng.Intn(100) == 0 {
					row = nil // half a row
					break
				}
			}
			switch {
			case row == nil:
				cols.Truncate(len(want))
			case rng.Intn(50) == 0:
				want = want[:rng.Intn(len(want)+1)]
				cols.Truncate(len(want))
			default:
				want = append(want, row)
			}
		}
		record := cols.Flush(len(want))
		for r := range want {
			var got []string
			for _, col := range record.Columns() {
				got = append(got, shown(col, r))
			}
			if diff := cmp.Diff(want[r], got); diff != "" {
				t.Fatalf("row %d of %d:\n%s", r, len(want), diff)
			}
		}
		for i, col := range record.Columns() {
			if err := validate(col); err != nil {
				t.Fatalf("column %d: %v", i, err)
			}
		}
		record.Release()
	}
}

// validate checks an array's null count against its bits.
func validate(a arrow.Array) error {
	nulls := 0
	for i := range a.Len() {
		if a.IsNull(i) {
			nulls++
		}
	}
	if nulls != a.NullN() {
		return fmt.Errorf("%d nulls are counted as %d", nulls, a.NullN())
	}
	return nil
}

// TestReleaseWithRows frees what was never flushed.
func TestReleaseWithRows(t *testing.T) {
	alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer alloc.AssertSize(t, 0)
	cols, err := New(parseDDL(t, "s STRING, l ARRAY<ARRAY<INT>>"), alloc)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewSource(1))
	for range 100 {
		for _, c := range cols.Cols() {
			appendRandom(rng, c)
		}
	}
	cols.Release()
}

// TestUnknownTypeNamesTheColumn refuses types that are not package schema's.
func TestUnknownTypeNamesTheColumn(t *testing.T) {
	s := arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.ListOf(arrow.FixedWidthTypes.Duration_s)}}, nil)
	if _, err := New(s, memory.DefaultAllocator); err == nil || err.Error() != "column x: column item: the type duration[s] cannot be decoded into" {
		t.Errorf("got %v", err)
	}
}

// TestDateArithmetic walks over every day of the calendar.
func TestDateArithmetic(t *testing.T) {
	day := int64(-719162) // 0001-01-01
	for year := int64(1); year <= 9999; year++ {
		for month := int64(1); month <= 12; month++ {
			n := daysIn(year, month)
			if _, ok := civil(year, month, n+1); ok || n < 28 || n > 31 {
				t.Fatalf("%d-%d has %d days", year, month, n)
			}
			for d := int64(1); d <= n; d++ {
				if got, ok := civil(year, month, d); !ok || got != day {
					t.Fatalf("%d-%d-%d is day %d, not %d", year, month, d, got, day)
				}
				day++
			}
		}
	}
	if day != 2932897 { // 10000-01-01
		t.Errorf("the calendar ends at %d", day)
	}
}

// TestTimestampsWithAMemory: what a column reads at once, and with the minute of the row before, is what ParseTimestamp reads.
func TestTimestampsWithAMemory(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	c, err := newColumn(arrow.Field{Name: "ts", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}}, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	good := 0
	for range 200_000 {
		text := fmt.Appendf(nil, "2024-05-01T12:%02d:%02d.%06dZ", rng.Intn(2), rng.Intn(62), rng.Intn(1_000_000))
		switch rng.Intn(4) {
		case 0:
			text[rng.Intn(len(text))] = "0123456789:.Z+-T \x2f\x3a\xb0"[rng.Intn(20)]
		case 1:
			text = text[:20+rng.Intn(7)]
		case 2:
			text = append(text[:19+rng.Intn(8)], "+01:30"...)
		}
		micros, zoned, ok := c.parseTimestamp(text)
		wantMicros, wantZoned, wantOK := ParseTimestamp(text)
		if ok != wantOK || ok && (micros != wantMicros || zoned != wantZoned) {
			t.Fatalf("%q: %d %v %v, want %d %v %v", text, micros, zoned, ok, wantMicros, wantZoned, wantOK)
		}
		if ok {
			good++
		}
	}
	if good < 100_000 {
		t.Errorf("only %d were good ones", good)
	}
}
