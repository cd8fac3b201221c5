package kafka

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/twmb/franz-go/pkg/kgo"

	"microbatch/codec"
	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/internal/kafkaclient"
)

// Config says where records go and what they are made of. The zero value of every field but Brokers, Topic, and Encoder or Value is usable.
type Config struct {
	Brokers  []string // host:port; any of them is enough to find the others
	TLS      *TLS     // nil: plain text
	SASL     *SASL    // nil: no login
	Insecure bool     // permits SASL PLAIN without TLS
	Cluster  Cluster  // in place of Brokers, TLS and SASL; closed with the sink. nil: the library's

	Topic       string // of all records, or of those whose TopicColumn is null; its partition 0 holds the marker
	TopicColumn string // STRING: the topic of each record; "" for none

	Key       string // a column of STRING, BINARY or an integer, as its digits; "": records have no key
	Headers   string // a column of ARRAY<STRUCT<key STRING, value BINARY>>, as the Kafka source has it; "": no headers
	Partition string // a column of an integer: the partition; null, or "": by the key

	Operation string   // a STRING column that says whether a row is a tombstone, a key without value; "": none
	Deletes   []string // the values of Operation that say so, without regard to case; nil: delete and d

	// Encoder makes the encoder of the values for rows of a schema: all columns but those of topic, headers, partition and operation. nil: Value is the value.
	Encoder func(rows *arrow.Schema) (codec.Encoder, error)
	Format  string  // the encoder's name; "raw" without one
	Details string  // what else of the format the fingerprint should notice
	Schemas Schemas // what the encoder needs of a schema registry; nil: nothing
	Value   string  // a column of STRING or BINARY that is the value as it is; null is a tombstone. For raw

	Compression string        // of Compressions; "" is snappy
	Mode        Mode          // Transactional unless set
	Timeout     time.Duration // after which the broker aborts a transaction; 0 is 5 min
	Longest     time.Duration // how long a batch may take; 0: not known

	CommitGroup string                                                         // also commits the source's positions to this group, in the transaction; "": none
	Positions   func(ranges []ident.Range) (map[string]map[int32]int64, error) // the positions after a batch, by topic and partition. For CommitGroup
	RetryFor    time.Duration                                                  // how long to wait for brokers that do not answer; 0 is 1 min
	Notice      func(string)                                                   // told what an operator should know and no error is; nil for nobody
	Now         func() time.Time                                               // nil: time.Now
}

// Schemas is where the schema of the values is kept, for formats whose values are read by it.
type Schemas interface {
	// Check says whether Register would be accepted. It writes nothing.
	Check(ctx context.Context, rows *arrow.Schema) error
	// Register makes sure that the schema of rows is there; encoders that are made from then on can be used. It is called again by each driver that takes over.
	Register(ctx context.Context, rows *arrow.Schema) error
}

// Mode says how records are written.
type Mode string

// The modes.
const (
	Transactional Mode = "transactional" // one transaction for each batch
	Idempotent    Mode = "idempotent"    // no transactions: a batch that runs again writes its records again
)

// TLS is how the brokers are recognised, and this client by them. Files are read again for each connection, so that they can be replaced while it runs.
type TLS = kafkaclient.TLS

// SASL is a login.
type SASL = kafkaclient.SASL

// Compressions are the names of what record batches can be compressed with.
func Compressions() []string { return []string{"none", "gzip", "snappy", "lz4", "zstd"} }

func codecOf(compression string) kgo.CompressionCodec {
	switch compression {
	case "none":
		return kgo.NoCompression()
	case "gzip":
		return kgo.GzipCompression()
	case "lz4":
		return kgo.Lz4Compression()
	case "zstd":
		return kgo.ZstdCompression()
	}
	return kgo.SnappyCompression()
}

// access is where the cluster is and how it is entered.
func (c Config) access() kafkaclient.Access {
	return kafkaclient.Access{Brokers: c.Brokers, TLS: c.TLS, SASL: c.SASL, Insecure: c.Insecure}
}

func (c Config) withDefaults() Config {
	c.Compression = cmp.Or(c.Compression, "snappy")
	c.Mode = cmp.Or(c.Mode, Transactional)
	c.Timeout = cmp.Or(c.Timeout, 5*time.Minute)
	c.RetryFor = cmp.Or(c.RetryFor, time.Minute)
	if c.Encoder == nil {
		c.Format = "raw"
	}
	if c.Deletes == nil {
		c.Deletes = []string{"delete", "d"}
	}
	if c.Notice == nil {
		c.Notice = func(string) {}
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// validate lists all that is wrong, at once.
func (c Config) validate() error {
	var faults []string
	fault := func(wrong bool, format string, args ...any) {
		if wrong {
			faults = append(faults, fmt.Sprintf(format, args...))
		}
	}
	fault(len(c.Brokers) == 0 && c.Cluster == nil, "brokers: at least one host:port")
	fault(c.Topic == "", "topic: none")
	fault((c.Encoder == nil) == (c.Value == ""), "exactly one of an encoder and a value column (for raw)")
	fault(c.Encoder != nil && c.Format == "", "format: the encoder has no name")
	fault(c.Encoder == nil && c.Schemas != nil, "a registry of schemas without an encoder")
	fault(!slices.Contains(Compressions(), c.Compression), "compression: %q is none of %s", c.Compression, strings.Join(Compressions(), ", "))
	fault(c.Mode != Transactional && c.Mode != Idempotent, "mode: %q is neither %s nor %s", c.Mode, Transactional, Idempotent)
	fault(c.Timeout < time.Second, "transaction_timeout: at least 1s, not %s", c.Timeout)
	fault((c.CommitGroup == "") != (c.Positions == nil), "commit_group and the source's positions go together")
	fault(c.CommitGroup != "" && c.Mode == Idempotent, "commit_group: positions are part of a transaction, and mode idempotent has none")
	fault(strings.HasPrefix(c.CommitGroup, namePrefix), "commit_group: names that begin with %s are the markers of queries", namePrefix)
	fault(c.Longest < 0 || c.RetryFor < 0, "times must not be negative")
	faults = append(faults, c.access().Faults()...)
	if len(faults) > 0 {
		return errcode.KafkaSinkOptions.New("", "kafka sink: %s", strings.Join(faults, "; "))
	}
	if c.Mode == Transactional && c.Longest >= c.Timeout {
		return errcode.KafkaSinkTimeout.New("", "transaction_timeout is %s, and a batch may take %s (batch_timeout): the broker would abort its transaction first", c.Timeout, c.Longest)
	}
	return c.access().Protected()
}
