package filestage

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"microbatch/sinks"
	"microbatch/sinks/sinktest"
)

// lines writes the numbers of a column called id, one a line, as JSON.
type lines struct{ w io.Writer }

func (l lines) Write(r arrow.RecordBatch) error {
	for _, id := range r.Column(0).(*array.Int64).Int64Values() {
		if _, err := fmt.Fprintf(l.w, "{\"id\":%d}\n", id); err != nil {
			return err
		}
	}
	return nil
}
func (lines) Close() error { return nil }

func config(dir string) Config {
	return Config{Dir: dir, Format: "json", Extension: "ndjson", NewFile: func(w io.Writer, _ *arrow.Schema) (File, error) { return lines{w}, nil }}
}

// ids are the numbers that the documented glob finds.
func ids(t *testing.T, dir string) (out []int64) {
	t.Helper()
	files, err := filepath.Glob(dir + "/batch-*/*.ndjson")
	must(t, err)
	for _, name := range files {
		f, err := os.Open(name)
		must(t, err)
		for s := bufio.NewScanner(f); s.Scan(); {
			var row struct{ ID int64 }
			must(t, json.Unmarshal(s.Bytes(), &row))
			out = append(out, row.ID)
		}
		must(t, f.Close())
	}
	return out
}

// tree lists all that is in a folder, with the content of small files.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	must(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fmt.Fprintln(&b, strings.TrimPrefix(path, dir))
		if !d.IsDir() {
			text, err := os.ReadFile(path)
			b.Write(text)
			return err
		}
		return nil
	}))
	return b.String()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestFileStageConforms(t *testing.T) {
	sinktest.Run(t, func(t *testing.T) sinktest.Harness {
		dir := t.TempDir()
		return sinktest.Harness{
			Open: func(t *testing.T) sinks.Sink {
				s, err := New(config(dir))
				must(t, err)
				return s
			},
			Rows:  func(t *testing.T) []int64 { return ids(t, dir) },
			State: func(t *testing.T) string { return tree(t, dir) },
		}
	})
}
