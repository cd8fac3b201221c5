package errcode

// DuckDBMissing: SQL is wanted in a program that was built without DuckDB.
var DuckDBMissing = Code{ID: "MB4001", Title: "DuckDB is not part of this program", Class: Config,
	Safe: "Nothing was read or written.",
	Next: "Use a build with DuckDB (make build), or write the step with select and filter."}

// ExpressionInvalid: a select or filter expression does not parse, or does not fit the columns.
var ExpressionInvalid = Code{ID: "MB4002", Title: "a select or filter expression is wrong", Class: Config,
	Safe: "Nothing was read or written.",
	Next: "Correct the expression; what select and filter cannot say, sql can."}

// CastFailed: a value of a row cannot be cast.
var CastFailed = Code{ID: "MB4003", Title: "a value cannot be cast", Class: Data,
	Safe: "The batch was not committed; the same rows come again.",
	Next: "Use TRY_CAST to get null instead, filter such rows out before, or declare the column with the right type at the source."}

// SQLInvalid: the SQL does not parse, or does not fit the columns.
var SQLInvalid = Code{ID: "MB4010", Title: "the SQL is wrong", Class: Config,
	Safe: "Nothing was read or written.",
	Next: "Correct the SQL. It is DuckDB's dialect, and the input is the view batch."}

// SQLNotRepeatable: the SQL would give other rows when the batch is run again.
var SQLNotRepeatable = Code{ID: "MB4011", Title: "the SQL would not give the same rows again", Class: Config,
	Safe: "Nothing was read or written.",
	Next: "Compute the value from the row (md5 of its key, for example); now() and current_date are the batch's time and may be used."}

// SQLType: a column of the result has a type that tables do not have.
var SQLType = Code{ID: "MB4012", Title: "a column of the SQL's result has no type that a table can hold", Class: Config,
	Safe: "Nothing was read or written.",
	Next: "Cast the column in the SQL."}

// SQLFailed: the SQL failed on the rows of a batch.
var SQLFailed = Code{ID: "MB4013", Title: "the SQL failed on the rows of a batch", Class: Data,
	Safe: "The batch was not committed; the same rows come again.",
	Next: "Correct the SQL (TRY_CAST, TRY(...) and WHERE take care of odd values) and start again."}

// SQLMemory: the SQL needs more memory than it may have.
var SQLMemory = Code{ID: "MB4014", Title: "the SQL needs more memory than it may have", Class: Data,
	Safe: "The batch was not committed; the same rows come again.",
	Next: "Raise memory_limit, give the SQL a temp_dir to spill to, or take smaller batches (max_rows)."}

// QuerySQL: the SQL of an ad-hoc query is wrong, or fails.
var QuerySQL = Code{ID: "MB4020", Title: "the query is wrong", Class: Config,
	Safe: "A query only reads.",
	Next: "Correct the query. Tables are named by --table name=path, by the pipeline file, or by their path in quotes."}

// QueryTable: a table that a query names cannot be read.
var QueryTable = Code{ID: "MB4021", Title: "a table of the query cannot be read", Class: Config,
	Safe: "A query only reads.",
	Next: "Look at the table's path and version (microbatch table history)."}

// transformCodes are MB40xx: transforms, and queries over tables.
var transformCodes = []Code{DuckDBMissing, ExpressionInvalid, CastFailed,
	SQLInvalid, SQLNotRepeatable, SQLType, SQLFailed, SQLMemory, QuerySQL, QueryTable}
