package pipeline

import (
	"strings"

	"microbatch/checker"
	"microbatch/internal/kafkaclient"
	"microbatch/internal/targets"
	"microbatch/sinks/kafka"
)

// Target is what the pipeline writes to, as package checker reads it: with code of its own. what names it for people. It is nil if that is a table, which the
// checker reads by itself. Nothing is connected to yet.
func Target(c *Config) (t checker.Target, what string) {
	switch s := c.Sink; {
	case s.Table != nil:
		return nil, "table " + s.Table.Path
	case s.Files != nil:
		return targets.Files{Dir: s.Files.Path}, "folder " + s.Files.Path
	case s.Postgres != nil:
		p := s.Postgres
		return targets.Postgres{URL: p.URL, Password: p.Password.Value(), Table: p.Table}, "PostgreSQL table " + p.Table
	case s.Kafka != nil:
		k := s.Kafka
		what = "topic " + k.Topic + " at " + strings.Join(k.Brokers, ",")
		if k.Mode == string(kafka.Idempotent) {
			return targets.None{}, what + ", without transactions"
		}
		access := kafkaclient.Access{Brokers: k.Brokers}
		access.TLS, access.SASL, access.Insecure = security(k.TLS, k.SASL)
		return targets.Kafka{Access: access, Topic: k.Topic}, what
	case s.HTTP != nil:
		return targets.None{}, "service " + s.HTTP.URL
	case s.ForeachBatch != nil && s.ForeachBatch.Postgres != nil:
		p := s.ForeachBatch.Postgres
		return targets.Postgres{URL: p.URL, Password: p.Password.Value(), Table: "microbatch_statements"}, "statements in PostgreSQL"
	case s.ForeachBatch != nil && s.ForeachBatch.DuckDB != "":
		return targets.DuckDB{Path: s.ForeachBatch.DuckDB}, "statements in the DuckDB database " + s.ForeachBatch.DuckDB
	case s.ForeachBatch != nil:
		return targets.None{}, "program " + s.ForeachBatch.Command[0]
	}
	return targets.None{}, "terminal"
}
