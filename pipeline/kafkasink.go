package pipeline

import (
	"maps"

	"github.com/apache/arrow-go/v18/arrow"

	"microbatch/codec"
	"microbatch/codec/json"
	"microbatch/ident"
	"microbatch/internal/kafkaclient"
	"microbatch/pipeline/config"
	"microbatch/sinks"
	"microbatch/sinks/kafka"
	"microbatch/sources"
)

// kafkaSink is the Kafka sink. It may commit the positions of the source, which it must not know.
func (b builder) kafkaSink(k *config.KafkaSink, source sources.Source) (sinks.Sink, error) {
	c := kafka.Config{
		Brokers:     k.Brokers,
		Topic:       k.Topic,
		TopicColumn: k.TopicColumn,
		Key:         k.Key,
		Headers:     k.Headers,
		Partition:   k.Partition,
		Operation:   k.OperationColumn,
		Deletes:     k.DeleteValues,
		Value:       k.Value,
		Compression: k.Compression,
		Mode:        kafka.Mode(k.Mode),
		Timeout:     k.TransactionTimeout.D(),
		Longest:     b.c.BatchTimeout.D(),
		RetryFor:    b.RetryFor,
		Notice:      b.notice,
	}
	c.TLS, c.SASL, c.Insecure = security(k.TLS, k.SASL)
	switch k.Format {
	case "json":
		c.Format, c.Encoder = k.Format, func(rows *arrow.Schema) (codec.Encoder, error) { return json.NewEncoder(rows) }
	case "avro":
		if err := b.avroValues(&c, k); err != nil {
			return nil, err
		}
	}
	if p, ok := source.(sources.Positioner); ok && k.CommitGroup != "" {
		c.CommitGroup, c.Positions = k.CommitGroup, positions(p)
	}
	return kafka.New(c)
}

// positions are where a source stands after the ranges of a batch.
func positions(source sources.Positioner) func([]ident.Range) (map[string]map[int32]int64, error) {
	return func(ranges []ident.Range) (map[string]map[int32]int64, error) {
		out := map[string]map[int32]int64{}
		for _, r := range ranges {
			ends, err := source.Positions(r.To)
			if err != nil {
				return nil, err
			}
			maps.Copy(out, ends)
		}
		return out, nil
	}
}

// security is how a cluster is entered.
func security(t *config.TLS, s *config.SASL) (tls *kafkaclient.TLS, sasl *kafkaclient.SASL, insecure bool) {
	if t != nil {
		tls = &kafkaclient.TLS{CA: t.CA, Cert: t.Cert, Key: t.Key, ServerName: t.ServerName}
	}
	if s != nil {
		sasl, insecure = &kafkaclient.SASL{Mechanism: s.Mechanism, User: s.User, Password: s.Password.Value()}, s.Insecure
	}
	return tls, sasl, insecure
}
