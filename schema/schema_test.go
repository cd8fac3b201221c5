package schema

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/cockroachdb/datadriven"
)

// The scripts in testdata explain themselves. Commands:
//
//	ddl          parse DDL; print it again, canonically, and as Delta's schema JSON; both are parsed back
//	delta        read Delta's schema JSON; print it as DDL, and what metadata it carried
//	merge [add]  two schemas in DDL, separated by a line "--": the table's, the rows'
//	names        check the names of a schema
func TestSchemaScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "ddl":
				return runDDL(t, d.Input)
			case "delta":
				return runDelta(d.Input)
			case "merge":
				return runMerge(t, d.Input, d.HasArg("add"))
			case "names":
				return runNames(t, d.Input)
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	})
}

func runDDL(t *testing.T, text string) string {
	s, err := ParseDDL(text)
	if err != nil {
		var e *DDLError
		if !errors.As(err, &e) {
			t.Fatalf("%v is no *DDLError", err)
		}
		return fmt.Sprintf("%s\n%s^\nerror: %v", strings.ReplaceAll(text, "\n", " "), strings.Repeat(" ", max(0, e.Column-1)), err)
	}
	ddl := FormatDDL(s)
	again, err := ParseDDL(ddl)
	if err != nil || !again.Equal(s) {
		t.Errorf("%s\nis not parsed back: %v", ddl, err)
	}
	text, err = ToDelta(s)
	if err != nil {
		return ddl + "\nerror: " + err.Error()
	}
	back, err := FromDelta(text)
	if err != nil || !back.Equal(s) {
		t.Errorf("%s\nis not read back: %v", text, err)
	}
	return ddl + "\n" + text
}

func runDelta(text string) string {
	s, err := FromDelta(text)
	if err != nil {
		return "error: " + err.Error()
	}
	out := FormatDDL(s)
	back, err := ToDelta(s)
	if err != nil {
		return out + "\nerror: " + err.Error()
	}
	if back == strings.TrimSpace(text) {
		return out + "\nwritten back: the same"
	}
	return out + "\nwritten back: " + back
}

func runMerge(t *testing.T, text string, add bool) string {
	table, rows, ok := strings.Cut(text, "--")
	if !ok {
		t.Fatal("merge needs a line --")
	}
	merged, err := Merge(mustParse(t, table), mustParse(t, rows), add)
	if err != nil {
		return "error:\n" + err.Error()
	}
	return FormatDDL(merged)
}

func runNames(t *testing.T, text string) string {
	s, err := FromDelta(text)
	if err != nil {
		s = mustParse(t, text)
	}
	if err := CheckNames(s); err != nil {
		return err.Error()
	}
	return "ok"
}

func mustParse(t *testing.T, ddl string) *arrow.Schema {
	t.Helper()
	s, err := ParseDDL(strings.TrimSpace(ddl))
	if err != nil {
		t.Fatalf("%s: %v", ddl, err)
	}
	return s
}

func TestMergeReturnsTheTableItselfIfNothingChanges(t *testing.T) {
	table := mustParse(t, "a INT, s STRUCT<x: INT, y: STRING>, m MAP<STRING,INT>")
	got, err := Merge(table, mustParse(t, "S STRUCT<Y: STRING>, A TINYINT"), true)
	if err != nil || got != table {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestNullabilityIsKeptAtEveryLevel(t *testing.T) {
	s := arrow.NewSchema([]arrow.Field{
		{Name: "l", Type: List(arrow.PrimitiveTypes.Int32, false), Nullable: false},
		{Name: "m", Type: Map(arrow.BinaryTypes.String, List(arrow.BinaryTypes.String, true), false), Nullable: true},
		{Name: "s", Type: arrow.StructOf(arrow.Field{Name: "x", Type: arrow.PrimitiveTypes.Int64}), Nullable: true},
	}, nil)
	text, err := ToDelta(s)
	if err != nil {
		t.Fatal(err)
	}
	back, err := FromDelta(text)
	if err != nil || !back.Equal(s) {
		t.Errorf("%s\nis read back as %s (%v)", text, back, err)
	}
	merged, err := Merge(s, s, true)
	if err != nil || !merged.Equal(s) {
		t.Errorf("merged with itself: %s (%v)", merged, err)
	}
}

func TestNewColumnIsNullableAtEveryLevel(t *testing.T) {
	table := mustParse(t, "a INT NOT NULL")
	rows := mustParse(t, "a INT, s STRUCT<x: INT NOT NULL> NOT NULL")
	merged, err := Merge(table, rows, true)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := FormatDDL(merged), "a INT NOT NULL, s STRUCT<x: INT>"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestCanonicalRenamesChildrenAndZones(t *testing.T) {
	foreign := arrow.NewSchema([]arrow.Field{
		{Name: "l", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true},
		{Name: "m", Type: arrow.MapOf(arrow.BinaryTypes.String, arrow.PrimitiveTypes.Int64), Nullable: true},
		{Name: "t", Type: &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "Europe/Berlin"}, Nullable: true},
	}, nil)
	got, err := Canonical(foreign)
	if err != nil {
		t.Fatal(err)
	}
	if want := mustParse(t, "l ARRAY<STRING>, m MAP<STRING,BIGINT>, t TIMESTAMP"); !got.Equal(want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
	_, err = Canonical(arrow.NewSchema([]arrow.Field{
		{Name: "u", Type: arrow.PrimitiveTypes.Uint64},
		{Name: "s", Type: arrow.StructOf(arrow.Field{Name: "d", Type: arrow.FixedWidthTypes.Duration_s})},
	}, nil))
	if err == nil || !strings.Contains(err.Error(), "column u:") || !strings.Contains(err.Error(), "column s.d:") {
		t.Errorf("the error names both columns: %v", err)
	}
}

func TestDeepNestingIsAnErrorNotAStackOverflow(t *testing.T) {
	if _, err := ParseDDL("a " + strings.Repeat("ARRAY<", 100_000)); err == nil {
		t.Error("DDL was accepted")
	}
	if _, err := FromDelta(strings.Repeat(`{"type":"array","elementType":`, 200) + `"long"` + strings.Repeat(`}`, 200)); err == nil {
		t.Error("Delta JSON was accepted")
	}
}
