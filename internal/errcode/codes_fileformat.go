package errcode

// Files that do not decode as a whole.
var (
	// FormatDamaged is a file that is not what its format says.
	FormatDamaged = Code{ID: "MB3101", Title: "the file is damaged or not of the format", Class: Data,
		Safe: "The batch was not committed; the batch that holds the file is pending.",
		Next: "Put the file back as it was, with its modification time, and start again. To go on without it delete it and set `on_data_loss: skip`; what can be saved of it goes into a new file."}
	// FormatSchema is a file whose columns have other types than declared.
	FormatSchema = Code{ID: "MB3102", Title: "the file's columns do not fit the schema", Class: Data,
		Safe: "The batch was not committed; the batch that holds the file is pending.",
		Next: "Declare the schema that all files fit; or write it anew under another name, delete this one and set `on_data_loss: skip`."}
	// FormatCompressed is a file that cannot be read through a compression.
	FormatCompressed = Code{ID: "MB3103", Title: "the format cannot be read from a compressed file", Class: Data,
		Safe: "The batch was not committed; the batch that holds the file is pending.",
		Next: "Unpack the file into a new one, as Parquet compresses its pages itself; delete this one and set `on_data_loss: skip`."}
	// FormatHeader is a CSV file whose first line does not name the declared columns.
	FormatHeader = Code{ID: "MB3104", Title: "the file's header does not fit the schema", Class: Data,
		Safe: "The batch was not committed; the batch that holds the file is pending.",
		Next: "Set header: false if the files have none; or write the file anew under another name, delete this one and set `on_data_loss: skip`."}
)

// fileFormatCodes are MB31xx: files that do not decode.
var fileFormatCodes = []Code{FormatDamaged, FormatSchema, FormatCompressed, FormatHeader}
