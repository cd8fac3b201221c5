package parquet

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/arrowparquet"
	"microbatch/codec"
	"microbatch/codec/codectest"
	"microbatch/internal/errcode"
	"microbatch/schema"
)

// ddl parses a schema.
func ddl(t testing.TB, text string) *arrow.Schema {
	t.Helper()
	s, err := schema.ParseDDL(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fileOf writes n rows of a schema, groupRows a row group, every third value null.
func fileOf(t testing.TB, s *arrow.Schema, n, groupRows int) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := arrowparquet.NewWriter(&out, s, arrowparquet.Options{RowGroupRows: int64(groupRows)})
	if err != nil {
		t.Fatal(err)
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, s)
	defer b.Release()
	for i := range n {
		for c, field := range b.Fields() {
			switch field := field.(type) {
			case *array.Int64Builder:
				field.Append(int64(i * (c + 1)))
			case *array.Int32Builder:
				field.Append(int32(i))
			case *array.StringBuilder:
				if i%3 == 0 {
					field.AppendNull()
				} else {
					field.Append(strings.Repeat("x", i%50))
				}
			default:
				field.AppendNull()
			}
		}
		if (i+1)%groupRows == 0 || i == n-1 {
			record := b.NewRecordBatch()
			if err := w.Write(record); err != nil {
				t.Fatal(err)
			}
			record.Release()
		}
	}
	if _, err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestFilesConform(t *testing.T) {
	s := ddl(t, "id BIGINT, name STRING, amount DOUBLE, at TIMESTAMP, tags ARRAY<STRING>, missing MAP<STRING, INT>")
	content := fileOf(t, ddl(t, "name STRING, id BIGINT, other INT, amount DOUBLE, at TIMESTAMP, tags ARRAY<STRING>"), 5000, 300)
	codectest.Files(t, codectest.FilesCase{
		Format: New(Options{}), Schema: s, Good: content, Rows: 5000,
		Targets: []int64{1000, 1, 5000, 20_000},
		Hostile: [][]byte{nil, []byte("PAR1"), []byte("PAR1PAR1PAR1"), content[:len(content)-1], content[4:], bytes.Repeat([]byte("PAR1"), 1000)},
	})
}

// decodeError is the error that ends the decoding of a file.
func decodeError(t *testing.T, s *arrow.Schema, file codec.File) (last error) {
	t.Helper()
	alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
	defer alloc.AssertSize(t, 0)
	var seen int64
	for chunk, err := range New(Options{}).Decode(context.Background(), file, codec.Unit{To: file.Size}, s, alloc, &seen) {
		chunk.Release()
		last = err
	}
	return last
}

func fileAt(content []byte) codec.File {
	return codec.File{Name: "in/a.parquet", At: bytes.NewReader(content), Size: int64(len(content))}
}

func TestTypeMismatchNamesFileAndColumn(t *testing.T) {
	content := fileOf(t, ddl(t, "id BIGINT, name STRING"), 10, 10)
	err := decodeError(t, ddl(t, "id STRING, name STRING"), fileAt(content))
	if !errcode.Has(err, errcode.FormatSchema) || !strings.Contains(err.Error(), "in/a.parquet") || !strings.Contains(err.Error(), "id") {
		t.Errorf("got %v", err)
	}
	err = decodeError(t, ddl(t, "id BIGINT, more STRING NOT NULL"), fileAt(content))
	if !errcode.Has(err, errcode.FormatSchema) || !strings.Contains(err.Error(), "more") {
		t.Errorf("a missing NOT NULL column: %v", err)
	}
}

func TestDamagedFileNamesThePlace(t *testing.T) {
	content := fileOf(t, ddl(t, "id BIGINT, name STRING"), 1000, 100)
	s := ddl(t, "id BIGINT, name STRING")
	for name, damaged := range map[string][]byte{"no footer": content[:100], "empty": nil, "no pages": append(make([]byte, len(content)/2), content[len(content)/2:]...)} {
		if err := decodeError(t, s, fileAt(damaged)); !errcode.Has(err, errcode.FormatDamaged) || !strings.Contains(err.Error(), "in/a.parquet") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCompressedFileIsRefused(t *testing.T) {
	err := decodeError(t, ddl(t, "id BIGINT"), codec.File{Name: "a.parquet.gz", Stream: io.LimitReader(strings.NewReader(""), 0)})
	if !errcode.Has(err, errcode.FormatCompressed) {
		t.Errorf("got %v", err)
	}
}

func TestInferredColumnsAreNullable(t *testing.T) {
	content := fileOf(t, ddl(t, "id BIGINT NOT NULL, name STRING, at TIMESTAMP_NTZ"), 10, 10)
	s, err := New(Options{}).Infer(context.Background(), fileAt(content))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := schema.FormatDDL(s), "id BIGINT, name STRING, at TIMESTAMP_NTZ"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
