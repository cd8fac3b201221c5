package errcode

// Codes of the sinks that are not tables.
var (
	ForeachFailed = Code{ID: "MB5001", Title: "the foreachbatch function returned an error", Class: Data,
		Safe: "The batch is not recorded: it is passed again, with the same batch id, at the next start. What the function had done before the error stays done.",
		Next: "Correct the function or what it writes to, and start again."}
	CommandFailed = Code{ID: "MB5002", Title: "the foreachbatch command did not exit with status 0", Class: Data,
		Safe: "The batch is not recorded: it is passed again, with the same batch id, at the next start. What the command had done before it ended stays done.",
		Next: "Read the end of its error output above, correct it, and start again."}
	CommandMissing = Code{ID: "MB5003", Title: "the foreachbatch command cannot be started", Class: Config,
		Safe: "Nothing was written.",
		Next: "Check the first word of `command`: it must be an executable on PATH or a path to one."}
	CommandTimeout = Code{ID: "MB5004", Title: "the foreachbatch function or command took too long and was ended", Class: Retry,
		Safe: "The batch is not recorded: it is passed again with the same batch id, at most `max_restarts` times in a row.",
		Next: "Raise `timeout` of the sink, lower `max_rows` of the trigger, or make the command faster."}
	SpoolFailed = Code{ID: "MB5005", Title: "the rows of a batch could not be spooled to local disk", Class: Stop,
		Safe: "The batch was not passed on, and nothing of it is visible.",
		Next: "Free space in the folder for temporary files (TMPDIR, or for foreachbatch its `spool_dir`), or name another one, and start again."}
	ConsoleFailed = Code{ID: "MB5006", Title: "the console sink could not write", Class: Stop,
		Safe: "The batch is not recorded and is printed again at the next start.",
		Next: "Check where the output goes (a closed pipe, a full disk)."}
	ForeachSQL = Code{ID: "MB5007", Title: "a statement of foreachbatch failed", Class: Data,
		Safe: "The transaction was rolled back: nothing of the batch is in the database. The batch comes again at the next start.",
		Next: "Correct the statement, or the table it works on, and start again."}
	DuckDBLocked = Code{ID: "MB5008", Title: "another process has the DuckDB file open", Class: Retry,
		Safe: "Nothing of the batch is in the database. It is tried again.",
		Next: "DuckDB lets one process in at a time: end the other one's session, or open the file there with -readonly between batches."}
	LedgerIsolation = Code{ID: "MB5009", Title: "the database does not give the ledger a transaction that is read committed", Class: Config,
		Safe: "The transaction was rolled back: nothing of the batch is in the database.",
		Next: "Use a driver of database/sql that passes sql.TxOptions on; on CockroachDB, allow READ COMMITTED in the cluster's settings."}
	LedgerBusy = Code{ID: "MB5010", Title: "the database has ended the transaction of a batch in favour of another one", Class: Retry,
		Safe: "Nothing of the batch is in the database. It is applied again, at most `max_restarts` times in a row.",
		Next: "If it comes often, look which other transactions change the same rows, and in which order."}
	DuckDBFailed = Code{ID: "MB5011", Title: "the DuckDB file cannot be opened or written", Class: Stop,
		Safe: "The batch is not recorded. If its transaction was committed nevertheless, the ledger beside the rows says so, and it is not applied again.",
		Next: "Read what DuckDB says: a folder that is missing, rights, a full disk, a file of another program or of a newer DuckDB. Then start again."}
	HTTPRefused = Code{ID: "MB5021", Title: "the service refuses a request", Class: Data,
		Safe: "The batch is not recorded: it is sent again at the next start, with the same Idempotency-Key for each row.",
		Next: "Read the answer above. 401 and 403 are the `authorization`, 404 and 405 the `url` and `method`; with `quarantine`, rows that the service refuses for what they are do not stop the query."}
	HTTPUnanswered = Code{ID: "MB5022", Title: "the service does not answer, or asks to come later", Class: Retry,
		Safe: "The batch is not recorded: it is sent again, with the same Idempotency-Key for each row.",
		Next: "Look whether the service works; raise `retry_for`, or lower `parallel` and `per_second`."}
	HTTPColumns = Code{ID: "MB5023", Title: "a row has no operation id", Class: Data,
		Safe: "No request was sent for it, and its batch is not recorded.",
		Next: "Name columns in `operation_id` that tell every row apart and are never null: for Kafka add metadata: [topic, partition, offset] to the source."}
	FileStageDamaged = Code{ID: "MB5041", Title: "the record of a batch of files is damaged", Class: Corrupt,
		Safe: "Nothing was written. The data files are as they were.",
		Next: "The folder `_microbatch`, and `_batch.json` in the newest batch's folder, must not be changed. Restore the file that is named from a copy; a batch's folder that was deleted needs its record in the ledger."}
)

// sinkCodes are MB50xx: sinks other than tables.
var sinkCodes = []Code{ForeachFailed, CommandFailed, CommandMissing, CommandTimeout, SpoolFailed, ConsoleFailed, ForeachSQL, DuckDBLocked, LedgerIsolation, LedgerBusy, DuckDBFailed, HTTPRefused, HTTPUnanswered, HTTPColumns, FileStageDamaged}
