package json

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/cockroachdb/datadriven"

	"microbatch/codec"
	"microbatch/schema"
)

// TestDecisions shows how each JSON value is decided for each type, as a message and as a line of a file. The first line of input is the schema, each
// further line a row; a line that begins with a quote is a Go string. The answer is the row as the encoder writes it, or why it was rejected.
func TestDecisions(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var options Options
			d.MaybeScanArgs(t, "rescue", &options.Rescue)
			ddl, input, _ := strings.Cut(d.Input, "\n")
			switch d.Cmd {
			case "decode":
				s, err := schema.ParseDDL(ddl)
				if err != nil {
					t.Fatal(err)
				}
				var out strings.Builder
				for line := range strings.Lines(input) {
					out.WriteString(decide(t, options, s, rowOf(t, strings.TrimSuffix(line, "\n"))) + "\n")
				}
				return out.String()
			case "infer":
				var sample [][]byte
				for line := range strings.Lines(d.Input) {
					sample = append(sample, rowOf(t, strings.TrimSuffix(line, "\n")))
				}
				s, err := New(options).Infer(sample)
				if err != nil {
					return err.Error() + "\n"
				}
				return schema.FormatDDL(s) + "\n"
			case "schema":
				s, err := schema.ParseDDL(ddl)
				if err != nil {
					t.Fatal(err)
				}
				out, err := New(options).Output(s)
				if err != nil {
					return err.Error() + "\n"
				}
				return schema.FormatDDL(out) + "\n"
			}
			t.Fatalf("unknown command %s", d.Cmd)
			return ""
		})
	})
}

// rowOf is the bytes of an input line.
func rowOf(t *testing.T, line string) []byte {
	t.Helper()
	if line == "<nil>" {
		return nil
	}
	if strings.HasPrefix(line, `"`) {
		text, err := strconv.Unquote(line)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		line = text
	}
	return []byte(line)
}

// decide decodes one row as a message, checks that a file decides alike, and shows the outcome.
func decide(t *testing.T, options Options, s *arrow.Schema, row []byte) string {
	t.Helper()
	alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer alloc.AssertSize(t, 0)
	d, err := New(options).NewDecoder(s, alloc)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Release()
	if err = d.Decode(row); err != nil {
		if reject := (*codec.Reject)(nil); !errors.As(err, &reject) {
			t.Fatal(err)
		}
	}
	record := d.Flush()
	defer record.Release()
	outcome := show(t, record, err)
	if len(bytes.TrimSpace(row)) == 0 || bytes.ContainsRune(row, '\n') {
		return outcome
	}
	if inFile := decideInFile(t, options, s, row); inFile != outcome {
		t.Errorf("%q:\nmessage: %s\nfile:    %s", row, outcome, inFile)
	}
	return outcome
}

// decideInFile decodes one row as the only line of a file.
func decideInFile(t *testing.T, options Options, s *arrow.Schema, row []byte) string {
	t.Helper()
	alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer alloc.AssertSize(t, 0)
	file := codec.File{Name: "f", At: bytes.NewReader(row), Size: int64(len(row))}
	var seen int64
	outcome := "nothing"
	for chunk, err := range NewFiles(options).Decode(context.Background(), file, codec.Unit{To: file.Size}, s, alloc, &seen) {
		if err != nil {
			t.Fatal(err)
		}
		if len(chunk.Rejected) == 1 {
			outcome = "rejected: " + chunk.Rejected[0].Reason
		} else {
			outcome = show(t, chunk.Record, nil)
		}
		chunk.Release()
	}
	if seen != 1 {
		t.Errorf("%q: %d rows seen", row, seen)
	}
	return outcome
}

// show is a record of one row as JSON, or why there is none.
func show(t *testing.T, record arrow.RecordBatch, rejected error) string {
	t.Helper()
	if rejected != nil {
		if record.NumRows() != 0 {
			t.Errorf("a rejected row left %d rows", record.NumRows())
		}
		return "rejected: " + rejected.Error()
	}
	e, err := NewEncoder(record.Schema())
	if err != nil {
		t.Fatal(err)
	}
	text, err := e.AppendRow(nil, record, 0)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s", text)
}
