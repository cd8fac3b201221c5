package csv

import (
	"bytes"
	"context"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"microbatch/codec/codectest"
	"microbatch/schema"
)

func ddl(t testing.TB, text string) *arrow.Schema {
	t.Helper()
	s, err := schema.ParseDDL(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFilesConform(t *testing.T) {
	for name, o := range map[string]Options{"with a header": {Header: true}, "without": {}, "single lines": {SingleLine: true}} {
		t.Run(name, func(t *testing.T) {
			var text bytes.Buffer
			if o.Header {
				text.WriteString("name,id,\"amount\",other\n")
			} else {
				text.WriteString("x,0,1,y\n")
			}
			rows, rejected := 300, 0
			for i := range rows {
				name := fmt.Sprintf("name %d", i)
				switch i % 20 {
				case 3:
					name = `"quoted, ""twice"""`
				case 5:
					if !o.SingleLine {
						name = "\"two\n,\"\"lines\""
					}
				case 7:
					name = `a "plain" quote`
				case 9:
					name = `"bad" end`
					rejected++
				case 11:
					text.WriteString("\n \r\n")
				}
				fmt.Fprintf(&text, "%s,%d,%d.5,\r\n", name, i, i)
			}
			if !o.Header {
				rows++
			}
			f, err := New(o)
			if err != nil {
				t.Fatal(err)
			}
			s := ddl(t, "id BIGINT, name STRING, amount DOUBLE, missing INT")
			if !o.Header {
				s = ddl(t, "name STRING, id BIGINT, amount DOUBLE, other STRING")
			}
			codectest.Files(t, codectest.FilesCase{
				Format: f, Schema: s, Good: text.Bytes(), Rows: rows, Rejected: rejected, Streams: true, Targets: []int64{1000, 1, 10, 77, 5000},
				Hostile: [][]byte{nil, []byte("\n"), []byte(`"`), []byte("\"\n"), []byte(`a,b,c,d`), bytes.Repeat([]byte(`"",`), 50_000), bytes.Repeat([]byte(`"`), 50_000), bytes.Repeat([]byte(","), 50_000)},
			})
		})
	}
}

func TestMessagesConform(t *testing.T) {
	f, err := NewMessages(Options{})
	if err != nil {
		t.Fatal(err)
	}
	codectest.Messages(t, codectest.MessagesCase{
		Format: f, Schema: ddl(t, "id BIGINT, name STRING, amount DECIMAL(10,2)"),
		Good: [][]byte{[]byte("1,x,2.5"), []byte(`,"a ""b""",`), []byte("3,\"two\nlines\",\n")},
		Bad:  [][]byte{{}, []byte("1"), []byte("1,x,y"), []byte(`1,"x`), []byte("1,x,2\n2,y,3")},
	})
}

// referenceRows splits a text into rows one character at a time. A row is its cells, or nil if it is rejected; quoted cells begin with a quote.
func referenceRows(o Options, text string) (rows [][]string) {
	text = strings.TrimPrefix(text, "\xef\xbb\xbf")
	for len(text) > 0 {
		if line, rest, _ := strings.Cut(text, "\n"); strings.Trim(line, " \t\r") == "" {
			text = rest
			continue
		}
		var row []string
		good := true
		for more := true; more; {
			var cell string
			if text != "" && text[0] == o.Quote {
				var closed bool
				cell, text, closed = referenceQuoted(o, text[1:])
				if strings.HasPrefix(text, "\r\n") || text == "\r" {
					text = text[1:]
				}
				if !closed || text != "" && text[0] != '\n' && text[0] != o.Delimiter {
					good = false
					_, text = referencePlain(o, text)
				}
				cell = "\"" + cell
			} else {
				cell, text = referencePlain(o, text)
				if text == "" || text[0] == '\n' {
					cell = strings.TrimSuffix(cell, "\r")
				}
			}
			row = append(row, cell)
			more = text != "" && text[0] == o.Delimiter
			if text != "" {
				text = text[1:]
			}
		}
		if !good {
			row = nil
		}
		rows = append(rows, row)
	}
	return rows
}

// referencePlain takes everything up to a delimiter or line end.
func referencePlain(o Options, text string) (cell, rest string) {
	n := strings.IndexAny(text, string(o.Delimiter)+"\n")
	if n < 0 {
		n = len(text)
	}
	return text[:n], text[n:]
}

// referenceQuoted takes everything up to the closing quote.
func referenceQuoted(o Options, text string) (cell, rest string, closed bool) {
	for text != "" {
		switch {
		case o.Escape != o.Quote && len(text) > 1 && text[0] == o.Escape && (text[1] == o.Quote || text[1] == o.Escape),
			o.Escape == o.Quote && len(text) > 1 && text[0] == o.Quote && text[1] == o.Quote:
			cell, text = cell+text[1:2], text[2:]
		case text[0] == o.Quote:
			return cell, text[1:], true
		default:
			cell, text = cell+text[:1], text[1:]
		}
	}
	return cell, "", false
}

// compare decodes a text of two STRING columns in units of several sizes, and by the reference.
func compare(t *testing.T, f *Files, text string) {
	t.Helper()
	var want []string
	wantRejected := 0
	for _, row := range referenceRows(f.options, text) {
		if len(row) != 2 {
			wantRejected++
			continue
		}
		for i, cell := range row {
			if rest, quoted := strings.CutPrefix(cell, "\""); quoted {
				row[i] = fmt.Sprintf("%q", rest)
			} else if cell == "" {
				row[i] = "null"
			} else {
				row[i] = fmt.Sprintf("%q", cell)
			}
		}
		want = append(want, row[0]+"|"+row[1])
	}
	alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer alloc.AssertSize(t, 0)
	s := arrow.NewSchema([]arrow.Field{{Name: "a", Type: arrow.BinaryTypes.String, Nullable: true}, {Name: "b", Type: arrow.BinaryTypes.String, Nullable: true}}, nil)
	for _, target := range []int64{1 << 30, 1, 3} {
		file := bytesFile([]byte(text))
		units, err := f.Units(context.Background(), file, target)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		rejected, seen := 0, int64(0)
		for _, u := range units {
			for chunk, err := range f.Decode(context.Background(), file, u, s, alloc, &seen) {
				if err != nil {
					t.Fatal(err)
				}
				rejected += len(chunk.Rejected)
				for i := range int(chunk.Rows()) {
					var cells []string
					for _, col := range chunk.Record.Columns() {
						if col.IsNull(i) {
							cells = append(cells, "null")
						} else {
							cells = append(cells, fmt.Sprintf("%q", col.(*array.String).Value(i)))
						}
					}
					got = append(got, strings.Join(cells, "|"))
				}
				chunk.Release()
			}
		}
		if diff := cmp.Diff(want, got); diff != "" || rejected != wantRejected || seen != int64(len(want)+wantRejected) {
			t.Fatalf("%q in units of %d %v: %d rejected, not %d; %d seen\n%s", text, target, units, rejected, wantRejected, seen, diff)
		}
	}
}

// bothEscapes are the format with quotes written twice, and with a backslash before them.
func bothEscapes(t testing.TB) (formats []*Files) {
	t.Helper()
	for _, o := range []Options{{}, {Escape: '\\'}} {
		f, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		formats = append(formats, f)
	}
	return formats
}

// TestSplitsLikeReference compares on texts made of the characters that matter.
func TestSplitsLikeReference(t *testing.T) {
	formats := bothEscapes(t)
	rng := rand.New(rand.NewSource(1))
	parts := []string{`"`, `"`, `""`, ",", ",", "\n", "\n", "\r\n", "\r", "x", "yy", " ", `\`, "x,y\n", "\"a,\nb\",c\n", "\"", "é"}
	for range 10000 {
		var text strings.Builder
		for range rng.Intn(14) {
			text.WriteString(parts[rng.Intn(len(parts))])
		}
		for _, f := range formats {
			compare(t, f, text.String())
		}
	}
}
