package config

// Sink is where rows go: exactly one of table, foreachbatch and console.
type Sink struct {
	// A lakehouse table on disk or S3: exactly once.
	Table *Table `yaml:"table" one:"kind of sink"`
	// A program of yours that is run for each batch: at least once, exactly once if it keeps the batch id.
	ForeachBatch *ForeachBatch `yaml:"foreachbatch" one:"kind of sink"`
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
	// Upkeep by the running query, between batches.
	Maintenance Maintenance `yaml:"maintenance"`
	// Delete what other attempts of a batch left behind, so that a glob over the folder is exact. Needs the right to delete. For `format: parquet`.
	Sweep bool `yaml:"sweep" default:"on"`
	// Accept that optimized files are still seen by readers of files until vacuum. For `format: parquet` with maintenance.
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

// ForeachBatch runs a program for each batch.
type ForeachBatch struct {
	// The program and its arguments. It reads one Arrow IPC stream on its standard input and exits with 0 when the batch is applied.
	Command []string `yaml:"command" need:"true"`
	// A program that takes longer is killed and the batch tried again. `0s` is no limit.
	Timeout Duration `yaml:"timeout" default:"0s"`
}

// Console prints rows.
type Console struct {
	// How many rows of each batch are printed.
	Rows int `yaml:"rows" default:"20" min:"1"`
	// A table for people, or JSON for programs.
	Format string `yaml:"format" enum:"table,json" default:"table"`
}
