package kafka

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"microbatch/codec"
	"microbatch/internal/errcode"
	"microbatch/internal/kafkaclient"
)

// Config says what to read and how. The zero value of every field but Brokers, Topics or Pattern, and Format is usable.
type Config struct {
	Brokers []string // host:port; any of them is enough to find the others
	Client  Client   // in place of Brokers, TLS and SASL: an embedder's own client, or a model of a cluster. It is the caller's to close, after the source; nil makes one
	Topics  []string // the topics; exactly one of Topics and Pattern is given
	Pattern string   // a regular expression (RE2) that matches whole topic names

	Start      Start      // where a fresh query begins; a query that has a checkpoint goes on from there
	Isolation  Isolation  // ReadCommitted unless set
	OnDataLoss OnDataLoss // Fail unless set

	TLS      *TLS  // nil: plain text
	SASL     *SASL // nil: no login
	Insecure bool  // permits SASL PLAIN without TLS

	Metadata []string // columns to add, of MetadataColumns
	Prefix   string   // of the metadata columns' names; "" is "_"

	GroupID string // where progress is shown to lag tools; "" for nowhere. It is informative: nothing is ever read from it

	Format codec.Messages // decodes the records' values
	Schema *arrow.Schema  // of the values; nil infers one from the first messages and pins it in the checkpoint

	FetchBytes      int32         // most bytes of one partition in one answer; 0 is 1 MiB. A larger batch of records still comes whole
	BufferBytes     int64         // fetched and not yet decoded, in all; 0 is 16 MiB
	MaxDecompressed int           // most bytes that one batch of records may decompress to; 0 is 64 MiB
	RetryFor        time.Duration // how long to wait for brokers that do not answer; 0 is 1 min

	Alloc  memory.Allocator // nil: as the format likes
	Notice func(string)     // told what an operator should know and no error is: skipped ranges, hanging transactions; nil for nobody
}

// Start is where a fresh query begins. The zero value is the earliest offset.
type Start struct {
	Latest    bool                       // only what comes from now on
	Timestamp time.Time                  // the first record of each partition at or after it
	Offsets   map[string]map[int32]int64 // topic, partition: the first offset to read; -2 is the earliest, -1 the latest. Every partition is listed
}

// Isolation says whether records of open and aborted transactions are seen.
type Isolation string

// The isolations.
const (
	ReadCommitted   Isolation = "read_committed"
	ReadUncommitted Isolation = "read_uncommitted"
)

// OnDataLoss says what to do when retention has removed records that were not read.
type OnDataLoss string

// The choices: stop with an error that names the range, or go on and say so.
const (
	Fail OnDataLoss = "fail"
	Skip OnDataLoss = "skip"
)

// TLS is how the brokers are recognised, and this client by them. Files are read again for each connection, so that they can be replaced while it runs.
type TLS = kafkaclient.TLS

// SASL is a login.
type SASL = kafkaclient.SASL

// access is where the cluster is and how it is entered.
func (c Config) access() kafkaclient.Access {
	return kafkaclient.Access{Brokers: c.Brokers, TLS: c.TLS, SASL: c.SASL, Insecure: c.Insecure}
}

func (c Config) withDefaults() Config {
	c.Isolation = cmp.Or(c.Isolation, ReadCommitted)
	c.OnDataLoss = cmp.Or(c.OnDataLoss, Fail)
	c.Prefix = cmp.Or(c.Prefix, "_")
	c.FetchBytes = cmp.Or(c.FetchBytes, 1<<20)
	c.BufferBytes = cmp.Or(c.BufferBytes, 16<<20)
	c.MaxDecompressed = cmp.Or(c.MaxDecompressed, 64<<20)
	c.RetryFor = cmp.Or(c.RetryFor, time.Minute)
	if c.Notice == nil {
		c.Notice = func(string) {}
	}
	c.Topics = slices.Sorted(slices.Values(c.Topics))
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
	fault(len(c.Brokers) == 0 && c.Client == nil, "brokers: at least one host:port")
	fault((len(c.Topics) == 0) == (c.Pattern == ""), "exactly one of topics and pattern")
	fault(len(slices.Compact(slices.Clone(c.Topics))) != len(c.Topics), "topics: one is named twice")
	_, err := regexp.Compile(c.Pattern)
	fault(err != nil, "pattern: %v", err)
	fault(c.Isolation != ReadCommitted && c.Isolation != ReadUncommitted, "isolation: %q is neither %s nor %s", c.Isolation, ReadCommitted, ReadUncommitted)
	fault(c.OnDataLoss != Fail && c.OnDataLoss != Skip, "on_data_loss: %q is neither %s nor %s", c.OnDataLoss, Fail, Skip)
	fault(c.Start.ways() > 1, "start: only one of latest, timestamp and offsets")
	fault(c.Format == nil, "format: none")
	fault(c.FetchBytes < 0 || c.BufferBytes < 0 || c.MaxDecompressed < 0 || c.RetryFor < 0, "limits must not be negative")
	for _, m := range c.Metadata {
		fault(!slices.Contains(MetadataColumns(), m), "metadata: %q is none of %s", m, strings.Join(MetadataColumns(), ", "))
	}
	faults = append(faults, c.access().Faults()...)
	if len(faults) > 0 {
		return errcode.KafkaOptions.New("", "kafka source: %s", strings.Join(faults, "; "))
	}
	return c.access().Protected()
}

func (s Start) ways() int {
	n := 0
	for _, used := range []bool{s.Latest, !s.Timestamp.IsZero(), s.Offsets != nil} {
		if used {
			n++
		}
	}
	return n
}
