package config

import (
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// KafkaSink writes records to topics of a Kafka cluster, in one transaction for each batch. Columns make the parts of a record.
type KafkaSink struct {
	// Servers to ask first: `host:port`.
	Brokers []string `yaml:"brokers" need:"true"`
	// The topic to write to; with topic_column, that of rows whose column is null. It must exist. Its partition 0 holds the query's marker.
	Topic string `yaml:"topic" need:"true"`
	// The column that names each record's topic. Left out: all go to topic.
	TopicColumn string `yaml:"topic_column"`
	// The column that is the record's key: STRING, BINARY or an integer. It decides the partition, as with Kafka's own clients, and records of one key keep the order of the source. Left out: no keys.
	Key string `yaml:"key"`
	// The column that is the record's partition, an integer; null: by the key. Left out: by the key.
	Partition string `yaml:"partition"`
	// The column that holds the record's headers, as the Kafka source's metadata column does. Left out: none.
	Headers string `yaml:"headers"`
	// What the value is: a JSON object or an Avro record of all columns but those of topic, partition, headers and operation, or one column as it is.
	Format string `yaml:"format" enum:"json,avro,raw" default:"json"`
	// For `format: raw`: the column that is the value, STRING or BINARY. Null is a tombstone.
	Value string `yaml:"value"`
	// The registry that keeps the schema of the values; each value begins with its id. For `format: avro`; left out: values are plain Avro.
	SchemaRegistry *SchemaRegistry `yaml:"schema_registry"`
	// By which schema values are written. For `format: avro`.
	Avro AvroSink `yaml:"avro"`
	// The column that says whether a row is a tombstone: a key without value. It is not part of the value.
	OperationColumn string `yaml:"operation_column"`
	// The values of operation_column that make a tombstone, without regard to case. Left out: `delete` and `d`.
	DeleteValues []string `yaml:"delete_values"`
	// How records are compressed.
	Compression string `yaml:"compression" enum:"none,gzip,snappy,lz4,zstd" default:"snappy"`
	// `transactional`: exactly once. `idempotent`: without transactions, at least once.
	Mode string `yaml:"mode" enum:"transactional,idempotent" default:"transactional"`
	// After how long the brokers abort the transaction of a batch. More than batch_timeout, and not more than the brokers' transaction.max.timeout.ms (15m unless set).
	TransactionTimeout Duration `yaml:"transaction_timeout" default:"5m"`
	// A consumer group that the source's positions are committed to, in the same transaction. For a Kafka source on the same cluster. Left out: none.
	CommitGroup string `yaml:"commit_group"`
	// Encrypt the connection. `{}` trusts the system's certificates.
	TLS *TLS `yaml:"tls"`
	// Log in.
	SASL *SASL `yaml:"sasl"`
}

// cluster checks what the Kafka source and sink have in common: where the cluster is and how it is entered. at is "source.kafka" or "sink.kafka".
func (v validator) cluster(at string, brokers []string, t *TLS, s *SASL) {
	for i, b := range brokers {
		if host, port, err := net.SplitHostPort(b); b != "" && (err != nil || host == "" || !isPort(port)) {
			v.wrong(at+".brokers["+strconv.Itoa(i)+"]", "want host:port, such as localhost:9092")
		}
	}
	if t != nil && (t.Cert == "") != (t.Key == "") {
		v.clash(at+".tls", "%s.tls: cert and key go together; one is missing", at)
	}
	if s != nil && s.Mechanism == "PLAIN" && t == nil && !s.Insecure {
		v.clash(at+".sasl.mechanism", "%s.sasl.mechanism: PLAIN without tls sends the password readable; add tls: {}, use SCRAM-SHA-512, or accept it by insecure: true", at)
	}
}

func (v validator) kafkaSink(k *KafkaSink) {
	const at = "sink.kafka."
	v.cluster("sink.kafka", k.Brokers, k.TLS, k.SASL)
	switch {
	case k.Format == "raw" && k.Value == "":
		v.missing(at+"value", "format: raw needs the column that is the value")
	case k.Format != "raw" && k.Value != "":
		v.clash(at+"value", at+"value: it is for format: raw; a value of %s is made of all columns", k.Format)
	}
	v.avroSink(k)
	if len(k.DeleteValues) > 0 && k.OperationColumn == "" {
		v.clash(at+"delete_values", at+"delete_values: they are values of operation_column; add it")
	}
	if k.OperationColumn != "" && k.Key == "" {
		v.missing(at+"key", "a tombstone is a key without value")
	}
	if v.readsTopic(k) {
		v.clash(at+"topic", at+"topic: the source reads %s too; the query would read its own output", k.Topic)
	}
	source := v.Source.Kafka
	switch {
	case k.CommitGroup == "":
	case source == nil:
		v.clash(at+"commit_group", at+"commit_group: only the Kafka source has positions that a group can hold; remove it")
	case k.Mode == "idempotent":
		v.clash(at+"commit_group", at+"commit_group: positions are part of a transaction, and mode: idempotent has none; remove one of the two")
	case source.Group == k.CommitGroup:
		v.clash(at+"commit_group", at+"commit_group: the source commits to the same group (source.kafka.group), outside of transactions; remove that one")
	case strings.HasPrefix(k.CommitGroup, "microbatch-"):
		v.wrong(at+"commit_group", "names that begin with microbatch- are the markers of queries")
	}
	if k.Mode == "idempotent" {
		if v.given(at + "transaction_timeout") {
			v.clash(at+"transaction_timeout", at+"transaction_timeout: mode: idempotent has no transactions; remove one of the two")
		}
		return
	}
	if t, b := k.TransactionTimeout.D(), v.BatchTimeout.D(); b > 0 && t > 0 && t <= b {
		v.clash(at+"transaction_timeout", at+"transaction_timeout: it is %s, and a batch may take %s (batch_timeout): the brokers would abort its transaction first; raise it or lower batch_timeout", t, b)
	}
}

// readsTopic reports whether the source reads the topic that the sink writes, as far as the addresses tell that they are on one cluster.
func (v validator) readsTopic(k *KafkaSink) bool {
	source := v.Source.Kafka
	if source == nil || k.Topic == "" || !slices.ContainsFunc(k.Brokers, func(b string) bool { return slices.Contains(source.Brokers, b) }) {
		return false
	}
	if slices.Contains(source.Topics, k.Topic) {
		return true
	}
	pattern, err := regexp.Compile("^(?:" + source.Pattern + ")$")
	return err == nil && source.Pattern != "" && pattern.MatchString(k.Topic)
}
