package arrowparquet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"microbatch/arrowparquet"
	"microbatch/arrowparquet/parquettest"
	"microbatch/schema"
)

func nan() float64      { return math.NaN() }
func infinity() float64 { return math.Inf(1) }

func open(t *testing.T, data []byte) *arrowparquet.File {
	t.Helper()
	f, err := arrowparquet.Open(bytes.NewReader(data), int64(len(data)), arrowparquet.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func parse(t *testing.T, ddl string) *arrow.Schema {
	t.Helper()
	s, err := schema.ParseDDL(ddl)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// rowsJSON reads a file as JSON rows.
func rowsJSON(t *testing.T, data []byte, want *arrow.Schema) string {
	t.Helper()
	alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer alloc.AssertSize(t, 0)
	var buf bytes.Buffer
	for rec, err := range open(t, data).Read(context.Background(), nil, want, alloc) {
		if err != nil {
			t.Fatal(err)
		}
		if err := array.RecordToJSON(rec, &buf); err != nil {
			t.Fatal(err)
		}
		rec.Release()
	}
	return buf.String()
}

func TestColumnsAreWrittenByNameAndMissingOnesAsNull(t *testing.T) {
	_, rec := record(t, memory.DefaultAllocator, "B STRING, s STRUCT<Y: STRING>, l ARRAY<STRUCT<q: TINYINT>>, a SMALLINT", `[{"B":"x","s":{"Y":"y"},"l":[{"q":1},null],"a":7},{"B":null,"s":null,"l":null,"a":8}]`)
	s := parse(t, "a BIGINT, b STRING, c DATE, s STRUCT<x: INT, y: STRING, z: ARRAY<INT>>, l ARRAY<STRUCT<p: STRING, q: INT>>, m MAP<STRING,INT>")
	data, _ := write(t, s, arrowparquet.Options{}, rec)
	want := `{"a":7,"b":"x","c":null,"l":[{"p":null,"q":1},null],"m":null,"s":{"x":null,"y":"y","z":null}}
{"a":8,"b":null,"c":null,"l":null,"m":null,"s":null}
`
	if diff := cmp.Diff(want, rowsJSON(t, data, nil)); diff != "" {
		t.Error(diff)
	}
}

func TestRowsThatDoNotFitAreRefusedWithAllReasons(t *testing.T) {
	_, rec := record(t, memory.DefaultAllocator, "a BIGINT, b STRING, extra INT, s STRUCT<x: STRING>", `[{"a":1}]`)
	defer rec.Release()
	w, err := arrowparquet.NewWriter(new(bytes.Buffer), parse(t, "a INT, b STRING, c INT NOT NULL, s STRUCT<x: INT>"), arrowparquet.Options{})
	if err != nil {
		t.Fatal(err)
	}
	err = w.Write(rec)
	for _, reason := range []string{"column a is int32 in the file, int64 in the rows", "column extra is not in the file", "column c is missing and NOT NULL", "column s.x"} {
		if err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("the error does not say %q: %v", reason, err)
		}
	}
}

func TestNullInNotNullColumnIsRefused(t *testing.T) {
	for ddl, rows := range map[string]string{
		"a INT NOT NULL":               `[{"a":1},{"a":null}]`,
		"s STRUCT<x: INT NOT NULL>":    `[{"s":{"x":1}},{"s":{"x":null}}]`,
		"s STRUCT<x: STRING> NOT NULL": `[{"s":null}]`,
	} {
		s := parse(t, ddl)
		_, rec := record(t, memory.DefaultAllocator, strings.ReplaceAll(ddl, " NOT NULL", ""), rows)
		w, err := arrowparquet.NewWriter(new(bytes.Buffer), s, arrowparquet.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(rec); err == nil || !strings.Contains(err.Error(), "NOT NULL") {
			t.Errorf("%s with %s: %v", ddl, rows, err)
		}
		rec.Release()
	}
	// A null around it is none of it.
	_, rec := record(t, memory.DefaultAllocator, "s STRUCT<x: INT>", `[{"s":null},{"s":{"x":1}}]`)
	write(t, parse(t, "s STRUCT<x: INT NOT NULL>"), arrowparquet.Options{}, rec)
}

func TestReadingPicksWidensAndFillsColumns(t *testing.T) {
	s, rec := record(t, memory.DefaultAllocator, "a TINYINT, b FLOAT, d DECIMAL(5,2), s STRUCT<x: INT, y: STRING>, l ARRAY<STRUCT<p: INT, q: STRING>>, bin BINARY",
		`[{"a":-1,"b":0.5,"d":"1.25","s":{"x":1,"y":"u"},"l":[{"p":1,"q":"v"},{"p":null,"q":"w"}],"bin":"eHl6"},{"a":null,"b":null,"d":null,"s":null,"l":[],"bin":null}]`)
	data, _ := write(t, s, arrowparquet.Options{}, rec)
	for ddl, want := range map[string]string{
		"A BIGINT":                           "{\"A\":-1}\n{\"A\":null}\n",
		"a INT, b DOUBLE":                    "{\"a\":-1,\"b\":0.5}\n{\"a\":null,\"b\":null}\n",
		"d DECIMAL(38,2)":                    "{\"d\":\"1.25\"}\n{\"d\":null}\n",
		"bin STRING":                         "{\"bin\":\"xyz\"}\n{\"bin\":null}\n",
		"none INT":                           "{\"none\":null}\n{\"none\":null}\n",
		"s STRUCT<Y:STRING>":                 "{\"s\":{\"Y\":\"u\"}}\n{\"s\":null}\n",
		"s STRUCT<n:INT>":                    "{\"s\":{\"n\":null}}\n{\"s\":null}\n",
		"l ARRAY<STRUCT<z: INT, q: STRING>>": "{\"l\":[{\"q\":\"v\",\"z\":null},{\"q\":\"w\",\"z\":null}]}\n{\"l\":[]}\n",
	} {
		if diff := cmp.Diff(want, rowsJSON(t, data, parse(t, ddl))); diff != "" {
			t.Errorf("%s:\n%s", ddl, diff)
		}
	}
	for _, ddl := range []string{"a STRING", "s INT", "l ARRAY<INT>", "d DECIMAL(5,1)", "s STRUCT<x: STRING>", "gone INT NOT NULL", "a INT NOT NULL"} {
		var failed error
		for rec, err := range open(t, data).Read(context.Background(), nil, parse(t, ddl), memory.DefaultAllocator) {
			if failed = err; err == nil {
				rec.Release()
			}
		}
		if failed == nil {
			t.Errorf("%s was read", ddl)
		}
	}
}

func TestRowGroupsAreCutByRowsAndByBytes(t *testing.T) {
	s, recs := events(t, 8)
	for _, o := range []arrowparquet.Options{{RowGroupRows: 16384}, {RowGroupBytes: 400 << 10}} {
		for _, r := range recs {
			r.Retain()
		}
		data, stats := write(t, s, o, recs...)
		f := open(t, data)
		groups := f.RowGroups()
		if len(groups) != 4 || f.Rows() != 8*8192 || stats.Rows != f.Rows() {
			t.Errorf("%+v: %d row groups, %d rows", o, len(groups), f.Rows())
		}
		for i, g := range groups {
			if g.Rows != 16384 || i > 0 && g.From != groups[i-1].To || g.Columns[0].Min != int64(i*16384+1) || g.Columns[0].Max != int64(i*16384+16384) {
				t.Errorf("row group %d: %+v", i, g)
			}
		}
		var rows int64
		for rec, err := range f.Read(context.Background(), []int{2, 0}, parse(t, "id BIGINT"), memory.DefaultAllocator) {
			if err != nil {
				t.Fatal(err)
			}
			if id := rec.Column(0).(*array.Int64).Value(0); rows == 0 && id != 2*16384+1 {
				t.Errorf("row group 2 begins with id %d", id)
			}
			rows += rec.NumRows()
			rec.Release()
		}
		if rows != 2*16384 {
			t.Errorf("%d rows in two row groups", rows)
		}
	}
}

// Small records are collected: a page is worth its header.
func TestManySmallRecordsMakeFewPages(t *testing.T) {
	s, recs := events(t, 1)
	var whole, small []arrow.RecordBatch
	whole = append(whole, recs[0])
	whole[0].Retain()
	for i := int64(0); i < 8192; i += 64 {
		small = append(small, recs[0].NewSlice(i, i+64))
	}
	one, _ := write(t, s, arrowparquet.Options{}, whole...)
	many, _ := write(t, s, arrowparquet.Options{}, small...)
	if !bytes.Equal(one, many) {
		t.Errorf("128 records of 64 rows give %d bytes, one of 8,192 gives %d", len(many), len(one))
	}
}

func TestColumnThatDoesNotCompressIsStoredRaw(t *testing.T) {
	s, recs := events(t, 2)
	data, _ := write(t, s, arrowparquet.Options{}, recs...)
	if limit := 2 * 8192 * 45; len(data) > limit {
		t.Errorf("%d bytes, more than %d", len(data), limit)
	}
}

// A dictionary that turns out useless late leaves pages of both kinds in one chunk, which are compressed alike.
func TestDictionaryIsGivenUpInTheMiddleOfAChunk(t *testing.T) {
	s := parse(t, "s STRING")
	var recs []arrow.RecordBatch
	for i := range 6 {
		b := array.NewRecordBuilder(memory.DefaultAllocator, s)
		for k := range 8192 {
			v := fmt.Sprintf("value %d of few that repeat", k%10)
			if i > 1 {
				v = fmt.Sprintf("value %d-%d of many that compress well well well well", i, k)
			}
			b.Field(0).(*array.StringBuilder).Append(v)
		}
		recs = append(recs, b.NewRecordBatch())
		recs[i].Retain()
	}
	data, stats := write(t, s, arrowparquet.Options{}, recs...)
	if len(data) > 6*8192*20 {
		t.Errorf("%d bytes: not compressed", len(data))
	}
	if c := stats.Columns[0]; c.Min != "value 0 of few that repeat" || c.Max != "value 9 of few that repeat" {
		t.Errorf("bounds %q to %q", c.Min, c.Max)
	}
	for _, read := range []arrow.Table{readByUs(t, memory.DefaultAllocator, data, nil), readByArrow(t, memory.DefaultAllocator, data)} {
		sameRows(t, recs, read)
		read.Release()
	}
}

// Strings that begin like the one before, as paths do, are written without what they share: in a third of the bytes before compression. Nulls, empty strings and
// strings that share nothing stand between them.
func TestStringsThatBeginAlikeAreWrittenWithoutTheirBeginning(t *testing.T) {
	s := parse(t, "s STRING")
	var recs []arrow.RecordBatch
	rng := rand.New(rand.NewPCG(1, 1))
	size := 0
	for range 3 {
		b := array.NewRecordBuilder(memory.DefaultAllocator, s)
		texts := b.Field(0).(*array.StringBuilder)
		for i := range 8192 {
			switch v := fmt.Sprintf("https://shop.example.com/products/%d?ref=%d", rng.IntN(100_000), rng.IntN(1000)); {
			case i%1000 == 7:
				texts.AppendNull()
			case i%1000 == 8:
				texts.Append("")
			case i%1000 == 9:
				texts.Append("é" + v)
			default:
				texts.Append(v)
				size += len(v)
			}
		}
		recs = append(recs, b.NewRecordBatch())
		recs[len(recs)-1].Retain()
	}
	kept := func() []arrow.RecordBatch {
		for _, r := range recs {
			r.Retain()
		}
		return recs
	}
	data, _ := write(t, s, arrowparquet.Options{Compression: arrowparquet.None}, kept()...)
	if len(data) > size*2/5 {
		t.Errorf("%d bytes of %d", len(data), size)
	}
	// What snappy would save of these is too little; zstd is asked for to save it.
	if fast, _ := write(t, s, arrowparquet.Options{}, kept()...); len(fast) != len(data) {
		t.Errorf("%d bytes with snappy, %d without", len(fast), len(data))
	}
	if small, _ := write(t, s, arrowparquet.Options{Compression: arrowparquet.Zstd}, recs...); len(small) > len(data)*4/5 {
		t.Errorf("%d bytes with zstd, %d without", len(small), len(data))
	}
	for _, read := range []arrow.Table{readByUs(t, memory.DefaultAllocator, data, nil), readByArrow(t, memory.DefaultAllocator, data)} {
		sameRows(t, recs, read)
		read.Release()
	}
}

func TestLargeValuesMakeSmallPages(t *testing.T) {
	alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer alloc.AssertSize(t, 0)
	s := parse(t, "s STRING, b BINARY")
	b := array.NewRecordBuilder(alloc, s)
	defer b.Release()
	rng := rand.New(rand.NewPCG(3, 3))
	for range 60 {
		b.Field(0).(*array.StringBuilder).Append(strings.Repeat(string(rune('a'+rng.IntN(26))), 1<<20))
		b.Field(1).(*array.BinaryBuilder).Append(make([]byte, rng.IntN(1<<16)))
	}
	rec := b.NewRecordBatch()
	defer rec.Release()
	rec.Retain()
	data, _ := write(t, s, arrowparquet.Options{}, rec)
	got := readByUs(t, alloc, data, nil)
	defer got.Release()
	sameRows(t, []arrow.RecordBatch{rec}, got)
	if n := len(got.Column(0).Data().Chunks()); n < 4 {
		t.Errorf("60 MiB came in %d records", n)
	}
}

type brokenWriter struct{ left int }

var errDiskFull = errors.New("no space left on device")

func (w *brokenWriter) Write(b []byte) (int, error) {
	if w.left -= len(b); w.left < 0 {
		return 0, errDiskFull
	}
	return len(b), nil
}

func TestErrorOfTheUnderlyingWriterComesBack(t *testing.T) {
	s, recs := events(t, 4)
	for _, left := range []int{0, 1000, 200_000} {
		w, err := arrowparquet.NewWriter(&brokenWriter{left}, s, arrowparquet.Options{RowGroupRows: 8192})
		for _, r := range recs {
			if err == nil {
				err = w.Write(r)
			}
		}
		if err == nil {
			_, err = w.Close()
		}
		if !errors.Is(err, errDiskFull) {
			t.Errorf("after %d bytes: %v", left, err)
		}
	}
}

func TestCancelledReadEnds(t *testing.T) {
	s, recs := events(t, 2)
	data, _ := write(t, s, arrowparquet.Options{}, recs...)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	n := 0
	for rec, err := range open(t, data).Read(ctx, nil, nil, memory.DefaultAllocator) {
		if n++; err != nil {
			if !errors.Is(err, context.Canceled) || n != 2 {
				t.Errorf("record %d: %v", n, err)
			}
			return
		}
		rec.Release()
		cancel()
	}
	t.Error("the read went on")
}

func TestSchemaThatCannotBeStoredIsRefused(t *testing.T) {
	for _, s := range []*arrow.Schema{
		arrow.NewSchema(nil, nil),
		arrow.NewSchema([]arrow.Field{{Name: "u", Type: arrow.PrimitiveTypes.Uint32}}, nil),
		arrow.NewSchema([]arrow.Field{{Name: "ns", Type: arrow.FixedWidthTypes.Timestamp_ns}}, nil),
		arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.StructOf()}}, nil),
	} {
		if _, err := arrowparquet.NewWriter(new(bytes.Buffer), s, arrowparquet.Options{}); err == nil {
			t.Errorf("%s was accepted", s)
		}
	}
	if _, err := arrowparquet.NewWriter(new(bytes.Buffer), parquettest.AllTypes(), arrowparquet.Options{Compression: "lzo"}); err == nil || !strings.Contains(err.Error(), "snappy") {
		t.Errorf("compression lzo: %v", err)
	}
}
