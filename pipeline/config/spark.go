package config

import "strings"

// fromSpark is what Spark Structured Streaming's option is called here, "" if it is no option of Spark or has no counterpart. Case does not count, as in Spark.
func fromSpark(option string) string {
	switch strings.ToLower(option) {
	case "kafka.bootstrap.servers", "bootstrap.servers":
		return "source.kafka.brokers"
	case "subscribe", "assign":
		return "source.kafka.topics"
	case "subscribepattern":
		return "source.kafka.pattern"
	case "startingoffsets":
		return "source.kafka.start"
	case "startingtimestamp", "startingoffsetsbytimestamp":
		return "source.kafka.start: {timestamp: ...}"
	case "failondataloss":
		return "source.kafka.on_data_loss"
	case "includeheaders":
		return "source.kafka.metadata: [headers]"
	case "kafka.group.id", "groupidprefix":
		return "source.kafka.group"
	case "kafka.isolation.level":
		return "source.kafka.isolation"
	case "maxoffsetspertrigger":
		return "trigger.max_rows"
	case "maxbytespertrigger":
		return "trigger.max_bytes"
	case "maxfilespertrigger":
		return "trigger.max_files"
	case "processingtime":
		return "trigger.every"
	case "availablenow":
		return "trigger.once"
	case "rowspersecond":
		return "source.rate.rows_per_second"
	case "checkpointlocation":
		return "checkpoint"
	case "queryname":
		return "name"
	case "partitionby":
		return "sink.table.partition_by"
	case "mergeschema":
		return "sink.table.schema_evolution: add_columns"
	case "columnnameofcorruptrecord", "badrecordspath":
		return "rejected.table"
	case "mode":
		return "on_error"
	case "sep":
		return "source.csv.delimiter"
	case "nullvalue":
		return "source.csv.null"
	}
	return ""
}
