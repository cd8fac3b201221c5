package csv

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/codec"
)

// roundTrip encodes a record into a file, reads the file, and compares.
func roundTrip(t *testing.T, o Options, want arrow.RecordBatch) {
	t.Helper()
	e, err := NewEncoder(o, want.Schema())
	if err != nil {
		t.Fatal(err)
	}
	var text []byte
	if o.Header {
		text = append(e.AppendHeader(text), '\n')
	}
	for i := range int(want.NumRows()) {
		if text, err = e.AppendRow(text, want, i); err != nil {
			t.Fatal(err)
		}
		text = append(text, '\n')
	}
	format, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	var seen, row int64
	file := codec.File{Name: "f", At: bytes.NewReader(text), Size: int64(len(text))}
	for chunk, err := range format.Decode(context.Background(), file, codec.Unit{To: file.Size}, want.Schema(), memory.DefaultAllocator, &seen) {
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		for _, r := range chunk.Rejected {
			t.Errorf("%s: %s", r.Position, r.Reason)
		}
		if n := chunk.Rows(); n > 0 {
			part := want.NewSlice(row, min(row+n, want.NumRows()))
			if !array.RecordEqual(part, chunk.Record) {
				t.Errorf("have %v\nwant %v\nfrom\n%s", chunk.Record, part, text)
			}
			part.Release()
			row += n
		}
		chunk.Release()
	}
	if row != want.NumRows() {
		t.Errorf("%d rows of %d in\n%s", row, want.NumRows(), text)
	}
}

func record(t *testing.T, columns, rows string) arrow.RecordBatch {
	t.Helper()
	r, _, err := array.RecordFromJSON(memory.DefaultAllocator, ddl(t, columns), strings.NewReader(rows))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestWhatIsEncodedIsReadBack: every type, nulls beside empty texts, and all that needs quotes.
func TestWhatIsEncodedIsReadBack(t *testing.T) {
	everyType := record(t, "`a name, quoted` STRING, b BOOLEAN, i1 TINYINT, i2 SMALLINT, i4 INT, i8 BIGINT, f FLOAT, d DOUBLE, x DECIMAL(10,2), bin BINARY, day DATE, ts TIMESTAMP, local TIMESTAMP_NTZ", `[
		{"a name, quoted":"x","b":true,"i1":-128,"i2":32767,"i4":1,"i8":9223372036854775807,"f":0.1,"d":1e300,"x":"12345678.90","bin":"AP8=","day":"2026-01-31","ts":"2026-01-31 12:00:00.123456Z","local":"1969-12-31 23:59:59"},
		{},
		{"a name, quoted":"","d":-0.0},
		{"a name, quoted":"a \"b\"\n,\r\n"},
		{"a name, quoted":" \t"},
		{"a name, quoted":"\ufeffé"}]`)
	for name, o := range map[string]Options{"plain": {}, "header": {Header: true}, "tab, null text": {Header: true, Delimiter: '\t', Null: "NULL"}} {
		t.Run(name, func(t *testing.T) { roundTrip(t, o, everyType) })
	}
	roundTrip(t, Options{Null: "NULL"}, record(t, "s STRING", `[{"s":"NULL"},{"s":null},{"s":""},{"s":" "}]`))
}

func TestWhatCannotBeEncoded(t *testing.T) {
	for columns, o := range map[string]Options{
		"a ARRAY<INT>, b INT": {},                           // no scalar
		"s STRING":            {},                           // a null would be a blank line
		"a STRING, b INT":     {Escape: '\\'},               // other readers would differ
		"c STRING, b INT":     {Delimiter: '"', Quote: '"'}, // contradiction
	} {
		if _, err := NewEncoder(o, ddl(t, columns)); err == nil {
			t.Errorf("%s with %+v: no error", columns, o)
		}
	}
}

// FuzzEncoder: any two texts are read back.
func FuzzEncoder(f *testing.F) {
	f.Add("a", "b\r\n\"", "NULL")
	f.Add("", " ", "")
	f.Fuzz(func(t *testing.T, a, b, null string) {
		if !utf8.ValidString(a) || !utf8.ValidString(b) || !utf8.ValidString(null) || strings.ContainsAny(null, "\",\r\n") {
			return
		}
		builder := array.NewRecordBuilder(memory.DefaultAllocator, ddl(t, "a STRING, b STRING"))
		defer builder.Release()
		for _, row := range [][2]string{{a, b}, {b, a}, {null, a}} {
			builder.Field(0).(*array.StringBuilder).Append(row[0])
			builder.Field(1).(*array.StringBuilder).Append(row[1])
		}
		builder.Field(0).AppendNull()
		builder.Field(1).(*array.StringBuilder).Append(a)
		roundTrip(t, Options{Null: null}, builder.NewRecordBatch())
	})
}
