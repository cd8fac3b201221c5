package errcode

// The checkpoint and recovery.
var (
	CheckpointGap = Code{ID: "MB1101", Title: "an entry of the checkpoint is missing", Class: Corrupt,
		Safe: "Nothing was written. The table and the rest of the checkpoint are as they were.",
		Next: "Find out who deleted it (a lifecycle rule, a person, a partial copy). `microbatch checkpoint repair` rebuilds the entry from the table's log where the log holds it, or says why it cannot."}
	CheckpointDamaged = Code{ID: "MB1102", Title: "a file of the checkpoint is damaged", Class: Corrupt,
		Safe: "Nothing was written. The rows in the table are whole: a batch is visible completely or not at all.",
		Next: "Run `microbatch checkpoint repair`: it rebuilds the file from what the sink proves, drops an entry of a batch that the sink does not hold, or says what is to be done before."}
	CheckpointBehind = Code{ID: "MB1103", Title: "the checkpoint is older than the sink", Class: Corrupt,
		Safe: "Nothing was written: going on from this checkpoint would write rows twice or drop new ones.",
		Next: "Use the newest copy of the checkpoint. If it is lost, `microbatch checkpoint repair` rebuilds the position from the table's log."}
	SinkBehind = Code{ID: "MB1104", Title: "the sink is older than the checkpoint", Class: Corrupt,
		Safe: "Nothing was written: going on would leave a gap in the table or other target.",
		Next: "Restore the newest state of the target; or, to write the lost batches again while the source still has them, run `microbatch checkpoint repair --rewind`. Where Kafka has only forgotten the marker of a query that was stopped for long, the records are still there: the message says how to go on behind them, with a new checkpoint and `--new-query`."}
	ForeignDigest = Code{ID: "MB1105", Title: "another checkpoint commits under this query id", Class: Corrupt,
		Safe: "Nothing was written. The table holds the other checkpoint's batch.",
		Next: "A copy of this checkpoint ran elsewhere. Keep the one that the table agrees with and delete the other; to run a second query into the table, start it with a checkpoint of its own and `--new-query`."}
	ForeignDriver = Code{ID: "MB1106", Title: "another engine has taken over this query", Class: Fenced,
		Safe: "Everything that this driver has recorded is whole.",
		Next: "Let only one engine run the query. To take it back, stop the other one and start this one again."}
	FreshOnUsed = Code{ID: "MB1107", Title: "a new checkpoint on a table or other target that this pipeline has already filled", Class: Config,
		Safe: "Nothing was written: starting over would write all rows a second time.",
		Next: "Point `checkpoint:` at the checkpoint that was used before. If it is lost, `microbatch checkpoint repair` rebuilds it from what the sink has kept of each batch (a table's log), or says why it cannot. To write the rows again knowingly, start with --new-query."}
	PipelineChanged = Code{ID: "MB1108", Title: "the pipeline is another one than the checkpoint belongs to", Class: Config,
		Safe: "Nothing was written.",
		Next: "Undo the change, or start the changed pipeline under another name with a checkpoint of its own."}
	ChangedWhilePending = Code{ID: "MB1109", Title: "the pipeline was changed while a batch is pending", Class: Config,
		Safe: "Nothing was written. The pending batch is fixed and will be run by whoever starts next.",
		Next: "Start once with the former pipeline so that the batch is finished; or accept that it is finished with the new one: --accept-change."}
	LearnedChanged = Code{ID: "MB1110", Title: "something that was pinned at the first start is different now", Class: Corrupt,
		Safe: "Nothing was written.",
		Next: "If a topic or table was deleted and made again on purpose, start a new query with a checkpoint of its own. Else find out what was replaced."}
	CheckpointLocked = Code{ID: "MB1111", Title: "another driver works on this checkpoint", Class: Fenced,
		Safe: "The other driver goes on undisturbed; nothing was written.",
		Next: "Stop the other process first, or use another checkpoint."}
	DriverFenced = Code{ID: "MB1112", Title: "a newer driver has taken over", Class: Fenced,
		Safe: "Everything recorded is whole; the newer driver goes on from there.",
		Next: "Nothing, if that was meant. Two drivers must not be configured for one checkpoint: see who started the newer one in _engine/epoch/."}
	CheckpointUnsupported = Code{ID: "MB1113", Title: "the checkpoint needs something this program cannot continue", Class: Config,
		Safe: "Nothing was written: the checkpoint is as its last owner left it.",
		Next: "Continue the query with the engine that made the checkpoint, or start a new query."}
	CheckpointUnstable = Code{ID: "MB1114", Title: "the checkpoint changes while it is read", Class: Retry,
		Safe: "Nothing was written.",
		Next: "Another driver works on it, or the store's listings are not consistent. Stop the other one and start again."}
	RepairImpossible = Code{ID: "MB1115", Title: "the checkpoint cannot be repaired from what is there", Class: Corrupt,
		Safe: "Nothing was changed.",
		Next: "Restore the checkpoint or the table from a copy of the same moment."}
	SinkDisagrees = Code{ID: "MB1116", Title: "the sink is not what the checkpoint claims", Class: Corrupt,
		Safe: "Nothing was written.",
		Next: "Each line of the report says what to do. Until then do not start the query."}
)

var checkpointCodes = []Code{
	CheckpointGap, CheckpointDamaged, CheckpointBehind, SinkBehind, ForeignDigest, ForeignDriver, FreshOnUsed, PipelineChanged,
	ChangedWhilePending, LearnedChanged, CheckpointLocked, DriverFenced, CheckpointUnsupported, CheckpointUnstable, RepairImpossible,
	SinkDisagrees,
}
