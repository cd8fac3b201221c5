package avro

import (
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/codec"
	"microbatch/schema"
)

func parse(t testing.TB, text string, references ...string) *Schema {
	t.Helper()
	s, err := Parse(text, references...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func columnsOf(t testing.TB, ddl string) *arrow.Schema {
	t.Helper()
	s, err := schema.ParseDDL(ddl)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func derive(t testing.TB, rows *arrow.Schema) *Schema {
	t.Helper()
	s, err := Derive("shop.Order", rows)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// plain is the format of bodies of a schema.
func plain(t testing.TB, s *Schema) *Format {
	t.Helper()
	f, err := New(Options{Schema: s})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// decoderOf is a decoder on memory that must be empty at the end.
func decoderOf(t testing.TB, f *Format, columns *arrow.Schema) codec.Decoder {
	t.Helper()
	alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
	d, err := f.NewDecoder(columns, alloc)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.Release()
		alloc.AssertSize(t, 0)
	})
	return d
}

// decoded is one message as a row of text, or why it is refused.
func decoded(t testing.TB, d codec.Decoder, msg []byte) string {
	t.Helper()
	if err := d.Decode(msg); err != nil {
		if d.Rows() != 0 {
			t.Fatalf("%d rows behind a refused one", d.Rows())
		}
		return err.Error()
	}
	record := d.Flush()
	defer record.Release()
	rows := array.RecordToStructArray(record)
	defer rows.Release()
	return rows.ValueStr(0)
}
