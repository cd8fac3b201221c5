package foreachbatch

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/ident"
)

// Config configures the sink. Exactly one of Func and Command is set.
type Config struct {
	// Func applies a batch. An error stops the query; the same batch is passed again at the next start.
	Func func(ctx context.Context, b Batch) error
	// Check compares the schema of the rows with what Func wants, before anything is claimed; nil: it takes all rows.
	Check func(in *arrow.Schema) error
	// Command is a program and its arguments.
	Command []string
	// Env is added to this process's environment for the program, as "NAME=value".
	Env []string
	// Dir is the program's working directory; "" is this process's.
	Dir string
	// Output takes what the program writes to standard output and standard error; nil: dropped, except for the end of standard error in a message.
	Output io.Writer
	// Exact says why Func applies a batch that is passed again only once, in half a sentence: a ledger in its own transaction, for example. "" is at least once.
	Exact string
	// Name is what explain calls Func ("sending requests to https://..."), and Remedy what makes it exactly once; "" for a function that only its author knows.
	Name, Remedy string
	// Resends: Func sends again what it got no answer to, so that a row may come twice although its batch is passed once.
	Resends bool
	// What describes Func for the fingerprint, as plain data: a change of it is a change of the pipeline. nil for code, whose changes nobody sees.
	What map[string]any
	// Timeout ends a call that takes longer; 0 is no limit.
	Timeout time.Duration
	// SpoolDir is where a batch's rows wait on local disk; "" is the directory for temporary files.
	SpoolDir string

	Alloc memory.Allocator // nil: Go's heap
}

// Batch is what a function gets.
type Batch struct {
	Query     ident.QueryID
	ID        ident.BatchID // 0, 1, 2, ... without holes
	Epoch     ident.Epoch
	Attempt   ident.Attempt
	Digest    ident.Digest // of the batch's entry in the checkpoint: the same at each try
	Timestamp time.Time    // the same at each try
	Schema    *arrow.Schema
	Count     int64 // of rows

	spool *spool
	alloc memory.Allocator
}

// Rows reads the batch's rows from the beginning. It may be called several times, also at once. The caller releases the reader before the
// function returns; its Err says whether reading ended early.
func (b Batch) Rows() (array.RecordReader, error) { return b.spool.reader(b.alloc) }

func (c Config) withDefaults() (Config, error) {
	var faults []error
	if (c.Func == nil) == (len(c.Command) == 0) {
		faults = append(faults, errors.New("exactly one of a function and a command is required"))
	}
	if c.Timeout < 0 {
		faults = append(faults, errors.New("timeout is negative"))
	}
	if c.SpoolDir == "" {
		c.SpoolDir = os.TempDir()
	}
	if c.Alloc == nil {
		c.Alloc = memory.DefaultAllocator
	}
	return c, errors.Join(faults...)
}
