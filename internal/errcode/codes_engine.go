package errcode

// The engine.
var (
	QueryIncomplete = Code{ID: "MB6001", Title: "the query cannot run as it is put together", Class: Config,
		Safe: "Nothing was opened or written.", Next: "Complete the query."}
	ShortRead = Code{ID: "MB6002", Title: "a source gave less, or more, than was planned", Class: Data,
		Safe: "The batch was not committed; its range is fixed and will be read again at the next start.",
		Next: "Start again. If it happens again the source has lost or changed data of the range that is named."}
	CountMismatch = Code{ID: "MB6003", Title: "the rows of a batch do not add up", Class: Data,
		Safe: "The batch was not committed.",
		Next: "This is a bug in this program, or in a source, operator or sink of yours: report it with this message."}
	RejectedRow = Code{ID: "MB6004", Title: "a row does not decode, and on_error is fail", Class: Data,
		Safe: "The batch was not committed; rows before it are in the table.",
		Next: "Correct the schema or the row's producer; or keep such rows apart with on_error: reject."}
	TooManyRejected = Code{ID: "MB6005", Title: "a batch has more rejected rows than max_rejected allows", Class: Data,
		Safe: "The batch was not committed, neither its good rows nor its rejected ones.",
		Next: "Look at the reason that is named first: most often the schema no longer fits. Correct it, or raise max_rejected."}
	BatchTimeout = Code{ID: "MB6006", Title: "a batch took longer than batch_timeout", Class: Retry,
		Safe: "The attempt was aborted; the batch is tried again.",
		Next: "Lower max_rows, or raise batch_timeout."}
	AttemptTooOld = Code{ID: "MB6007", Title: "an attempt is older than 24 hours", Class: Retry,
		Safe: "It was abandoned before its commit: files so old may have been cleaned up by others.",
		Next: "Nothing: the batch is tried again. If the machine was suspended, that was the cause."}
	RestartsSpent = Code{ID: "MB6008", Title: "the same failure came back until max_restarts was spent", Class: Retry,
		Safe: "Everything recorded is whole; the running batch is fixed and will be run again by the next start.",
		Next: "Restore the service that is named, or correct its address in the pipeline file, then start again."}
	SchemasDiffer = Code{ID: "MB6009", Title: "the sources of a query have different schemas", Class: Config,
		Safe: "Nothing was written.", Next: "Declare the same schema for all sources."}
	OutcomeUnknown = Code{ID: "MB6010", Title: "nobody can say whether a write has happened", Class: Uncertain,
		Safe: "Nothing was deleted. The next start reads the truth and goes on from it.",
		Next: "Restore the connection to the store, then start again."}
	PartPanicked = Code{ID: "MB6011", Title: "a part of the pipeline has panicked", Class: Data,
		Safe: "The batch was not committed.",
		Next: "This is a bug in this program, or in a source, operator or sink of yours: report it with the stack in the log."}
)

var engineCodes = []Code{
	QueryIncomplete, ShortRead, CountMismatch, RejectedRow, TooManyRejected, BatchTimeout, AttemptTooOld, RestartsSpent, SchemasDiffer, OutcomeUnknown, PartPanicked,
}
