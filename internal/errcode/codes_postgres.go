package errcode

const nothingOfBatch = "The transaction was not committed: nothing of this batch is visible."

// Codes of the PostgreSQL sink. What any table can have (a newer driver, another checkpoint, a table that is ahead) is MB12xx.
var (
	PostgresUnreachable = Code{ID: "MB5201", Title: "the PostgreSQL server does not answer", Class: Retry, Safe: nothingOfBatch,
		Next: "Check host and port in the URL, the network, and whether the server runs and takes writes."}
	PostgresLogin = Code{ID: "MB5202", Title: "the PostgreSQL server refuses the login", Class: Config, Safe: nothingBegun,
		Next: "Check user, password and database, the server's pg_hba.conf, and for a certificate sslmode and sslrootcert in the URL."}
	PostgresDenied = Code{ID: "MB5203", Title: "the PostgreSQL user may not do this", Class: Config, Safe: nothingOfBatch,
		Next: "GRANT what the message names. docs/sinks-postgres.md lists all that is needed."}
	PostgresTable = Code{ID: "MB5204", Title: "the rows do not fit the PostgreSQL table", Class: Config, Safe: nothingOfBatch,
		Next: "Make or change the table, or select, rename and cast columns in the pipeline. docs/sinks-postgres.md says which types fit which."}
	PostgresBusy = Code{ID: "MB5205", Title: "the PostgreSQL server had to break off", Class: Retry, Safe: nothingOfBatch,
		Next: "Nothing: it is tried again. If it repeats, look for long transactions on the table (pg_stat_activity), for statement_timeout of the user, and for max_connections."}
	PostgresRefused = Code{ID: "MB5206", Title: "PostgreSQL refuses a value", Class: Data, Safe: nothingOfBatch,
		Next: "Filter or change the row in the pipeline, or change the constraint, column or trigger that is named; then start again."}
	PostgresFull = Code{ID: "MB5207", Title: "the PostgreSQL server is out of disk or memory", Class: Stop, Safe: nothingOfBatch,
		Next: "Free space on the server (temporary files of a large batch count too: lower trigger.max_rows), then start again."}
	PostgresUncertain = Code{ID: "MB5208", Title: "the answer to COMMIT did not arrive", Class: Uncertain, Safe: "The batch is visible once or will be committed once.",
		Next: "Nothing: recovery reads the position under a lock. Check the network and the server if it repeats."}
	PostgresPosition = Code{ID: "MB5209", Title: "the position in PostgreSQL is gone or went back", Class: Corrupt, Safe: nothingOfBatch,
		Next: "The database was restored or failed over to a copy that lacks commits, or somebody changed microbatch_positions. Compare with `microbatch checkpoint show`."}
	PostgresError = Code{ID: "MB5210", Title: "PostgreSQL reports an error", Class: Stop, Safe: nothingOfBatch,
		Next: "Look into the server's log."}
)

// postgresCodes are MB52xx: PostgreSQL sink.
var postgresCodes = []Code{
	PostgresUnreachable, PostgresLogin, PostgresDenied, PostgresTable, PostgresBusy, PostgresRefused, PostgresFull, PostgresUncertain, PostgresPosition,
	PostgresError,
}
