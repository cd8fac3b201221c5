package errcode

// kafkaCodes are MB20xx: Kafka source.
var kafkaCodes = []Code{
	KafkaUnreachable, KafkaTopicMissing, KafkaAuthFailed, KafkaNotAuthorized, KafkaInsecureAuth, KafkaOptions, KafkaDataLost, KafkaRangeLost,
	KafkaTruncated, KafkaTopicRecreated, KafkaPartitionVanished, KafkaBadStart, KafkaCorruptBatch, KafkaBatchTooLarge, KafkaOffsetUnreadable,
	KafkaNothingToInfer, KafkaBrokerError, KafkaNoProgress,
}

const (
	nothingRead   = "Nothing was committed for this batch; the checkpoint holds the last position."
	nothingBegun  = "Nothing was written."
	positionsHeld = "The checkpoint and the table are as they were; no offset was skipped."
)

// KafkaUnreachable and the following are the errors of the Kafka source.
var (
	KafkaUnreachable = Code{ID: "MB2001", Title: "no Kafka broker answers", Class: Retry,
		Safe: nothingRead, Next: "Check the addresses in source.kafka.brokers, the network, and whether the listener expects TLS or SASL."}
	KafkaTopicMissing = Code{ID: "MB2002", Title: "the topic does not exist", Class: Config,
		Safe: nothingBegun, Next: "Create the topic, or correct source.kafka.topics or pattern. A topic that was deleted cannot be continued."}
	KafkaAuthFailed = Code{ID: "MB2003", Title: "the broker refused the login or the certificate", Class: Config,
		Safe: nothingRead, Next: "Check sasl.mechanism, user and password, and tls.ca, cert and key."}
	KafkaNotAuthorized = Code{ID: "MB2004", Title: "the user may not read the topic", Class: Config,
		Safe: nothingRead, Next: "Grant READ and DESCRIBE on the topic (and READ on the group, if one is set)."}
	KafkaInsecureAuth = Code{ID: "MB2005", Title: "a password would be sent in clear text", Class: Config,
		Safe: nothingBegun, Next: "Add tls, use a SCRAM mechanism, or set sasl.insecure: true if the network is trusted."}
	KafkaOptions = Code{ID: "MB2006", Title: "the options of the Kafka source are wrong", Class: Config,
		Safe: nothingBegun, Next: "Correct the options named."}
	KafkaDataLost = Code{ID: "MB2007", Title: "retention removed records that were not read", Class: Stop,
		Safe: positionsHeld, Next: "The records named are gone from Kafka. To go on without them set on_data_loss: skip; then raise the topic's retention."}
	KafkaRangeLost = Code{ID: "MB2008", Title: "a planned range can no longer be read", Class: Stop,
		Safe: positionsHeld, Next: "The batch cannot be reproduced from Kafka. If the records named may be missing set on_data_loss: skip and start again."}
	KafkaTruncated = Code{ID: "MB2009", Title: "the log ends before the position reached", Class: Stop,
		Safe: positionsHeld, Next: "An unclean leader election or a restored broker cut the log. Compare the topic with the table, then start a new query from explicit offsets."}
	KafkaTopicRecreated = Code{ID: "MB2010", Title: "the topic was deleted and created again", Class: Stop,
		Safe: positionsHeld, Next: "The offsets of the checkpoint belong to the former topic. Start a new query, with a new checkpoint, for the new topic."}
	KafkaPartitionVanished = Code{ID: "MB2011", Title: "a known partition is missing from the cluster's metadata", Class: Retry,
		Safe: positionsHeld, Next: "Wait until the cluster has recovered. If the topic was deleted on purpose, end this query."}
	KafkaBadStart = Code{ID: "MB2012", Title: "the start position does not exist", Class: Config,
		Safe: nothingBegun, Next: "Correct source.kafka.start: give every partition an offset that the broker still has."}
	KafkaCorruptBatch = Code{ID: "MB2013", Title: "a batch of records does not decode", Class: Corrupt,
		Safe: positionsHeld, Next: "The broker's log is damaged there, or the producer wrote garbage. Check the disk of the leader; a replica may be whole."}
	KafkaBatchTooLarge = Code{ID: "MB2014", Title: "a batch of records decompresses to more than is allowed", Class: Data,
		Safe: positionsHeld, Next: "Let the producer send smaller batches, or give a program that embeds the source a higher Config.MaxDecompressed; else treat the topic as hostile."}
	KafkaOffsetUnreadable = Code{ID: "MB2015", Title: "an offset in the checkpoint is not a Kafka position", Class: Corrupt,
		Safe: positionsHeld, Next: "Run microbatch checkpoint show; restore the file named, or start a new query."}
	KafkaNothingToInfer = Code{ID: "MB2016", Title: "there is nothing to infer a schema from", Class: Config,
		Safe: nothingBegun, Next: "Declare source.schema, or produce some records first."}
	KafkaBrokerError = Code{ID: "MB2017", Title: "the broker answered with an error", Class: Retry,
		Safe: nothingRead, Next: "Look into the broker's log."}
	KafkaNoProgress = Code{ID: "MB2018", Title: "the broker no longer serves offsets that it announced", Class: Retry,
		Safe: positionsHeld, Next: "Check the partition's leader and its replicas: the last stable offset went back."}
)
