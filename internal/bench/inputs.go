package main

import (
	"bufio"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"microbatch/internal/duck"
)

// An input is one file that both sides read, and what they have to know of it.
type input struct {
	name        string
	file        string // its name, whose ending says what it is
	format      string // ours
	rows        int    // of a hundred that the large inputs have
	append      func(*generator, []byte) []byte
	schema      string // ours
	columns     string // DuckDB's
	hash        string // what a row is compared by
	partitionBy string
	query       string // what is done to the rows, over the table "batch"; "" is nothing
}

func events(name, file string, row func(*generator, []byte) []byte) input {
	return input{name: name, file: file, format: "json", rows: 100, append: row, schema: eventsDDL, columns: eventsDuckDB, hash: eventsHash}
}

func plain() input { return events("plain", "events.ndjson", (*generator).append) }

func csvInput() input {
	in := events("csv", "events.csv", commaSeparated)
	in.format = "csv"
	return in
}

func parquetInput() input {
	in := plain()
	in.name, in.file, in.format = "parquet", "events.parquet", "parquet"
	return in
}

func nestedInput() input {
	in := events("nested", "events.ndjson", nested)
	in.schema, in.columns, in.hash = nestedDDL, nestedDuckDB, nestedHash
	return in
}

func wideInput() input {
	in := events("wide", "rows.ndjson", wide)
	in.rows = 5
	in.schema, in.columns, in.hash = wideSchema()
	return in
}

func longInput() input {
	in := events("long", "rows.ndjson", long)
	in.rows, in.schema, in.columns, in.hash = 0, "id BIGINT, body STRING", "id: 'BIGINT', body: 'VARCHAR'", "id, body"
	return in
}

func deepInput() input {
	in := events("deep", "rows.ndjson", deep)
	in.schema, in.columns = deepSchema()
	in.rows, in.hash = 25, "id, top"
	return in
}

func bucketedInput() input {
	in := events("partitions", "rows.ndjson", bucketed)
	in.schema, in.columns, in.hash, in.partitionBy = in.schema+", bucket INT", in.columns+", bucket: 'INTEGER'", in.hash+", bucket::INTEGER", "bucket"
	in.rows = 50
	return in
}

// count is how many rows the input has. Of the longest rows there is one for 400 others.
func (in input) count(b *bench) int {
	if in.rows == 0 {
		return max(b.rows/400, 1)
	}
	return b.rows * in.rows / 100
}

// reader is how DuckDB reads the input.
func (in input) reader(file string) string {
	switch in.format {
	case "csv":
		return fmt.Sprintf("read_csv(%s, header = true, columns = {%s})", duck.Literal(file), in.columns)
	case "parquet":
		return fmt.Sprintf("read_parquet(%s)", duck.Literal(file))
	}
	return fmt.Sprintf("read_json(%s, format = 'newline_delimited', columns = {%s})", duck.Literal(file), in.columns)
}

// make writes the input, unless it is there already, and returns its folder.
func (in input) make(ctx context.Context, b *bench) (string, error) {
	dir := filepath.Join(b.dir, "inputs", fmt.Sprintf("%s-%d", in.name, in.count(b)))
	file := filepath.Join(dir, in.file)
	if _, err := os.Stat(file); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	b.say("writing %s", file)
	half := filepath.Join(dir, "."+in.file) // the source does not see it
	var err error
	if in.format == "parquet" {
		err = in.makeParquet(ctx, b, half)
	} else {
		err = in.makeText(half, in.count(b))
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	return dir, os.Rename(half, file)
}

// makeParquet has DuckDB make a file of the plain rows, with points in time as TIMESTAMP has them.
func (in input) makeParquet(ctx context.Context, b *bench, file string) error {
	from, err := plain().make(ctx, b)
	if err != nil {
		return err
	}
	_, err = b.duckdb(ctx, from, fmt.Sprintf("COPY (SELECT * REPLACE (ts::TIMESTAMPTZ AS ts) FROM %s) TO %s (FORMAT parquet, COMPRESSION snappy)", plain().reader(filepath.Join(from, plain().file)), duck.Literal(file)))
	return err
}

func (in input) makeText(file string, rows int) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	packed, err := packer(f, in.file)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(packed, 1<<20)
	g := newGenerator(1)
	var line []byte
	if in.format == "csv" {
		line = append(line, strings.Join(g.names, ",")...)
		line = append(line, '\n')
	}
	for range rows {
		line = in.append(g, line)
		if _, err := out.Write(line); err != nil {
			return err
		}
		line = line[:0]
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return packed.Close()
}

// packer compresses what is written, as the name of the file says. The file itself stays open.
func packer(f io.Writer, name string) (io.WriteCloser, error) {
	switch filepath.Ext(name) {
	case ".gz":
		return gzip.NewWriter(f), nil
	case ".zst":
		return zstd.NewWriter(f)
	}
	return unpacked{f}, nil
}

type unpacked struct{ io.Writer }

func (unpacked) Close() error { return nil }

// splitEvents is a folder with the plain rows in a number of files, and their names.
func (b *bench) splitEvents(rows, parts int) (string, error) {
	dir := filepath.Join(b.dir, "inputs", fmt.Sprintf("split-%d-%d", rows, parts))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	half := dir + ".half"
	if err := os.RemoveAll(half); err != nil {
		return "", err
	}
	if err := os.MkdirAll(half, 0o755); err != nil {
		return "", err
	}
	g := newGenerator(1)
	for i := range parts {
		var lines []byte
		for range rows / parts {
			lines = g.append(lines)
		}
		if err := os.WriteFile(filepath.Join(half, fmt.Sprintf("%04d.ndjson", i)), lines, 0o644); err != nil {
			return "", err
		}
	}
	return dir, os.Rename(half, dir)
}
