package errcode

// Of the pipeline file. All faults of a file are reported at once.
var (
	// PipelineRead: the file cannot be read.
	PipelineRead = Code{
		ID: "MB1001", Title: "the pipeline file cannot be read", Class: Config,
		Safe: "Nothing was opened or written.",
		Next: "Name an existing file, or run `microbatch init` to get a first one.",
	}
	// PipelineSyntax: not YAML, or YAML that pipeline files do not use.
	PipelineSyntax = Code{
		ID: "MB1002", Title: "the pipeline file is not well-formed", Class: Config,
		Safe: "Nothing was opened or written.",
		Next: "Correct the YAML at the place named. Indent with spaces, and put texts with `: ` or `#` in quotes.",
	}
	// PipelineUnknownKey: a key that does not exist.
	PipelineUnknownKey = Code{
		ID: "MB1003", Title: "unknown key", Class: Config,
		Safe: "Nothing was opened or written.",
		Next: "Rename, move or remove the key; docs/pipeline.md lists them all.",
	}
	// PipelineValue: a value of the wrong type or form.
	PipelineValue = Code{
		ID: "MB1004", Title: "wrong value", Class: Config,
		Safe: "Nothing was opened or written.",
		Next: "Write a value of the form that the message names.",
	}
	// PipelineMissing: a key that must be given.
	PipelineMissing = Code{
		ID: "MB1005", Title: "a key is missing", Class: Config,
		Safe: "Nothing was opened or written.",
		Next: "Add the key.",
	}
	// PipelineCombination: keys that cannot stand together.
	PipelineCombination = Code{
		ID: "MB1006", Title: "impossible combination", Class: Config,
		Safe: "Nothing was opened or written.",
		Next: "Remove or change one of the keys that the message names.",
	}
	// PipelineSecret: a secret in the file itself, or a reference that leads nowhere.
	PipelineSecret = Code{
		ID: "MB1007", Title: "a secret cannot be had", Class: Config,
		Safe: "Nothing was opened or written. The value was not printed.",
		Next: "Put the secret into an environment variable or a file that only you can read, and refer to it by env:NAME or file:PATH. A secret that stood in a file or command line should be changed.",
	}
	// PipelineUnavailable: planned, not built.
	PipelineUnavailable = Code{
		ID: "MB1008", Title: "not available in this version", Class: Config,
		Safe: "Nothing was opened or written.",
		Next: "Remove the key, or do the work in the reader: a view over the table, for example.",
	}
	// PipelineOverride: a --set that does not fit.
	PipelineOverride = Code{
		ID: "MB1009", Title: "--set cannot be applied", Class: Config,
		Safe: "Nothing was opened or written.",
		Next: "Write --set path=value, such as --set trigger.max_rows=1000 or --set source.kafka.topics=[orders].",
	}
	// Usage: flags or arguments that do not fit.
	Usage = Code{
		ID: "MB1010", Title: "the command line is wrong", Class: Config,
		Safe: "Nothing was opened or written.",
		Next: "See the examples of `microbatch <command> --help`.",
	}
	// ListenAddress: the status server would be open to others, or its port is taken.
	ListenAddress = Code{
		ID: "MB1011", Title: "the status server cannot listen", Class: Config,
		Safe: "No batch was started.",
		Next: "Use a free port on 127.0.0.1; for another address put a proxy with TLS and a login before it, or give --insecure-listen.",
	}
	// FileExists: a file that would be overwritten.
	FileExists = Code{
		ID: "MB1012", Title: "the file exists", Class: Config,
		Safe: "The file was not touched.",
		Next: "Name another file, or remove this one first.",
	}
	// NoTable: a path that holds no table, or not the kind that was asked for.
	NoTable = Code{
		ID: "MB1013", Title: "there is no such table", Class: Config,
		Safe: "Nothing was written.",
		Next: "Name the table's folder or the pipeline file that writes it; a pipeline creates its table at its first start.",
	}
	// DemoFailed: rows were lost or doubled in the demonstration.
	DemoFailed = Code{
		ID: "MB1014", Title: "the demo's table differs from what was generated", Class: Corrupt,
		Safe: "The demo uses a folder of its own; nothing else is concerned.",
		Next: "Run it again with --keep and report it with the folder: this must not happen.",
	}
)

// configCodes are MB10xx: pipeline file and command line.
var configCodes = []Code{
	PipelineRead, PipelineSyntax, PipelineUnknownKey, PipelineValue, PipelineMissing, PipelineCombination, PipelineSecret,
	PipelineUnavailable, PipelineOverride, Usage, ListenAddress, FileExists, NoTable, DemoFailed,
}
