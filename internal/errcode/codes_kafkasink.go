package errcode

// Codes of the Kafka sink. Those of the brokers themselves (unreachable, a refused login) are the Kafka source's.
var (
	KafkaSinkOptions = Code{ID: "MB5101", Title: "the options of the Kafka sink are wrong", Class: Config,
		Safe: nothingBegun, Next: "Correct the options named."}
	KafkaSinkTopic = Code{ID: "MB5102", Title: "the topic to write to does not exist", Class: Config,
		Safe: nothingProduced, Next: "Create the topic, or correct sink.kafka.topic or the rows whose topic_column names it. Topics are never created by themselves."}
	KafkaSinkColumns = Code{ID: "MB5103", Title: "the rows do not have the columns that make a record", Class: Config,
		Safe: nothingBegun, Next: "Correct the columns named under sink.kafka, or make them by a select or sql step."}
	KafkaSinkTimeout = Code{ID: "MB5104", Title: "transaction_timeout does not fit", Class: Config,
		Safe: nothingBegun, Next: "Choose a transaction_timeout above the longest time of a batch (batch_timeout) and not above the broker's transaction.max.timeout.ms."}
	KafkaSinkRights = Code{ID: "MB5105", Title: "the user may not write as this query", Class: Config,
		Safe: nothingProduced, Next: "Grant WRITE and DESCRIBE on the topic, WRITE on the transactional id microbatch-<query id> and READ on the group of the same name (both can be a rule for the prefix microbatch-), and READ on commit_group if it is set."}
	KafkaSinkRecord = Code{ID: "MB5106", Title: "a row cannot be a record of the topic", Class: Data,
		Safe: nothingProduced, Next: "Leave the row out by a filter, or change what the message names: the topic's max.message.bytes, its partitions, the column."}
	KafkaSinkFenced = Code{ID: "MB5107", Title: "a newer driver writes as this query", Class: Fenced,
		Safe: "The transaction of this batch was not committed by this driver; the newer one goes on from what is recorded.",
		Next: "Nothing, if that was meant. Two drivers must not be configured for one checkpoint: see who started the newer one in _engine/epoch/."}
	KafkaSinkForeign = Code{ID: "MB5108", Title: "the marker in Kafka belongs to another batch", Class: Corrupt,
		Safe: "The transaction was aborted: nothing of this batch is visible.",
		Next: "Another checkpoint commits under this query id, or the checkpoint was restored from a copy: stop all but one, and compare `microbatch checkpoint show` with the marker (docs/sinks-kafka.md)."}
	KafkaSinkMarker = Code{ID: "MB5109", Title: "the marker in Kafka cannot be read", Class: Corrupt,
		Safe: "Nothing was written: without the marker nobody knows which batch is visible.",
		Next: "Somebody else has committed offsets to the group named, such as a reset by kafka-consumer-groups. See docs/sinks-kafka.md, the marker."}
	KafkaSinkLost = Code{ID: "MB5110", Title: "the broker has ended the transaction of a batch", Class: Retry,
		Safe: nothingProduced, Next: "The batch runs again. If that repeats, it takes longer than transaction_timeout: raise it, or lower trigger.max_rows."}
	KafkaSinkGroup = Code{ID: "MB5111", Title: "the positions of commit_group cannot be committed", Class: Config,
		Safe: nothingProduced, Next: "The source's topics must be on the cluster of the sink, and the group must be one that nobody consumes with: stop its consumers, or name another one."}
)

const nothingProduced = "Nothing of this batch is visible to readers of committed records; the checkpoint and the topic are as they were."

// kafkaSinkCodes are MB51xx: Kafka sink.
var kafkaSinkCodes = []Code{
	KafkaSinkOptions, KafkaSinkTopic, KafkaSinkColumns, KafkaSinkTimeout, KafkaSinkRights, KafkaSinkRecord, KafkaSinkFenced, KafkaSinkForeign,
	KafkaSinkMarker, KafkaSinkLost, KafkaSinkGroup,
}
