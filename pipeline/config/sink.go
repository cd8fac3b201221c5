package config

import "reflect"

// Sink is where rows go: exactly one of its keys is given.
type Sink struct {
	// A lakehouse table on disk or S3: exactly once.
	Table *Table `yaml:"table" one:"kind of sink"`
	// A folder on local disk, of JSON, CSV or Parquet files for each batch: exactly once.
	Files *FilesSink `yaml:"files" one:"kind of sink"`
	// A table of a PostgreSQL database: exactly once.
	Postgres *Postgres `yaml:"postgres" one:"kind of sink"`
	// Topics of a Kafka cluster: exactly once.
	Kafka *KafkaSink `yaml:"kafka" one:"kind of sink"`
	// A program of yours that is run for each batch: at least once, exactly once if it keeps the batch id. Or SQL statements in DuckDB or PostgreSQL: exactly once.
	ForeachBatch *ForeachBatch `yaml:"foreachbatch" one:"kind of sink"`
	// A service that gets a request for each row: at least once, exactly once if it honours the Idempotency-Key.
	HTTP *HTTPSink `yaml:"http" one:"kind of sink"`
	// The terminal, for trials.
	Console *Console `yaml:"console" one:"kind of sink"`
}

// Table is a lakehouse table.
type Table struct {
	// The table's folder or `s3://bucket/prefix`. It is created if it is missing.
	Path string `yaml:"path" need:"true"`
	// `parquet`: plain Parquet files with a log of our own beside them, for readers of files. `delta`: a Delta Lake table.
	Format string `yaml:"format" enum:"parquet,delta" default:"parquet"`
	// Columns whose values become folders.
	PartitionBy []string `yaml:"partition_by"`
	// How pages of the Parquet files are compressed.
	Compression string `yaml:"compression" enum:"snappy,zstd,none" default:"snappy"`
	// `auto` picks the best encoding of each column; `plain` is for readers that know the old ones only.
	Encoding string `yaml:"encoding" enum:"auto,plain" default:"auto"`
	// Whether new columns of the rows are added to the table, or stop the query.
	SchemaEvolution string `yaml:"schema_evolution" enum:"strict,add_columns" default:"strict"`
	// What a batch does to the rows that the table has. `append` adds to them. `upsert` puts each row in the place of the one with its keys, or takes that out. `overwrite` replaces all rows by the batch. `overwrite_partitions` replaces the partitions that the batch has rows of. All but `append` need `format: delta` or `allow_replaced_files`.
	Mode string `yaml:"mode" enum:"append,upsert,overwrite,overwrite_partitions" default:"append"`
	// For `upsert`: the columns that tell rows apart. Null equals null.
	Keys []string `yaml:"keys"`
	// Of rows of one key in a batch the one counts that is highest in these columns; for `deduplicate_by` the lowest. Left out: the last, and a batch is read by one core, which keeps the order of its source.
	OrderBy []string `yaml:"order_by"`
	// For `upsert`: the column that says whether a row takes its key out of the table. It is not part of the table.
	OperationColumn string `yaml:"operation_column"`
	// The values of operation_column that take out, without regard to case. Left out: `delete` and `d`.
	DeleteValues []string `yaml:"delete_values"`
	// For `append`: rows are dropped whose values in these columns the table has already, or another row of the batch.
	DeduplicateBy []string `yaml:"deduplicate_by"`
	// Upkeep by the running query, between batches.
	Maintenance Maintenance `yaml:"maintenance"`
	// Delete what other attempts of a batch left behind, so that a glob over the folder is exact. Needs the right to delete. For `format: parquet`.
	Sweep bool `yaml:"sweep" default:"on"`
	// Accept that replaced files are still seen by readers of files until vacuum. For `format: parquet` with maintenance, or with another mode than `append`.
	AllowReplacedFiles bool `yaml:"allow_replaced_files"`
	// About how large data files get.
	TargetFileSize Size `yaml:"target_file_size" default:"128MiB"`
	// Properties of a new table, `delta.appendOnly: "true"` for example.
	Properties map[string]string `yaml:"properties"`
}

// Maintenance is upkeep by the running query. Off by default.
type Maintenance struct {
	// How often small files are merged. Left out: never.
	OptimizeEvery Duration `yaml:"optimize_every"`
	// How long files that are no longer part of the table are kept; at least 48h. Left out: for ever.
	VacuumRetain Duration `yaml:"vacuum_retain"`
}

// Postgres is a table of a PostgreSQL database. The position of the query is a row of microbatch_positions, in the same transaction as the rows.
type Postgres struct {
	// The database: `postgres://user@host:5432/database?sslmode=verify-full`, with libpq's parameters. It holds no password.
	URL string `yaml:"url" need:"true"`
	// The password, as `env:NAME` or `file:PATH`. Left out: PGPASSWORD or ~/.pgpass decide.
	Password Secret `yaml:"password"`
	// The table, or schema.table, as it is written: case counts. A name with a dot stands in double quotes.
	Table string `yaml:"table" need:"true"`
	// `append` inserts rows. `upsert` replaces the row with the same keys. `ledger` inserts a row unless one with its key was inserted before, in whatever batch.
	Mode string `yaml:"mode" enum:"append,upsert,ledger" default:"append"`
	// The columns that tell rows apart: for `upsert`, and for `ledger` the one that is the event's id.
	Keys []string `yaml:"keys"`
	// Of rows of one key in a batch the one counts that is highest in these columns; for `ledger` the lowest. Left out: rows of one key that differ stop the query.
	OrderBy []string `yaml:"order_by"`
	// For `upsert`: the column that says whether a row deletes its key. It is not part of the table.
	OperationColumn string `yaml:"operation_column"`
	// The values of operation_column that delete, without regard to case. Left out: `delete` and `d`.
	DeleteValues []string `yaml:"delete_values"`
	// Create the table if it is missing, and beside it microbatch_positions (for `ledger` also microbatch_applied).
	Create bool `yaml:"create" default:"on"`
	// A transaction that takes longer is ended and the batch tried again.
	Timeout Duration `yaml:"timeout" default:"10m"`
}

