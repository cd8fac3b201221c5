package lakehouse

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/objstore"
	"microbatch/table/datafile"
	"microbatch/table/translog"
)

// Schema evolutions.
const (
	Strict     = "strict"      // the rows' columns must be the table's, or fewer
	AddColumns = "add_columns" // new columns are added to the table in the commit that brings them
)

// Config are a table sink's settings.
type Config struct {
	Store           objstore.Store // the table's place
	URL             string         // how messages and the fingerprint name it; Store.URL() if empty
	Format          string         // "parquet" (default) or "delta"
	PartitionBy     []string
	SchemaEvolution string            // Strict (default) or AddColumns
	Compression     string            // "snappy" (default), "zstd" or "none"
	Encoding        string            // "auto" (default) or "plain"
	TargetFileBytes int64             // a file ends soon after it is this long; 128 MiB
	Properties      map[string]string // of a new table
	Merge           Merge             // what a batch does to the rows that the table has; it is appended if zero
	MaxKeyBytes     int64             // memory for the keys of a batch that is matched with the table's rows; 1 GiB
	Maintenance     Maintenance
	// SweepOff: files of other attempts are left to vacuum, for a writer without the right to delete.
	SweepOff bool
	// AllowReplacedFiles: optimize may run on format parquet, although plain Parquet readers see its old files until vacuum.
	AllowReplacedFiles bool
	// AppSuffix is appended to the query id in the log: "/rejected" for the table of rejected rows.
	AppSuffix string

	Parallel int    // parts pulled at once; the number of processors if 0
	TempDir  string // for rows beyond the open files; the system's if empty
	Alloc    memory.Allocator
	Now      func() time.Time // the clock for what is written
}

// Maintenance is what the sink does between batches. The zero value writes log checkpoints and cleans the log, no more.
type Maintenance struct {
	OptimizeEvery time.Duration // small files are joined this often; 0: never
	VacuumRetain  time.Duration // removed and orphaned files older than this are deleted, looked at daily; 0: never; at least 48 h
}

// withDefaults fills in what is zero and reports all that is wrong.
func (c Config) withDefaults() (Config, error) {
	var errs []error
	if c.Store == nil {
		errs = append(errs, errors.New("no store"))
	} else if c.URL == "" {
		c.URL = c.Store.URL()
	}
	c.Format = or(c.Format, string(translog.Parquet))
	c.SchemaEvolution = or(c.SchemaEvolution, Strict)
	c.TargetFileBytes = or(c.TargetFileBytes, 128<<20)
	c.Parallel = or(c.Parallel, runtime.GOMAXPROCS(0))
	if c.Alloc == nil {
		c.Alloc = memory.DefaultAllocator
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	_, err := datafile.Parquet(c.Compression, c.Encoding)
	merge, mergeErr := c.Merge.withDefaults()
	c.Merge = merge
	errs = append(append(errs, c.refuse()...), mergeErr,
		oneOf("format", c.Format, string(translog.Parquet), string(translog.Delta)),
		oneOf("schema_evolution", c.SchemaEvolution, Strict, AddColumns),
		err)
	if r := c.Maintenance.VacuumRetain; r != 0 && r < translog.MinRetention {
		errs = append(errs, fmt.Errorf("vacuum_retain: %s is too short: at least %s", r, translog.MinRetention))
	}
	if c.Maintenance.OptimizeEvery > 0 && c.Format == string(translog.Parquet) && !c.AllowReplacedFiles {
		errs = append(errs, errors.New("optimize_every: with format parquet the replaced files stay visible to plain Parquet readers until vacuum: set allow_replaced_files: true, or use format delta"))
	}
	return c, errors.Join(errs...)
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

func oneOf(name, value string, allowed ...string) error {
	for _, a := range allowed {
		if value == a {
			return nil
		}
	}
	return fmt.Errorf("%s: %q is none of %q", name, value, allowed)
}
