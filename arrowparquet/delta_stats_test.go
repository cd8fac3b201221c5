package arrowparquet_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"microbatch/arrowparquet"
	"microbatch/schema"
)

// record makes a record from JSON rows.
func record(t *testing.T, alloc memory.Allocator, ddl, rows string) (*arrow.Schema, arrow.RecordBatch) {
	t.Helper()
	s, err := schema.ParseDDL(ddl)
	if err != nil {
		t.Fatal(err)
	}
	rec, _, err := array.RecordFromJSON(alloc, s, strings.NewReader(rows))
	if err != nil {
		t.Fatal(err)
	}
	return s, rec
}

func deltaStats(t *testing.T, ddl, rows string, o arrowparquet.Options) string {
	t.Helper()
	s, rec := record(t, memory.DefaultAllocator, ddl, rows)
	_, stats := write(t, s, o, rec)
	text := stats.DeltaJSON()
	var any map[string]any
	if err := json.Unmarshal([]byte(text), &any); err != nil {
		t.Fatalf("%s is no JSON: %v", text, err)
	}
	return text
}

func TestDeltaStatsOfEveryType(t *testing.T) {
	ddl := `b BOOLEAN, i8 TINYINT, i64 BIGINT, f DOUBLE, f32 FLOAT, d DECIMAL(9,2), d38 DECIMAL(38,3), s STRING, bin BINARY, dt DATE, ts TIMESTAMP, ntz TIMESTAMP_NTZ,
		l ARRAY<INT>, m MAP<STRING,INT>, st STRUCT<x: INT, y: STRUCT<z: STRING>>, empty INT`
	rows := `[
		{"b":true,"i8":-3,"i64":9007199254740993,"f":1.5,"f32":0.1,"d":"-12.30","d38":"-12345678901234567890123456789.125","s":"b","bin":"YQ==","dt":"2021-09-08","ts":"2024-01-01T10:00:00.000001Z","ntz":"1969-12-31T23:59:59.999999","l":[1],"m":[{"key":"a","value":1}],"st":{"x":1,"y":{"z":"q"}},"empty":null},
		{"b":false,"i8":4,"i64":-1,"f":-2.25e300,"f32":7,"d":"0.05","d38":"1.000","s":"a","bin":"YQ==","dt":"1969-12-31","ts":"2024-01-01T10:00:00.000000Z","ntz":"1969-12-31T23:59:59.999999","l":[],"m":[],"st":{"x":null,"y":null},"empty":null},
		{"b":null,"i8":null,"i64":null,"f":null,"f32":null,"d":null,"d38":null,"s":null,"bin":null,"dt":null,"ts":null,"ntz":null,"l":null,"m":null,"st":null,"empty":null}]`
	want := `{"numRecords":3,` +
		`"minValues":{"i8":-3,"i64":-1,"f":-2.25e+300,"f32":0.1,"d":-12.30,"d38":-12345678901234567890123456789.125,"s":"a","dt":"1969-12-31","ts":"2024-01-01T10:00:00.000Z","ntz":"1969-12-31T23:59:59.999","st":{"x":1,"y":{"z":"q"}}},` +
		`"maxValues":{"i8":4,"i64":9007199254740993,"f":1.5,"f32":7,"d":0.05,"d38":1.000,"s":"b","dt":"2021-09-08","ts":"2024-01-01T10:00:00.001Z","ntz":"1970-01-01T00:00:00.000","st":{"x":1,"y":{"z":"q"}}},` +
		`"nullCount":{"b":1,"i8":1,"i64":1,"f":1,"f32":1,"d":1,"d38":1,"s":1,"bin":1,"dt":1,"ts":1,"ntz":1,"l":1,"m":1,"st":{"x":2,"y":{"z":2}},"empty":3}}`
	for _, o := range []arrowparquet.Options{{}, {Encoding: arrowparquet.Plain}, {RowGroupRows: 1}} {
		if diff := cmp.Diff(want, deltaStats(t, ddl, rows, o)); diff != "" {
			t.Errorf("options %+v (-want +got):\n%s", o, diff)
		}
	}
}

