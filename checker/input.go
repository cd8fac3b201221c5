package checker

import (
	"context"

	"microbatch/objstore"
)

// Input is what is verified, and what is known about it. Only Table is needed.
type Input struct {
	Table  objstore.Store
	Format Format // "": as found
	// Checkpoint of the query that writes the table. nil: rules 7 and 8 rest on the table's log alone.
	Checkpoint objstore.Store
	// Rejected is the table of rejected rows; nil if there is none, or nothing is to be said about it.
	Rejected objstore.Store
	// Query is the query id; "": that of the checkpoint, or without one the only query that has committed.
	Query string
	// IDs are the columns whose values, joined by "/", tell each row apart. Empty: rows are counted, not told apart. Columns are read as Parquet stores them:
	// numbers in decimal, text as it is, null as "". A partition column has its text in the log.
	IDs []string
	// Model says which rows the table has to hold for a range of the input; nil: rules 9 to 11 are not verified. It is asked once per batch.
	Model Model
	// Foreign says whether a version that some other writer made may be there; nil: any may.
	Foreign func(v *Version) bool
	// Orphan says whether a data file that no version names may be there: its attempt failed, or is still at work. nil: they are only listed.
	Orphan func(f OrphanFile) bool
	// Progress is called now and then with how many of the "versions" or "files" to be read were read; nil: by nobody.
	Progress func(what string, done, all int64)
}

// Model is the expected outcome of a batch: what the rows of the source from one end to another become. From is nil for the beginning of the input. Ends are
// the lines of an offsets entry, one per source, "" for a source that has not been read. It may be asked for a range that spans several batches.
type Model func(from, to []string) (Expect, error)

// Expect is what a batch has to come to.
type Expect struct {
	In       int64    // rows of the source
	Filtered int64    // of these the pipeline drops so many
	Out      []string // ids of the rows in the table
	Rejected []string // positions of the rows in the table of rejected rows
}

// OrphanFile is a data file that the log does not name.
type OrphanFile struct {
	Rejected bool // in the table of rejected rows
	Key      string
	Owner    string // who wrote it: a hash of query and shard; "" if the name is not one of ours
	Batch    int64  // -1 if the name is not one of ours
	Attempt  string
}

// Check verifies once, all rules that can be.
func Check(ctx context.Context, in Input) (*Report, error) {
	w := Watch(in)
	if _, err := w.Look(ctx); err != nil {
		return nil, err
	}
	if err := w.Finish(ctx); err != nil {
		return nil, err
	}
	return w.Report(), nil
}
