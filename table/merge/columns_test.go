package merge

import (
	"bytes"
	"cmp"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/schema"
)

// recordOf makes a record of rows of words; - is null and ” an empty string.
func recordOf(t testing.TB, ddl string, lines ...string) arrow.RecordBatch {
	t.Helper()
	s, err := schema.ParseDDL(ddl)
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	defer b.Release()
	for _, line := range lines {
		for i, word := range strings.Fields(line) {
			switch word {
			case "-":
				b.Field(i).AppendNull()
			case "''":
				b.Field(i).(*array.StringBuilder).Append("")
			default:
				if err := b.Field(i).AppendValueFromString(word); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return b.NewRecordBatch()
}

// TestBytesAreOrderedAsValues: in each type the bytes of values stand in the order of the values, with nulls first.
func TestBytesAreOrderedAsValues(t *testing.T) {
	for _, test := range []struct{ ddl, ascending string }{
		{"a BOOLEAN", "- false true"},
		{"a TINYINT", "- -128 -1 0 1 127"},
		{"a SMALLINT", "- -32768 -1 0 1 32767"},
		{"a INT", "- -2147483648 -1 0 1 2147483647"},
		{"a BIGINT", "- -9223372036854775808 -1 0 1 9223372036854775807"},
		{"a DOUBLE", "- -Inf -1e300 -1 -1e-300 0 1e-300 1 1e300 +Inf NaN"},
		{"a FLOAT", "- -Inf -1.5 0 1.5 +Inf NaN"},
		{"a DECIMAL(38,2)", "- -999999999999999999999999999999999999.99 -1.01 -1 0 0.01 18446744073709551616 999999999999999999999999999999999999.99"},
		{"a DATE", "- 0001-01-01 1969-12-31 1970-01-01 2026-01-01"},
		{"a TIMESTAMP", "- 1969-12-31T23:59:59.999999Z 1970-01-01T00:00:00Z 2026-01-01T00:00:00.000001Z"},
		{"a STRING", "- '' a a\x00 a\x00a a\x00b a\x01 aa ab b ä \U0010ffff"},
	} {
		rec := recordOf(t, test.ddl, strings.Fields(test.ascending)...)
		c, err := NewColumns(rec.Schema(), []string{"A"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		encode, err := c.encoder(rec)
		if err != nil {
			t.Fatal(err)
		}
		for row := 1; row < int(rec.NumRows()); row++ {
			if before, after := encode(nil, row-1), encode(nil, row); bytes.Compare(before, after) >= 0 {
				t.Errorf("%s: row %d, % x, is not behind % x", test.ddl, row, after, before)
			}
		}
	}
}

// TestColumnsAreComparedOneAfterTheOther: random rows of three columns stand in the order of their values.
func TestColumnsAreComparedOneAfterTheOther(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	texts := []string{"", "a", "a\x00", "\x00", "ab", "\xff"}
	for range 300 {
		b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema([]arrow.Field{
			{Name: "a", Type: arrow.BinaryTypes.Binary, Nullable: true}, {Name: "b", Type: arrow.PrimitiveTypes.Int32}, {Name: "c", Type: arrow.BinaryTypes.Binary},
		}, nil))
		type row struct {
			a    string
			null bool
			b    int32
			c    string
		}
		var rows [2]row
		for i := range rows {
			rows[i] = row{texts[random.IntN(len(texts))], random.IntN(4) == 0, int32(random.IntN(3) - 1), texts[random.IntN(len(texts))]}
			if rows[i].null {
				b.Field(0).AppendNull()
			} else {
				b.Field(0).(*array.BinaryBuilder).Append([]byte(rows[i].a))
			}
			b.Field(1).(*array.Int32Builder).Append(rows[i].b)
			b.Field(2).(*array.BinaryBuilder).Append([]byte(rows[i].c))
		}
		rec := b.NewRecordBatch()
		c, err := NewColumns(rec.Schema(), []string{"a", "b", "c"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		encode, err := c.encoder(rec)
		if err != nil {
			t.Fatal(err)
		}
		key := func(r row) string { // null before all texts
			if r.null {
				return ""
			}
			return "x" + r.a
		}
		want := cmp.Or(cmp.Compare(key(rows[0]), key(rows[1])), cmp.Compare(rows[0].b, rows[1].b), cmp.Compare(rows[0].c, rows[1].c))
		x, y := encode(nil, 0), encode(nil, 1)
		if got := bytes.Compare(x, y); got != want {
			t.Fatalf("%+v and %+v: %d, want %d", rows[0], rows[1], got, want)
		}
		for i, n := 0, 0; i < len(x); i, n = i+first(x[i:], c.types[n]), n+1 {
			if n == 3 {
				t.Fatalf("% x does not come apart into three values", x)
			}
		}
	}
}

func TestEqualNumbersAreOneInAnOrder(t *testing.T) {
	if a, b := appendFloat(nil, 0), appendFloat(nil, math.Copysign(0, -1)); !bytes.Equal(a, b) {
		t.Error("zeros differ")
	}
	if a, b := appendFloat(nil, math.NaN()), appendFloat(nil, math.Float64frombits(0xfff8000000000001)); !bytes.Equal(a, b) {
		t.Error("NaNs differ")
	}
}

// TestRowsAreEqualOnlyIfAllTheirValuesAre, nested ones too.
func TestRowsAreEqualOnlyIfAllTheirValuesAre(t *testing.T) {
	s, err := schema.ParseDDL("a ARRAY<STRING>, m MAP<STRING, INT>, s STRUCT<x: INT, y: STRING>, d DOUBLE")
	if err != nil {
		t.Fatal(err)
	}
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, s, strings.NewReader(`[
		{"a": ["x", "y"], "m": [{"key": "k", "value": 1}], "s": {"x": 1, "y": "a"}, "d": 1.5},
		{"a": ["xy"],     "m": [{"key": "k", "value": 1}], "s": {"x": 1, "y": "a"}, "d": 1.5},
		{"a": ["x", "y"], "m": [{"key": "k", "value": 2}], "s": {"x": 1, "y": "a"}, "d": 1.5},
		{"a": ["x", "y"], "m": [{"key": "k", "value": 1}], "s": {"x": null, "y": "a"}, "d": 1.5},
		{"a": ["x", "y"], "m": [{"key": "k", "value": 1}], "s": null, "d": 1.5},
		{"a": null,       "m": [{"key": "k", "value": 1}], "s": {"x": 1, "y": "a"}, "d": 1.5},
		{"a": [],         "m": [{"key": "k", "value": 1}], "s": {"x": 1, "y": "a"}, "d": 1.5},
		{"a": ["x", "y"], "m": null,                       "s": {"x": 1, "y": "a"}, "d": 1.25},
		{"a": ["x", "y"], "m": [{"key": "k", "value": 1}], "s": {"x": 1, "y": "a"}, "d": 1.5}]`))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for row := range int(rec.NumRows()) {
		content, err := appendRow(nil, rec, row)
		if err != nil {
			t.Fatal(err)
		}
		same, ok := seen[string(content)]
		if last := row == int(rec.NumRows())-1; ok != last || last && same != 0 {
			t.Errorf("row %d is taken for row %d: %v", row, same, ok)
		}
		seen[string(content)] = row
		sliced := rec.NewSlice(int64(row), int64(row)+1)
		if again, err := appendRow(nil, sliced, 0); err != nil || !bytes.Equal(content, again) {
			t.Errorf("row %d is another in a slice: %v", row, err)
		}
	}
}
