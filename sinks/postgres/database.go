package postgres

import (
	"context"

	"microbatch/ident"
)

// Database is what the protocol needs of a database, on one connection. It is used by one goroutine, but for Copy, which several may call at once.
type Database interface {
	// Inspect reads what is there. It writes nothing.
	Inspect(ctx context.Context) (Place, error)
	// Create makes what is missing: the sink's own tables, that of applied events if ledger says so, and the target by its definition, if that is not "".
	Create(ctx context.Context, definition string, ledger bool) error
	// Look reads a position as it was committed last, and which other queries have written to the target for the same pipeline and shard. It writes nothing.
	Look(ctx context.Context, k Key) (Look, error)
	// Stage makes an empty stage for rows of these columns, in place of the one before, and returns its number. A stage is invisible to others and
	// ends with the connection.
	Stage(ctx context.Context, w *Work) (Stage, error)
	// Copy adds rows to the stage, in the binary form of COPY.
	Copy(ctx context.Context, st Stage, rows []byte) error
	// Settle is called when all rows are staged. It looks whether there are rows of one key that differ and that nothing orders.
	Settle(ctx context.Context, st Stage, w *Work) error
	// Clear empties the stage, if it still exists.
	Clear(ctx context.Context, st Stage) error
	// Begin begins a transaction. No other method is called until it has ended; one that waits for it may be.
	Begin(ctx context.Context) (Transaction, error)
	// Close ends the connection, and with it the stage.
	Close() error
}

// Transaction is a transaction. What an error leaves of it can only be rolled back.
type Transaction interface {
	// Lock locks the row of a position until the transaction ends, and reads it. create says to make it if it is missing.
	Lock(ctx context.Context, k Key, create bool) (p Position, found bool, err error)
	// Apply does to the target what the staged rows say, and tells how many rows it has put there. An error says also that the stage is gone.
	Apply(ctx context.Context, st Stage, w *Work, k Key, batch ident.BatchID) (written int64, err error)
	// Write writes the position, whose row is locked.
	Write(ctx context.Context, k Key, p Position) error
	// Commit ends it. PostgresUncertain: it may have taken effect, or may yet. With any other error nothing has happened.
	Commit(ctx context.Context) error
	// Rollback ends it without an effect.
	Rollback(ctx context.Context)
}

// Stage is the number of a stage: another one for each attempt. 0 is none.
type Stage int64

// Key is whose position it is, within the target.
type Key struct {
	Query    ident.QueryID
	Shard    ident.Shard
	Pipeline string
}

// Position is what microbatch_positions says of a query.
type Position struct {
	Epoch   ident.Epoch
	Batch   ident.BatchID // ident.NoBatch: none
	Digest  string        // in hex; "" if there is no batch
	Entry   string        // of the run that wrote it
	Offsets string        // the text of the batch's entry
	Rows    int64
}

// nowhere is the position of a query that has written nothing.
var nowhere = Position{Batch: ident.NoBatch}

// Look is what is seen without a lock.
type Look struct {
	Found    bool // there is a row
	Position Position
	Others   []ident.QueryID
}

// Place is what is there.
type Place struct {
	Server    int    // its version as a number: 150004
	Encoding  string // of the database
	Standby   bool   // it only reads
	MayCreate bool   // tables in the schema
	MayStage  bool   // temporary tables
	Target    *Table // nil if it does not exist
	Positions *Table
	Applied   *Table
}

// Table is a table that exists.
type Table struct {
	Kind        string // pg_class.relkind: "r" is a table, "p" a partitioned one
	Persistence string // pg_class.relpersistence: "p" is a permanent one
	Select      bool   // what the user may do
	Insert      bool
	Update      bool
	Delete      bool
	Columns     []Column
	Unique      [][]string // the columns of each unique index that ON CONFLICT can mean
}

// Column is a column of a table that exists.
type Column struct {
	Name      string
	Type      uint32 // of a domain: the one below
	TypeName  string // as PostgreSQL prints it, with its modifier
	BaseName  string // without
	Modifier  int32  // of numeric, varchar, timestamp; -1: none
	NotNull   bool
	Default   bool   // it has a value if none is given
	Generated bool   // it cannot be given one
	Collation string // as SQL; "" if it is the type's own
}
