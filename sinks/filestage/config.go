package filestage

import (
	"errors"
	"io"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/objstore/localfs"
)

// Config configures the sink.
type Config struct {
	// Dir is the folder that batches appear in. It is made if it is missing.
	Dir string
	// FS is the file system of the folder; nil: the operating system's, at Dir.
	FS localfs.FS
	// Format is what the files are, for messages and the fingerprint: "json".
	Format string
	// Extension ends the files' names: "ndjson", "csv.gz".
	Extension string
	// NewFile begins a file of the format. It is called for each part of a batch that has rows, from several goroutines.
	NewFile func(w io.Writer, schema *arrow.Schema) (File, error)
}

// File is an open data file. It is used by one goroutine.
type File interface {
	// Write appends the rows of a record, which stays the caller's.
	Write(arrow.RecordBatch) error
	// Close ends the format's own framing (a footer, a compressor's last block) and frees what the format holds, also after an error. It does not close the writer
	// below. It is called once, also of a file that is given up: what it writes then goes nowhere.
	Close() error
}

func (c Config) validate() error {
	var faults []error
	if c.Dir == "" && c.FS == nil {
		faults = append(faults, errors.New("a folder is required"))
	}
	if c.Format == "" || c.Extension == "" || c.NewFile == nil {
		faults = append(faults, errors.New("a format, an extension and a way to begin files are required"))
	}
	return errors.Join(faults...)
}
