package csv

import (
	"bytes"
	"context"
	stdcsv "encoding/csv"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"
)

// FuzzSplit compares with the reference of this package on any text, in units of several sizes.
func FuzzSplit(f *testing.F) {
	formats := bothEscapes(f)
	f.Add("x,y\n\"a,\nb\",\"c\"\"d\"\r\n,\n\"open")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ToValidUTF8(text, "") != text {
			return
		}
		for _, f := range formats {
			compare(t, f, text)
		}
	})
}

// FuzzStandardLibrary compares with encoding/csv: rows that it accepts are ours too, cell by cell; and what it writes of any cells is read as those cells.
func FuzzStandardLibrary(f *testing.F) {
	f.Add("x,y\n\"a,\nb\",\"c\"\"d\"\r\n,\n", "a", "b\r\n\"", "\\", " ")
	names, err := filepath.Glob("testdata/*")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range names {
		if data, err := os.ReadFile(name); err == nil && len(data) < 4<<10 {
			f.Add(string(data), "é", "\x00", ",", "\"\"")
		}
	}
	format, err := New(Options{})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text, a, b, c, d string) {
		if want, comparable := standardRows(text); comparable {
			if diff := cmp.Diff(want, decodedRows(t, format, text)); diff != "" {
				t.Fatalf("%q (-encoding/csv +ours):\n%s", text, diff)
			}
		}
		for _, cell := range []string{a, b, c, d} {
			if !utf8.ValidString(cell) || strings.ContainsRune(cell, '\r') || strings.ContainsRune(cell, '\ufeff') || cell == "" { // encoding/csv changes \r\n in cells; an empty cell is null
				return
			}
		}
		var written bytes.Buffer
		w := stdcsv.NewWriter(&written)
		if err := w.WriteAll([][]string{{a, b}, {c, d}}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([][]string{{a, b}, {c, d}}, decodedRows(t, format, written.String())); diff != "" && !onlyBlank(written.String()) {
			t.Fatalf("%q:\n%s", written.String(), diff)
		}
	})
}

// onlyBlank reports whether a line of the text is white space alone: such a line is no row to us.
func onlyBlank(text string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		if strings.Trim(line, " \t\r") == "" && line != "" {
			return true
		}
	}
	return false
}

// standardRows are the rows of a text by encoding/csv, with two cells each. Where the two differ by design nothing is compared: carriage returns, which
// encoding/csv drops in quotes, cells that are empty (null to us), lines of blanks, the byte order mark, and text that is not UTF-8.
func standardRows(text string) ([][]string, bool) {
	if !utf8.ValidString(text) || strings.ContainsAny(text, "\r\ufeff") || onlyBlank(text) {
		return nil, false
	}
	r := stdcsv.NewReader(strings.NewReader(text))
	r.FieldsPerRecord = 2
	rows, err := r.ReadAll()
	if err != nil {
		return nil, false
	}
	for _, row := range rows {
		if row[0] == "" || row[1] == "" {
			return nil, false
		}
	}
	return rows, true
}

// decodedRows are the rows of a text of two STRING columns; a rejected row is nil.
func decodedRows(t *testing.T, format *Files, text string) (rows [][]string) {
	t.Helper()
	alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer alloc.AssertSize(t, 0)
	s := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "b", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
	file := bytesFile([]byte(text))
	units, err := format.Units(context.Background(), file, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	seen := int64(0)
	for _, u := range units {
		for chunk, err := range format.Decode(context.Background(), file, u, s, alloc, &seen) {
			if err != nil {
				t.Fatal(err)
			}
			for i := range int(chunk.Rows()) {
				rows = append(rows, []string{chunk.Record.Column(0).(*array.String).Value(i), chunk.Record.Column(1).(*array.String).Value(i)})
			}
			for range chunk.Rejected {
				rows = append(rows, nil)
			}
			chunk.Release()
		}
	}
	return rows
}
