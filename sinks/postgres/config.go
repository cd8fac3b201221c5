package postgres

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/codec"
	"microbatch/internal/secret"
)

// The modes.
const (
	Append = "append" // rows are inserted
	Upsert = "upsert" // the last row of a key counts
	Ledger = "ledger" // the first row of a key counts, for ever
)

// Config are a sink's settings.
type Config struct {
	// URL is postgres://user@host:port/database, with the parameters of libpq (sslmode, sslrootcert, connect_timeout, ...), or libpq's own form. It holds no password.
	URL string
	// Password is the user's. None: what libpq would take (PGPASSWORD, .pgpass), or no password.
	Password secret.Secret
	// Table is the table's name, or schema.table, written as it is: case counts. A name with a dot or a quote stands in double quotes, as in SQL.
	Table string
	Mode  string   // Append (default), Upsert, Ledger or SQL
	Keys  []string // the columns of the key: at least one for Upsert, exactly one for Ledger, none for Append
	// OrderBy decides between rows of one key in a batch: for Upsert the one counts that is highest in these columns, for Ledger the lowest; nulls are lowest. Without
	// it, rows of one key that differ are an error.
	OrderBy []string
	// OperationColumn is a column of the rows, of type STRING, that is not written: where it has one of DeleteValues, the row of that key is deleted. For Upsert.
	OperationColumn string
	DeleteValues    []string // without regard to case; delete and d if empty
	// SQL are the statements of mode SQL, one each, run in order. They read the rows as batch; $query_id and $batch_id say which batch it is. Table is then "".
	SQL []string
	// CreateOff: a table that is missing is an error instead of being created. The sink's own tables too.
	CreateOff bool
	// Timeout ends a transaction that takes longer; 10 minutes if 0.
	Timeout time.Duration
	// RetryFor is how long a server that does not answer is asked again before that is an error; 30 s if 0.
	RetryFor time.Duration

	// JSON makes an encoder of rows as JSON objects: for columns that become jsonb, and for what is kept of rows that are rejected.
	JSON func(*arrow.Schema) (codec.Encoder, error)

	Parallel int // parts encoded at once; the number of processors if 0
	Alloc    memory.Allocator
}

// withDefaults fills in what is zero and reports all that is wrong.
func (c Config) withDefaults() (Config, error) {
	var faults []error
	wrong := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	c.Mode = or(c.Mode, Append)
	c.Timeout = or(c.Timeout, 10*time.Minute)
	c.RetryFor = or(c.RetryFor, 30*time.Second)
	c.Parallel = or(c.Parallel, runtime.GOMAXPROCS(0))
	if c.Alloc == nil {
		c.Alloc = memory.DefaultAllocator
	}
	if c.JSON == nil {
		wrong("no encoder of JSON")
	}
	faults = append(faults, c.checkSQL()...)
	if c.Mode == SQL && c.Table == "" {
		c.Table = statementsTable
	}
	switch n := len(c.Keys); {
	case (c.Mode == Append || c.Mode == SQL) && n > 0:
		wrong("keys: mode %s has none", c.Mode)
	case c.Mode == Upsert && n == 0:
		wrong("keys: mode upsert needs at least one")
	case c.Mode == Ledger && n != 1:
		wrong("keys: mode ledger needs exactly one, the event's id")
	case !slices.Contains([]string{Append, Upsert, Ledger, SQL}, c.Mode):
		wrong("mode: %q is none of append, upsert, ledger, sql", c.Mode)
	}
	if c.OperationColumn != "" && c.Mode != Upsert {
		wrong("operation_column: it is for mode upsert")
	}
	if c.OperationColumn == "" && len(c.DeleteValues) > 0 {
		wrong("delete_values: they are values of operation_column")
	}
	if c.OperationColumn != "" && len(c.DeleteValues) == 0 {
		c.DeleteValues = []string{"delete", "d"}
	}
	if (c.Mode == Append || c.Mode == SQL) && len(c.OrderBy) > 0 {
		wrong("order_by: it decides between rows of one key; mode %s has no keys", c.Mode)
	}
	for i, k := range c.Keys {
		if among(c.Keys[:i], k) {
			wrong("keys: %q stands there twice", k)
		}
	}
	if among(slices.Concat(c.Keys, c.OrderBy), c.OperationColumn) {
		wrong("operation_column: it is not part of the table, so it can be neither a key nor in order_by")
	}
	if _, err := parseName(c.Table); err != nil {
		wrong("table: %w", err)
	}
	return c, errors.Join(faults...)
}

// among finds a name without regard to case.
func among(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}

func or[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}
