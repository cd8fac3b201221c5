package arrowparquet_test

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"

	"microbatch/arrowparquet"
	"microbatch/schema"
)

// What other writers put into files and ours does not: unsigned numbers, other units of time, INT96, lists without the group around them.
func TestTypesOfOtherWritersBecomeSparkTypes(t *testing.T) {
	type inner struct {
		X int32  `parquet:"x"`
		Y string `parquet:"y,optional"`
	}
	type row struct {
		U8     uint8            `parquet:"u8"`
		U16    uint16           `parquet:"u16"`
		U32    uint32           `parquet:"u32"`
		U64    uint64           `parquet:"u64"`
		Millis time.Time        `parquet:"millis,timestamp(millisecond)"`
		Nanos  time.Time        `parquet:"nanos,timestamp(nanosecond)"`
		Old    deprecated.Int96 `parquet:"old"`
		Bare   []int32          `parquet:"bare"`
		Groups []inner          `parquet:"groups"`
		Fixed  [3]byte          `parquet:"fixed"`
		Split  float64          `parquet:"split,split"`
		Prefix string           `parquet:"prefix,delta"`
		Enum   string           `parquet:"enum,enum"`
	}
	at := time.Date(2024, 2, 29, 12, 0, 0, 123456789, time.UTC)
	day := int64(19782) // of at, since 1970
	ns := at.UnixNano() - day*86400e9
	old := deprecated.Int96{uint32(ns), uint32(ns >> 32), uint32(day + 2440588)}
	rows := []row{
		{255, 65535, 4294967295, 18446744073709551615, at, at, old, []int32{1, 2}, []inner{{1, "a"}, {2, ""}}, [3]byte{'a', 'b', 'c'}, 1.5, "prefix one", "E"},
		{0, 0, 0, 0, time.Unix(-1, -1), time.Unix(-1, -1), old, nil, nil, [3]byte{'d', 'e', 'f'}, -2, "prefix two", "F"},
	}
	var buf bytes.Buffer
	w := parquet.NewGenericWriter[row](&buf)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f := open(t, buf.Bytes())
	wantDDL := "u8 SMALLINT NOT NULL, u16 INT NOT NULL, u32 BIGINT NOT NULL, u64 DECIMAL(20,0) NOT NULL, millis TIMESTAMP NOT NULL, nanos TIMESTAMP NOT NULL, " +
		"old TIMESTAMP NOT NULL, bare ARRAY<INT> NOT NULL, groups ARRAY<STRUCT<x: INT NOT NULL, y: STRING>> NOT NULL, fixed BINARY NOT NULL, split DOUBLE NOT NULL, " +
		"prefix STRING NOT NULL, enum STRING NOT NULL"
	if diff := cmp.Diff(wantDDL, schema.FormatDDL(f.Schema())); diff != "" {
		t.Error(diff)
	}
	want := `{"bare":[1,2],"enum":"E","fixed":"YWJj","groups":[{"x":1,"y":"a"},{"x":2,"y":null}],"millis":"2024-02-29T12:00:00.123Z","nanos":"2024-02-29T12:00:00.123456Z","old":"2024-02-29T12:00:00.123456Z","prefix":"prefix one","split":1.5,"u16":65535,"u32":4294967295,"u64":"18446744073709551615","u8":255}
{"bare":[],"enum":"F","fixed":"ZGVm","groups":[],"millis":"1969-12-31T23:59:58.999Z","nanos":"1969-12-31T23:59:58.999999Z","old":"2024-02-29T12:00:00.123456Z","prefix":"prefix two","split":-2,"u16":0,"u32":0,"u64":"0","u8":0}
`
	if diff := cmp.Diff(want, rowsJSON(t, buf.Bytes(), nil)); diff != "" {
		t.Error(diff)
	}
	// Spark's old timestamps have no zone: either kind may be asked for.
	if got := rowsJSON(t, buf.Bytes(), parse(t, "old TIMESTAMP_NTZ")); !strings.HasPrefix(got, `{"old":"2024-02-29T12:00:00.123456"}`) {
		t.Errorf("as TIMESTAMP_NTZ: %s", got)
	}
}

// PyArrow writes a row group for an empty table, whose chunks have no pages and no place.
func TestEmptyTableOfPyArrowHasNoRows(t *testing.T) {
	for _, name := range []string{"dictionary", "plain"} {
		data, err := os.ReadFile("testdata/empty_pyarrow_" + name + ".parquet")
		if err != nil {
			t.Fatal(err)
		}
		if f := open(t, data); f.Rows() != 0 || schema.FormatDDL(f.Schema()) != "id BIGINT, s STRING, l ARRAY<INT>" {
			t.Errorf("%s: %d rows of %s", name, f.Rows(), schema.FormatDDL(f.Schema()))
		}
		if got := rowsJSON(t, data, nil); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestTypeWithoutCounterpartIsNamed(t *testing.T) {
	type row struct {
		ID [16]byte `parquet:"some_id,uuid"`
	}
	var buf bytes.Buffer
	w := parquet.NewGenericWriter[row](&buf)
	if _, err := w.Write(make([]row, 1)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := arrowparquet.Open(bytes.NewReader(buf.Bytes()), int64(buf.Len()), arrowparquet.Limits{})
	if err == nil || !strings.Contains(err.Error(), "column some_id: the Parquet type UUID is not supported") {
		t.Errorf("got %v", err)
	}
}

func TestLimitsRefuseLargeFiles(t *testing.T) {
	s, recs := events(t, 1)
	data, _ := write(t, s, arrowparquet.Options{}, recs...)
	for limits, reason := range map[arrowparquet.Limits]string{
		{MetadataBytes: 100}: "a footer of",
		{Columns: 7}:         "8 columns (the limit is 7)",
	} {
		if _, err := arrowparquet.Open(bytes.NewReader(data), int64(len(data)), limits); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%+v: %v", limits, err)
		}
	}
	f, err := arrowparquet.Open(bytes.NewReader(data), int64(len(data)), arrowparquet.Limits{PageBytes: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for rec, err := range f.Read(context.Background(), nil, nil, memory.DefaultAllocator) {
		if err == nil {
			rec.Release()
			t.Fatal("a page beyond the limit was read")
		}
		if !strings.Contains(err.Error(), "(the limit is 1000)") {
			t.Errorf("got %v", err)
		}
	}
}
