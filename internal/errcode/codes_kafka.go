package errcode

// kafkaCodes are MB20xx: Kafka source.
var kafkaCodes = []Code{}
