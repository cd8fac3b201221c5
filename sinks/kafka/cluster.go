package kafka

import (
	"context"
	"errors"
	"strconv"
	"time"
)

// Cluster is what the sink asks of Kafka. The client library's is made from Config.Brokers; a model of a cluster may stand in for it. All methods end with ctx.
// Errors are the client library's (kerr), so that they have one meaning.
type Cluster interface {
	// Topic looks a topic up. fs.ErrNotExist: there is none.
	Topic(ctx context.Context, name string) (Topic, error)
	// Limits are the broker's. What it does not tell is 0.
	Limits(ctx context.Context) (Limits, error)
	// Committed is the position of a group. Positions of transactions that have not ended do not count; with stable they make ErrUnstable.
	Committed(ctx context.Context, group string, at Partition, stable bool) (Position, error)
	// Open reports whether a transaction of the id is open and nobody has asked for its end. It writes nothing.
	Open(ctx context.Context, transactionalID string) (bool, error)
	// Groups are the groups whose names begin so, as far as they may be seen.
	Groups(ctx context.Context, prefix string) ([]string, error)
	// Consumed reports whether a group has members now, as far as that may be seen.
	Consumed(ctx context.Context, group string) (bool, error)
	// Producer makes a producer. With a transactional id it fences those of the id that came before, aborts what they left open, and returns when nothing
	// of the id is under way; "" is a producer without transactions.
	Producer(ctx context.Context, transactionalID string) (Producer, error)
	// Close ends all connections but those of producers.
	Close()
}

// Producer writes records, in one transaction at a time if it has a transactional id. Its methods are called by one goroutine, but Produce by many.
type Producer interface {
	// Begin begins a transaction.
	Begin() error
	// Produce takes records, and keeps nothing of them when it returns; those of a key, or for a partition, stay in order. It waits while too much is under way. An error
	// is of these records, ErrPartition among them, or of what was taken before: the producer is of no use any more.
	Produce(ctx context.Context, records []Record) error
	// Flush waits until all that was taken is acknowledged.
	Flush(ctx context.Context) error
	// Positions adds positions of a group to the transaction.
	Positions(ctx context.Context, group string, at map[Partition]Position) error
	// End commits or aborts the transaction, also one without records.
	End(ctx context.Context, commit bool) error
	// Close ends the connections. It ends no transaction.
	Close()
}

// ErrUnstable says that a position is part of a transaction that has not ended.
var ErrUnstable = errors.New("the position is part of a transaction that has not ended")

// ErrPartition says that a topic has no partition of the number that a record names.
var ErrPartition = errors.New("the topic has no such partition")

// Record is a record to write.
type Record struct {
	Topic      string
	Partition  int32  // ByKey: where the key says; without a key, any
	Key, Value []byte // nil: none
	Headers    []Header
}

// ByKey is the partition of a record that goes where its key says.
const ByKey = -1

// Header is a header of a record.
type Header struct {
	Key   string
	Value []byte // nil: none
}

// Topic is a topic as it is now.
type Topic struct {
	ID         string // "" on brokers that give topics none
	Partitions int32
	MaxBytes   int32 // the largest batch of records it takes; 0 if the broker does not tell
}

// Limits are settings of the brokers.
type Limits struct {
	Transaction time.Duration // transaction.max.timeout.ms
	Retention   time.Duration // offsets.retention.minutes
}

// Partition is a partition of a topic.
type Partition struct {
	Topic  string
	Number int32
}

// String is "topic-number".
func (p Partition) String() string { return p.Topic + "-" + strconv.Itoa(int(p.Number)) }

// Position is what a group has committed at a partition.
type Position struct {
	Offset   int64 // -1: nothing
	Metadata string
}
