package errcode

// Rows that do not decode. They go to the table of rejected rows, or stop the query with on_error: fail.
var (
	// RowMalformed is a row whose text is not of the format at all.
	RowMalformed = Code{ID: "MB3001", Title: "the row is malformed", Class: Data,
		Safe: "The row is kept as it came, and its batch goes on, unless on_error says otherwise.",
		Next: "Look at it with `microbatch rejected show`, and correct what writes it."}
	// RowMisfit is a value that does not fit its column.
	RowMisfit = Code{ID: "MB3002", Title: "a value does not fit its column", Class: Data,
		Safe: "The row is kept as it came, and its batch goes on, unless on_error says otherwise. No value is ever replaced by null.",
		Next: "Correct what writes it, or declare a wider type for the column (STRING takes every value)."}
	// RowNull is a null or missing value of a NOT NULL column.
	RowNull = Code{ID: "MB3003", Title: "a NOT NULL column has no value", Class: Data,
		Safe: "The row is kept as it came, and its batch goes on, unless on_error says otherwise.",
		Next: "Correct what writes it, or leave out NOT NULL in the schema."}
	// RowLimit is a row beyond a limit.
	RowLimit = Code{ID: "MB3004", Title: "the row passes a limit", Class: Data,
		Safe: "The beginning of the row is kept, and its batch goes on, unless on_error says otherwise.",
		Next: "A row may be 64 MiB long, and its objects and arrays nested 64 deep. Split what is larger."}
	// RowFields is a CSV row with another number of fields than columns.
	RowFields = Code{ID: "MB3005", Title: "the row has another number of fields", Class: Data,
		Safe: "The row is kept as it came, and its batch goes on, unless on_error says otherwise.",
		Next: "Compare the delimiter and the quotes with the options of the format."}
	// RowSchema is a declared schema that a format cannot decode into.
	RowSchema = Code{ID: "MB3010", Title: "the format cannot decode into the declared schema", Class: Config,
		Safe: "Nothing was read or written.",
		Next: "Change the schema, or the option that is named."}
	// RowInfer is a sample from which no schema can be derived.
	RowInfer = Code{ID: "MB3011", Title: "no schema can be inferred", Class: Config,
		Safe: "Nothing was written.",
		Next: "Declare the schema in the pipeline file: `schema: id BIGINT, name STRING`."}
)

// rowCodes are MB30xx: rows that do not decode.
var rowCodes = []Code{RowMalformed, RowMisfit, RowNull, RowLimit, RowFields, RowSchema, RowInfer}
