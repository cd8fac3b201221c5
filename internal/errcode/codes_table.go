package errcode

// Errors of tables and their logs.
var (
	// TableFormat: the log found is of the other format than asked for, or there are two.
	TableFormat = Code{ID: "MB1201", Title: "the table's format differs", Class: Config, Safe: "Nothing was written.",
		Next: "Set `format` to what the table is, or choose another path."}
	// TableFeature: the table needs something that this program lacks.
	TableFeature = Code{ID: "MB1202", Title: "the table needs a feature that is not supported", Class: Config, Safe: "Nothing was written; the table is as it was.",
		Next: "Drop the feature from the table with the engine that set it, or write to another table."}
	// TableSchema: rows and table do not fit.
	TableSchema = Code{ID: "MB1203", Title: "the table's schema differs", Class: Config, Safe: "The table is as it was; nothing of this batch is visible.",
		Next: "Change the pipeline to the table's columns, set `schema_evolution: add_columns` for new ones, or choose another path."}
	// TablePartitions: the partition columns differ or cannot be.
	TablePartitions = Code{ID: "MB1204", Title: "the table's partition columns differ", Class: Config, Safe: "The table is as it was.",
		Next: "Set `partition_by` to the table's own columns; another partitioning needs a new table."}
	// TableLog: the log contradicts itself or lacks an entry.
	TableLog = Code{ID: "MB1205", Title: "the table's log is damaged", Class: Corrupt, Safe: "Data files are as they were; nothing was written.",
		Next: "Restore the named log file from a backup. `microbatch table check` with `--against-checkpoint` says which batches the log no longer tells of."}
	// TableReplaced: another table stands at the place.
	TableReplaced = Code{ID: "MB1206", Title: "the table was dropped and made again", Class: Corrupt, Safe: "Nothing was written to the new table.",
		Next: "If the new table is meant, start with a fresh checkpoint; else restore the old one."}
	// TableForeignBatch: somebody else commits under the query's id.
	TableForeignBatch = Code{ID: "MB1207", Title: "another checkpoint commits under this query id", Class: Corrupt, Safe: "Nothing of this batch was written.",
		Next: "A checkpoint was copied or restored: stop the other query, or start this one with a fresh checkpoint and `--new-query`."}
	// TableAhead: the table holds a later batch of this query.
	TableAhead = Code{ID: "MB1208", Title: "the table is ahead of the checkpoint", Class: Corrupt, Safe: "Nothing of this batch was written.",
		Next: "An older checkpoint was restored: see `microbatch checkpoint repair`."}
	// TableFenced: a newer driver has committed.
	TableFenced = Code{ID: "MB1209", Title: "a newer driver has taken over", Class: Fenced, Safe: "Nothing of this batch became visible by this process.",
		Next: "Nothing: the newer driver works. If it was started by mistake, stop it and start again."}
	// TableConflict: a foreign writer changed what the batch was prepared on.
	TableConflict = Code{ID: "MB1210", Title: "another writer changed the table", Class: Conflict, Safe: "Nothing of this batch is visible.",
		Next: "Nothing: the batch is prepared again. If it repeats, let one writer at a time change schema or files."}
	// TableUncertain: the commit may or may not have landed.
	TableUncertain = Code{ID: "MB1211", Title: "the commit's outcome is unknown", Class: Uncertain, Safe: "Nothing is deleted; the batch is visible once or will be committed once.",
		Next: "Nothing: recovery reads the log. Check the store if it repeats."}
	// TableHole: the commit landed where the log had been cleaned.
	TableHole = Code{ID: "MB1212", Title: "the commit landed behind the log's clean-up", Class: Fenced, Safe: "No reader sees the entry: the log begins after it.",
		Next: "This process had slept while others worked. Start it again; `table vacuum` removes its files."}
	// TablePartitionValue: a value cannot name a directory.
	TablePartitionValue = Code{ID: "MB1213", Title: "a value cannot be a partition", Class: Data, Safe: "Nothing of this batch is visible.",
		Next: "Partition by a shorter or derived column, or filter the row."}
	// TablePath: the log names a file outside the table.
	TablePath = Code{ID: "MB1214", Title: "the log names a file outside the table", Class: Corrupt, Safe: "The file was not opened.",
		Next: "Tables made by a shallow clone are not read. Copy the table with its files."}
	// TableColumn: a column cannot be stored.
	TableColumn = Code{ID: "MB1215", Title: "a column cannot be stored in this table", Class: Config, Safe: "Nothing was written.",
		Next: "Rename or cast the column."}
	// TableNoLog: there are files but no log.
	TableNoLog = Code{ID: "MB1216", Title: "the directory holds Parquet files but no table log", Class: Config, Safe: "Nothing was written.",
		Next: "Choose an empty path: a plain reader would mix the old files with the new table."}
	// TableBusy: no free version within the time for a commit.
	TableBusy = Code{ID: "MB1217", Title: "too many writers: no free version in time", Class: Retry, Safe: "Nothing of this batch is visible.",
		Next: "Nothing: it is tried again. Fewer writers, or longer triggers, help."}
	// TableForce: an action would leave replaced files in sight of plain readers.
	TableForce = Code{ID: "MB1218", Title: "replaced files would stay visible to plain Parquet readers", Class: Config, Safe: "Nothing was written.",
		Next: "Repeat with --force (in a pipeline: allow_replaced_files: true) if all readers use the log, or vacuum soon after."}
	// TableRetention: files might still be needed.
	TableRetention = Code{ID: "MB1219", Title: "the retention is too short", Class: Config, Safe: "Nothing was deleted.",
		Next: "Keep at least 48 hours (and what the table's properties say), or use --force when nothing else runs."}
	// TableFile: a data file is missing or damaged.
	TableFile = Code{ID: "MB1220", Title: "a data file is missing or damaged", Class: Corrupt, Safe: "Nothing was written.",
		Next: "Restore the file from a backup, or remove its rows with the engine of your choice."}
	// TableVersion: the version is not there.
	TableVersion = Code{ID: "MB1221", Title: "the version is not available", Class: Config, Safe: "Nothing was written.",
		Next: "`microbatch table history` lists the versions that can be read."}
	// TableNull: a null for a column that must not hold one.
	TableNull = Code{ID: "MB1222", Title: "null in a column that is NOT NULL", Class: Data, Safe: "Nothing of this batch is visible.",
		Next: "Filter the row or fill the column in the pipeline."}
	// TableDisagrees: table and checkpoint were compared and contradict each other.
	TableDisagrees = Code{ID: "MB1223", Title: "the table is not what the checkpoint claims", Class: Corrupt, Safe: "Nothing was written.",
		Next: "Each line of the report says what to do; `microbatch checkpoint repair --dry-run` says what can be rebuilt. Until then do not start the query."}
	// TableKeys: the columns by which rows are matched are missing or of a type without equality.
	TableKeys = Code{ID: "MB1224", Title: "rows cannot be matched by these columns", Class: Config, Safe: "Nothing was written.",
		Next: "Name columns of the rows, after all transforms: keys and deduplicate_by may be of any type but FLOAT, DOUBLE, ARRAY, MAP and STRUCT; order_by may be a number too."}
	// TableNoOrder: several rows of a batch have one key, and order_by does not say which counts.
	TableNoOrder = Code{ID: "MB1225", Title: "order_by does not say which of several rows counts", Class: Data, Safe: "Nothing of this batch is visible.",
		Next: "Add a column to order_by that tells which row is newer (of a Kafka topic: metadata: [offset] and order_by: [..., _offset]), or leave order_by out: then the last row counts. Start once with --accept-change."}
	// TableKeysTooMany: the keys of a batch do not fit into memory.
	TableKeysTooMany = Code{ID: "MB1226", Title: "the keys of a batch take too much memory", Class: Config, Safe: "Nothing of this batch is visible.",
		Next: "Lower trigger.max_rows (or max_files). The batch that is pending has its range already: start once with more memory, or lower the limits before the next backlog."}
	// TableAppendOnly: the table takes new rows only.
	TableAppendOnly = Code{ID: "MB1227", Title: "the table only takes new rows", Class: Config, Safe: "Nothing was written.",
		Next: "Use mode: append, or have the table's owner unset its property delta.appendOnly."}
)

// tableCodes are MB12xx: table and its log.
var tableCodes = []Code{
	TableFormat, TableFeature, TableSchema, TablePartitions, TableLog, TableReplaced, TableForeignBatch, TableAhead, TableFenced, TableConflict,
	TableUncertain, TableHole, TablePartitionValue, TablePath, TableColumn, TableNoLog, TableBusy, TableForce, TableRetention, TableFile,
	TableVersion, TableNull, TableDisagrees, TableKeys, TableNoOrder, TableKeysTooMany, TableAppendOnly,
}