// ForeachBatch runs a program, or SQL statements, for each batch.
type ForeachBatch struct {
	// The program and its arguments. It reads one Arrow IPC stream on its standard input and exits with 0 when the batch is applied.
	Command []string `yaml:"command" one:"way to apply a batch"`
	// Statements, one each, run in order in one transaction with a ledger of the batches. The rows are the table `batch`; `$query_id` and `$batch_id` say which batch it is.
	SQL []string `yaml:"sql" one:"way to apply a batch"`
	// The file of the DuckDB database that sql runs in. It is made if it is missing, and open only while a batch is applied.
	DuckDB string `yaml:"duckdb"`
	// The PostgreSQL database that sql runs in.
	Postgres *Database `yaml:"postgres"`
	// A program or statement that takes longer is ended and the batch tried again. `0s` is no limit.
	Timeout Duration `yaml:"timeout" default:"0s"`
}

// Database is a PostgreSQL database.
type Database struct {
	// The database: `postgres://user@host:5432/database?sslmode=verify-full`, with libpq's parameters. It holds no password.
	URL string `yaml:"url" need:"true"`
	// The password, as `env:NAME` or `file:PATH`. Left out: PGPASSWORD or ~/.pgpass decide.
	Password Secret `yaml:"password"`
}

// HTTPSink sends each row as a request of its own.
type HTTPSink struct {
	// Where requests go: `https://host/path`, without user and password. Redirects are not followed.
	URL string `yaml:"url" need:"true"`
	// The method of the requests.
	Method string `yaml:"method" enum:"POST,PUT,PATCH" default:"POST"`
	// The columns that tell rows apart for ever. Their values, joined by `-`, are the header Idempotency-Key. Left out: `[_topic, _partition, _offset]`, which `metadata: [topic, partition, offset]` of a Kafka source adds.
	OperationID []string `yaml:"operation_id"`
	// The header Authorization (`Bearer ...`), as `env:NAME` or `file:PATH`.
	Authorization Secret `yaml:"authorization"`
	// Further headers. They are no secrets.
	Headers map[string]string `yaml:"headers"`
	// How many requests are on their way at once. The order of rows is not promised.
	Parallel int `yaml:"parallel" default:"8" min:"1"`
	// How many requests begin in a second, at most; 0 is as many as it takes.
	PerSecond int `yaml:"per_second" default:"0" min:"0"`
	// A request that takes longer is sent again.
	Timeout Duration `yaml:"timeout" default:"30s"`
	// How long a request is repeated that is not answered, or answered with 408, 409, 425, 429 or 5xx. Then the batch is tried again.
	RetryFor Duration `yaml:"retry_for" default:"2m"`
	// A folder or `s3://bucket/prefix` for rows that the service refuses for what they are (400, 422 and the like): a file of JSON lines for each batch that has some. Left out: such a row stops the query.
	Quarantine string `yaml:"quarantine"`
}

// FilesSink makes each batch one folder of files, which appears as a whole.
type FilesSink struct {
	// The folder on local disk. Each batch appears in it as `batch-<id>-<query>/`; readers take `batch-*/*`.
	Path string `yaml:"path" need:"true"`
	// How the files are written: `json` is one object a line.
	Format string `yaml:"format" enum:"json,csv,parquet" default:"json"`
	// How the files are compressed: `none`, `gzip` or `zstd` for json and csv, `snappy`, `zstd` or `none` for parquet. Left out: `none`, for parquet `snappy`.
	Compression string `yaml:"compression" enum:"none,gzip,zstd,snappy"`
	// How CSV is written.
	CSV CSVOut `yaml:"csv"`
}

// CSVOut is how CSV is written: a field is in quotes where it must be, and a quote in it is written twice.
type CSVOut struct {
	// The first line of each file names the columns.
	Header bool `yaml:"header" default:"on"`
	// What stands between fields: one ASCII character; `"\t"` is a tab.
	Delimiter string `yaml:"delimiter" default:","`
	// The text that stands for null. Left out: an empty field.
	Null string `yaml:"null"`
}

// Console prints rows.
type Console struct {
	// How many rows of each batch are printed.
	Rows int `yaml:"rows" default:"20" min:"1"`
	// A table for people, or JSON for programs.
	Format string `yaml:"format" enum:"table,json" default:"table"`
}

// Kind is the key of the sink that is given, "table" for example; "" if none is.
func (s Sink) Kind() string {
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		if !v.Field(i).IsNil() {
			return v.Type().Field(i).Tag.Get("yaml")
		}
	}
	return ""
}