func TestDeltaStatsLeaveOutNaNAndInfinity(t *testing.T) {
	s, err := schema.ParseDDL("nan DOUBLE, inf DOUBLE, f FLOAT")
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	nan, inf := nan(), infinity()
	b.Field(0).(*array.Float64Builder).AppendValues([]float64{1, nan, 3}, nil)
	b.Field(1).(*array.Float64Builder).AppendValues([]float64{1, inf, 3}, nil)
	b.Field(2).(*array.Float32Builder).AppendValues([]float32{1, 2, float32(nan)}, nil)
	_, stats := write(t, s, arrowparquet.Options{}, b.NewRecordBatch())
	want := `{"numRecords":3,"minValues":{},"maxValues":{},"nullCount":{"nan":0,"inf":0,"f":0}}`
	if got := stats.DeltaJSON(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if c := stats.Columns[0]; !c.NaN || c.Min != nil {
		t.Errorf("the NaN was not seen: %+v", c)
	}
}

// The rule for strings (Spark: StatisticsCollection): the first 32 UTF-16 units are the minimum; the maximum is raised behind them.
func TestDeltaStatsCutStrings(t *testing.T) {
	a31, a32 := strings.Repeat("a", 31), strings.Repeat("a", 32)
	last, smile := "\U0010ffff", "😀"
	for _, c := range []struct{ name, value, lower, upper string }{
		{"short", "abc", "abc", "abc"},
		{"of exactly 32", a32, a32, a32},
		{"longer", a32 + "bcd", a32, a32 + "\u007f"},
		{"next character above 0x7f", a32 + "é", a32, a32 + last},
		{"next character is 0x7f", a32 + "\u007fx", a32, a32 + last},
		{"next character is the last one", a32 + last + "b", a32, a32 + last + "\u007f"},
		{"a pair that would be split", a31 + smile + "bc", a31, a31 + smile + "\u007f"},
		{"a pair at the end", a31 + smile, a31, a31 + smile},
		{"nothing but the last character", strings.Repeat(last, 40), strings.Repeat(last, 16), ""},
		{"the empty string", "", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			value, err := json.Marshal(c.value)
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				MinValues, MaxValues map[string]string
			}
			if err := json.Unmarshal([]byte(deltaStats(t, "s STRING", fmt.Sprintf(`[{"s":%s}]`, value), arrowparquet.Options{})), &got); err != nil {
				t.Fatal(err)
			}
			if lower := got.MinValues["s"]; lower != c.lower {
				t.Errorf("minimum %q, want %q", lower, c.lower)
			}
			if upper, ok := got.MaxValues["s"]; upper != c.upper || ok != (c.upper != "" || c.value == "") {
				t.Errorf("maximum %q (%t), want %q", upper, ok, c.upper)
			}
		})
	}
}

// The maximum of a column of "valid until for ever" cannot be rounded up to a millisecond of a year with four digits.
func TestDeltaStatsOfTheLastMillisecond(t *testing.T) {
	rows := `[{"ts":"9999-12-31T23:59:59.999999Z","ntz":"9999-12-31T23:59:59.999001"},{"ts":"9999-12-31T23:59:59.999Z","ntz":"9999-12-31T23:59:59.998001"}]`
	want := `{"numRecords":2,"minValues":{"ts":"9999-12-31T23:59:59.999Z","ntz":"9999-12-31T23:59:59.998"},` +
		`"maxValues":{"ts":"9999-12-31T23:59:59.999999Z","ntz":"9999-12-31T23:59:59.999001"},"nullCount":{"ts":0,"ntz":0}}`
	if got := deltaStats(t, "ts TIMESTAMP, ntz TIMESTAMP_NTZ", rows, arrowparquet.Options{}); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A string beyond what is kept of a bound must neither be cut in the middle of a character nor get into the footer.
func TestLongStringsAreBoundsInDeltaOnly(t *testing.T) {
	long := strings.Repeat("é", 3000)
	s, rec := record(t, memory.DefaultAllocator, "s STRING", fmt.Sprintf(`[{"s":%q},{"s":"a"}]`, "x"+long))
	data, stats := write(t, s, arrowparquet.Options{}, rec)
	want := fmt.Sprintf(`{"numRecords":2,"minValues":{"s":"a"},"maxValues":{"s":"x%s%s"},"nullCount":{"s":0}}`, strings.Repeat("é", 31), "\U0010ffff")
	if got := stats.DeltaJSON(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if c := open(t, data).RowGroups()[0].Columns[0]; c.Min != nil || c.Max != nil {
		t.Errorf("the footer has bounds: %+v", c)
	}
}

func TestDeltaStatsOfTheFirstColumnsOnly(t *testing.T) {
	ddl, rows := "a INT, m MAP<STRING,INT>, s STRUCT<x: INT, y: INT>, z INT", `[{"a":1,"m":[],"s":{"x":2,"y":3},"z":4}]`
	for n, want := range map[int]string{
		1:  `{"numRecords":1,"minValues":{"a":1},"maxValues":{"a":1},"nullCount":{"a":0}}`,
		3:  `{"numRecords":1,"minValues":{"a":1,"s":{"x":2}},"maxValues":{"a":1,"s":{"x":2}},"nullCount":{"a":0,"m":0,"s":{"x":0}}}`,
		-1: `{"numRecords":1,"minValues":{"a":1,"s":{"x":2,"y":3},"z":4},"maxValues":{"a":1,"s":{"x":2,"y":3},"z":4},"nullCount":{"a":0,"m":0,"s":{"x":0,"y":0},"z":0}}`,
	} {
		if got := deltaStats(t, ddl, rows, arrowparquet.Options{StatsColumns: n}); got != want {
			t.Errorf("%d columns: got  %s\nwant %s", n, got, want)
		}
	}
	wide := make([]string, 40)
	for i := range wide {
		wide[i] = fmt.Sprintf("c%d INT", i)
	}
	if got := deltaStats(t, strings.Join(wide, ", "), "[{}]", arrowparquet.Options{}); !strings.Contains(got, `"c31":1`) || strings.Contains(got, `"c32"`) {
		t.Errorf("32 columns are indexed by default: %s", got)
	}
}
