package csv

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/cockroachdb/datadriven"

	"microbatch/codec"
	"microbatch/schema"
)

// TestDecisions shows how files are decided. The first line of input is the schema, the rest the file; \r, \xff and so on stand for themselves
// (Go's escapes) if the command has the flag escaped. The answer is a line for each row, and for each rejected one.
func TestDecisions(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var o Options
			var delimiter, escape string
			d.MaybeScanArgs(t, "delimiter", &delimiter)
			d.MaybeScanArgs(t, "escape", &escape)
			d.MaybeScanArgs(t, "null", &o.Null)
			o.Header, o.SingleLine = d.HasArg("header"), d.HasArg("single-line")
			if delimiter != "" {
				o.Delimiter = map[string]byte{"tab": '\t'}[delimiter]
				if o.Delimiter == 0 {
					o.Delimiter = delimiter[0]
				}
			}
			if escape == "backslash" { // at the end of a command line one continues it
				o.Escape = '\\'
			}
			ddl, input, _ := strings.Cut(d.Input, "\n")
			if d.Cmd == "infer" {
				input = d.Input
			}
			if d.HasArg("escaped") {
				input = strings.NewReplacer(`\r`, "\r", `\xff`, "\xff", `\x00`, "\x00", `\t`, "\t", `\bom`, "\xef\xbb\xbf").Replace(input)
			}
			f, err := New(o)
			if err != nil {
				return err.Error() + "\n"
			}
			file := codec.File{Name: "f", At: strings.NewReader(input), Size: int64(len(input))}
			if d.Cmd == "infer" {
				s, err := f.Infer(context.Background(), file)
				if err != nil {
					return err.Error() + "\n"
				}
				return schema.FormatDDL(s) + "\n"
			}
			s, err := schema.ParseDDL(ddl)
			if err != nil {
				t.Fatal(err)
			}
			return decodeAll(t, f, file, s)
		})
	})
}

// decodeAll is what a file decodes to.
func decodeAll(t *testing.T, f *Files, file codec.File, s *arrow.Schema) string {
	t.Helper()
	alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer alloc.AssertSize(t, 0)
	var out strings.Builder
	var seen int64
	for chunk, err := range f.Decode(context.Background(), file, codec.Unit{To: file.Size}, s, alloc, &seen) {
		if err != nil {
			return err.Error() + "\n"
		}
		if chunk.Record != nil {
			for i := range int(chunk.Record.NumRows()) {
				var cells []string
				for _, col := range chunk.Record.Columns() {
					cells = append(cells, cellText(col, i))
				}
				out.WriteString(strings.Join(cells, " | ") + "\n")
			}
		}
		for _, r := range chunk.Rejected {
			fmt.Fprintf(&out, "rejected %s: %s: %q\n", r.Position, r.Reason, r.Raw)
		}
		chunk.Release()
	}
	return out.String()
}

// cellText is a value for the eye.
func cellText(a arrow.Array, i int) string {
	if a.IsNull(i) {
		return "null"
	}
	if s, ok := a.(*array.String); ok {
		return fmt.Sprintf("%q", s.Value(i))
	}
	return a.ValueStr(i)
}

// TestOptionsThatContradict are refused when the format is made.
func TestOptionsThatContradict(t *testing.T) {
	for _, o := range []Options{{Delimiter: '"'}, {Delimiter: '\n'}, {Quote: '\r'}, {Delimiter: 0xe9}, {Delimiter: '\\', Escape: '\\'}} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	if _, err := NewMessages(Options{Header: true}); err == nil {
		t.Error("messages with a header were taken")
	}
	f, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := schema.ParseDDL("a ARRAY<INT>")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Output(s); err == nil || !strings.Contains(err.Error(), "column a") {
		t.Errorf("an array column: %v", err)
	}
}

// TestMessages decodes rows that come as messages.
func TestMessages(t *testing.T) {
	f, err := NewMessages(Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := schema.ParseDDL("a INT, b STRING")
	if err != nil {
		t.Fatal(err)
	}
	d, err := f.NewDecoder(s, memory.DefaultAllocator)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Release()
	for _, c := range []struct{ msg, reject string }{
		{"1,x", ""}, {"2,y\n", ""}, {"3,\"q\"\"\n\"\r\n", ""}, {"", "MB3001 the message is empty"}, {"1,x\n2,y", "MB3001 the message has more than one row"},
		{"1", "MB3005 the row has 1 fields, not 2"}, {"x,y", `MB3002 column a: "x" is not an INT`}, {"1,\"x", "MB3001 a quote is open at the end"}, {"\n", "MB3005 the row has 1 fields, not 2"},
	} {
		got := ""
		if err := d.Decode([]byte(c.msg)); err != nil {
			got = err.Error()
		}
		if got != c.reject {
			t.Errorf("%q: got %q, want %q", c.msg, got, c.reject)
		}
	}
	if d.Rows() != 3 {
		t.Errorf("%d rows", d.Rows())
	}
}

// TestInferFromMessages looks at each message as a row.
func TestInferFromMessages(t *testing.T) {
	f, err := NewMessages(Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.Infer([][]byte{[]byte("1,x"), []byte("2.5,y\n"), []byte("3")})
	if err != nil || schema.FormatDDL(s) != "_c0 DOUBLE, _c1 STRING" {
		t.Errorf("got %v, %v", s, err)
	}
}

// bytesFile is a file in memory.
func bytesFile(b []byte) codec.File {
	return codec.File{Name: "f", At: bytes.NewReader(b), Size: int64(len(b))}
}
