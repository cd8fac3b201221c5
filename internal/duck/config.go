package duck

import (
	"crypto/rand"
	"fmt"
	"path/filepath"
	"strconv"
)

// Config limits a session.
type Config struct {
	Path        string // the database's file, which is made if it is missing; "" is a database in memory
	MemoryLimit int64  // bytes that DuckDB may hold, over all connections; 0 is 1 GiB
	TempDir     string // below it the session spills what does not fit, in a folder of its own; "" is nowhere: such a query fails
	Threads     int    // threads of the whole session; 0 is 1
	Files       bool   // the SQL may read files and load extensions
}

// scanFunction is the table function behind a View: scanFunction(handle of the view). DuckDB pushes the choice of columns into it, and no filters.
const scanFunction = "__microbatch_stream"

// ScanOperator is what EXPLAIN calls the reading of a View.
const ScanOperator = "__MICROBATCH_STREAM"

// DefaultMemoryLimit is the memory limit of a session that sets none, in bytes.
const DefaultMemoryLimit = 1 << 30

// settings are DuckDB's options for the configuration, as given at the opening of a database.
func (c Config) settings() map[string]string {
	memory := c.MemoryLimit
	if memory <= 0 {
		memory = DefaultMemoryLimit
	}
	spill := ""
	if c.TempDir != "" { // sessions that share a folder would take each other's files for their own; DuckDB makes and removes it
		spill = filepath.Join(c.TempDir, "microbatch-duckdb-"+rand.Text())
	}
	return map[string]string{
		"memory_limit":                 strconv.FormatInt(memory, 10) + "B",
		"temp_directory":               spill,
		"threads":                      strconv.Itoa(max(1, c.Threads)),
		"autoinstall_known_extensions": "false",
		"autoload_known_extensions":    "false",
		"allow_persistent_secrets":     "false",
		"errors_as_json":               "true", // the only form that holds the position in the SQL
	}
}

// Column is a column of a query's result, or a field of a STRUCT, as Describe finds it before any row.
type Column struct {
	Name string
	Type Type
}

// Type is a type of DuckDB.
type Type struct {
	Name         string   // "BIGINT", "TIMESTAMP WITH TIME ZONE", "LIST", ...; an alias ("JSON") stands for the type under it
	Width, Scale int32    // of a DECIMAL
	Fields       []Column // of a STRUCT; the element of a LIST or ARRAY; key and value of a MAP
}

// Error is what DuckDB says about a statement.
type Error struct {
	Kind     string // "Binder", "Parser", "Conversion", ...
	Message  string // without the SQL
	Position int    // byte offset in the SQL; -1 if DuckDB names none
	Table    string // the table or file that is not known, if that is the error
}

// Error is DuckDB's message after its kind.
func (e *Error) Error() string { return fmt.Sprintf("%s: %s", e.Kind, e.Message) }
