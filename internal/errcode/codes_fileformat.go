package errcode

// Files that do not decode as a whole.
var (
	// FormatDamaged is a file that is not what its format says.
	FormatDamaged = Code{ID: "MB3101", Title: "the file is damaged or not of the format", Class: Data,
		Safe: "The batch was not committed; the file's rows are in no batch yet.",
		Next: "Restore the file, or move it away if its rows are not wanted, and start again."}
	// FormatSchema is a file whose columns have other types than declared.
	FormatSchema = Code{ID: "MB3102", Title: "the file's columns do not fit the schema", Class: Data,
		Safe: "The batch was not committed; the file's rows are in no batch yet.",
		Next: "Convert the file, or move it away, or declare the schema that all files fit."}
	// FormatCompressed is a file that cannot be read through a compression.
	FormatCompressed = Code{ID: "MB3103", Title: "the format cannot be read from a compressed file", Class: Data,
		Safe: "The batch was not committed; the file's rows are in no batch yet.",
		Next: "Unpack the file: Parquet compresses its pages itself."}
	// FormatHeader is a CSV file whose first line does not name the declared columns.
	FormatHeader = Code{ID: "MB3104", Title: "the file's header does not fit the schema", Class: Data,
		Safe: "The batch was not committed; the file's rows are in no batch yet.",
		Next: "Correct the first line of the file, or set header: false if the file has none."}
)

// fileFormatCodes are MB31xx: files that do not decode.
var fileFormatCodes = []Code{FormatDamaged, FormatSchema, FormatCompressed, FormatHeader}
