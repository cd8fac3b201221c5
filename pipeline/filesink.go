package pipeline

import (
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"microbatch/arrowparquet"
	"microbatch/codec"
	"microbatch/codec/csv"
	"microbatch/codec/json"
	"microbatch/pipeline/config"
	"microbatch/sinks"
	"microbatch/sinks/filestage"
)

// files is the sink of one folder of files a batch.
func (b builder) filesSink(f *config.FilesSink) (sinks.Sink, error) {
	c := filestage.Config{Dir: f.Path, Format: f.Format, Extension: f.Format}
	if f.Format == "parquet" {
		c.NewFile = parquetFile(f.Compression)
		return filestage.New(c)
	}
	if f.Format == "json" {
		c.Extension = "ndjson"
	}
	c.Extension += map[string]string{"gzip": ".gz", "zstd": ".zst"}[f.Compression]
	c.NewFile = func(w io.Writer, schema *arrow.Schema) (filestage.File, error) {
		rows, header, err := rowEncoder(f, schema)
		if err != nil {
			return nil, err
		}
		out := &textFile{rows: rows, text: header, out: w, close: func() error { return nil }}
		switch f.Compression {
		case "gzip":
			z := gzip.NewWriter(w)
			out.out, out.close = z, z.Close
		case "zstd":
			z, err := zstd.NewWriter(w, zstd.WithEncoderConcurrency(1))
			if err != nil {
				return nil, err
			}
			out.out, out.close = z, z.Close
		}
		return out, nil
	}
	return filestage.New(c)
}

// rowEncoder is the encoder of a text format, and what a file begins with.
func rowEncoder(f *config.FilesSink, schema *arrow.Schema) (codec.Encoder, []byte, error) {
	if f.Format == "json" {
		e, err := json.NewEncoder(schema)
		return e, nil, err
	}
	e, err := csv.NewEncoder(csv.Options{Header: f.CSV.Header, Delimiter: char(f.CSV.Delimiter), Null: f.CSV.Null}, schema)
	if err != nil || !f.CSV.Header {
		return e, nil, err
	}
	return e, append(e.AppendHeader(nil), '\n'), nil
}

// textFile writes a line for each row.
type textFile struct {
	rows  codec.Encoder
	text  []byte // not written yet
	out   io.Writer
	close func() error
}

// lineBytes is about how much text is gathered before it is written.
const lineBytes = 256 << 10

// Write encodes the rows of a record.
func (f *textFile) Write(r arrow.RecordBatch) (err error) {
	for row := range int(r.NumRows()) {
		if f.text, err = f.rows.AppendRow(f.text, r, row); err != nil {
			return err
		}
		if f.text = append(f.text, '\n'); len(f.text) >= lineBytes {
			if err := f.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (f *textFile) flush() error {
	_, err := f.out.Write(f.text)
	f.text = f.text[:0]
	return err
}

// Close writes what is left, and the end of the compression, which it frees in any case.
func (f *textFile) Close() error { return errors.Join(f.flush(), f.close()) }

// parquetFile begins Parquet files.
func parquetFile(compression string) func(io.Writer, *arrow.Schema) (filestage.File, error) {
	return func(w io.Writer, schema *arrow.Schema) (filestage.File, error) {
		p, err := arrowparquet.NewWriter(w, schema, arrowparquet.Options{Compression: compression})
		if err != nil {
			return nil, err
		}
		return parquetRows{p}, nil
	}
}

type parquetRows struct{ *arrowparquet.Writer }

// Close writes the footer.
func (p parquetRows) Close() error {
	_, err := p.Writer.Close()
	return err
}
