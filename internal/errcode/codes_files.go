package errcode

// Codes of the files source.
var (
	FileChanged = Code{ID: "MB2101", Title: "an input file changed after it was planned", Class: Data,
		Safe: "Nothing of the batch that holds the file was committed by this run; the table is as it was.",
		Next: "Put the file back as it was (same bytes, same modification time) and start again. Never write into a file below the source's path: write elsewhere and rename, or set `settle`. To go on without the file delete it and set `on_data_loss: skip`."}
	FileGone = Code{ID: "MB2102", Title: "an input file that a batch needs is gone", Class: Data,
		Safe: "Nothing of the batch that holds the file was committed by this run; the table is as it was.",
		Next: "Put the file back under the same name, with its modification time, and start again; or set `on_data_loss: skip` to go on without it."}
	ArchiveDamaged = Code{ID: "MB2103", Title: "a compressed input file is damaged", Class: Data,
		Safe: "Nothing of the batch that holds the file was committed; the table is as it was.",
		Next: "To go on without the file delete it and set `on_data_loss: skip`; what can be saved of it goes into a new file."}
	FileBomb = Code{ID: "MB2104", Title: "a compressed input file grows beyond the allowed ratio", Class: Data,
		Safe: "Reading stopped at the limit; nothing of the batch was committed.",
		Next: "If the file is genuine, raise `max_inflation` of the source and start again."}
	SeenLogBehind = Code{ID: "MB2105", Title: "the seen-log of the files source ends before the checkpoint's offset", Class: Corrupt,
		Safe: "Nothing was written.",
		Next: "The directory sources/<n> of the checkpoint was deleted or restored alone: restore the checkpoint as a whole."}
	SeenLogDamaged = Code{ID: "MB2106", Title: "the seen-log of the files source cannot be read", Class: Corrupt,
		Safe: "Nothing was written.",
		Next: "Restore the named file of the checkpoint from a backup; without the seen-log it is unknown which files the table holds."}
	NoSample = Code{ID: "MB2107", Title: "there is no file to infer a schema from", Class: Config,
		Safe: "Nothing was written.",
		Next: "Declare `schema` in the pipeline file, or start once a file is there."}
	OffsetForeign = Code{ID: "MB2108", Title: "the checkpoint holds an offset of another kind of source", Class: Corrupt,
		Safe: "Nothing was written.",
		Next: "Give this pipeline a checkpoint of its own, or configure the source that wrote the checkpoint."}
	FileUnreadable = Code{ID: "MB2109", Title: "an input file or directory may not be read", Class: Config,
		Safe: "Nothing of the batch was committed.",
		Next: "Give the user that runs microbatch the right to read it, and start again."}
	PinDamaged = Code{ID: "MB2110", Title: "what the source pinned at its first start cannot be read", Class: Corrupt,
		Safe: "Nothing was written.",
		Next: "Restore the named file of the checkpoint from a backup."}
	ListingFailed = Code{ID: "MB2111", Title: "the input could not be listed", Class: Retry,
		Safe: "Nothing of a new batch was written.",
		Next: "It is tried again; if it goes on, check the path, the network and the credentials."}
	SeenLogForeign = Code{ID: "MB2112", Title: "the seen-log of the files source is about another directory", Class: Corrupt,
		Safe: "Nothing was written.",
		Next: "Set the source's path back to the directory the checkpoint was made for, or give this pipeline a checkpoint of its own."}
	SchemaRaced = Code{ID: "MB2113", Title: "another driver has pinned another schema meanwhile", Class: Stop,
		Safe: "Nothing was written.",
		Next: "Start again: the pinned schema is used. Declare `schema` to choose it yourself."}
)

// filesCodes are MB21xx: files and generated sources.
var filesCodes = []Code{FileChanged, FileGone, ArchiveDamaged, FileBomb, SeenLogBehind, SeenLogDamaged, NoSample, OffsetForeign, FileUnreadable, PinDamaged, ListingFailed, SeenLogForeign, SchemaRaced}
