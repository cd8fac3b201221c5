package kafkamodel

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"
)

// Config is the shape of a cluster. The zero value is one broker that answers at once.
type Config struct {
	Brokers int           // 0 is 1; their ids are 1, 2, ...
	Latency time.Duration // of each request, which takes up to twice as long (M4); 0 is none
	Gzip    bool          // batches of records are compressed

	AbortedBackwards bool // brokers list aborted transactions in no order that a client could rely on

	Settling  time.Duration // between the answer to EndTxn and the end that readers see; 0: with the next request
	Retention time.Duration // offsets.retention.minutes; 0: positions are never forgotten, and the brokers do not tell
}

// Cluster is brokers, and topics on them. All methods may be called at any time, from any goroutine.
type Cluster struct {
	config Config

	mu      sync.Mutex
	topics  map[string]*topic
	made    int // topics, ever
	brokers []*broker
	open    map[int64]*Txn // by producer
	ids     map[string]*transactional
	given   int64 // producer ids, ever
	groups  map[string]*group
	asked   time.Time // when somebody asked last
}

// topic is a topic under one identity.
type topic struct {
	name       string
	id         [16]byte
	partitions []*partition
	hidden     int // for so many answers to Metadata the topic is not there
}

// partition is a log and who leads it.
type partition struct {
	log    log
	leader int32 // -1: nobody
	hidden int   // for so many answers to Metadata it is not there

	understated int64 // by so much the end is said to be lower
	lies        int   // for so many answers to ListOffsets

	sequences map[int64]sequence // by producer
}

// sequence is what a partition expects of a producer.
type sequence struct {
	epoch int16
	next  int32
}

type broker struct {
	id   int32
	down bool
	slow time.Duration
}

// New makes a cluster without topics.
func New(config Config) *Cluster {
	c := &Cluster{config: config, topics: map[string]*topic{}, open: map[int64]*Txn{}, ids: map[string]*transactional{}, groups: map[string]*group{}, asked: time.Now()}
	for i := range max(1, config.Brokers) {
		c.brokers = append(c.brokers, &broker{id: int32(i + 1)})
	}
	return c
}

// names are the topics, sorted. Called with the lock, like all that is not exported.
func (c *Cluster) names() []string { return slices.Sorted(maps.Keys(c.topics)) }

func (c *Cluster) partition(topic string, partition int32) (*partition, bool) {
	t, ok := c.topics[topic]
	if !ok || partition < 0 || int(partition) >= len(t.partitions) {
		return nil, false
	}
	return t.partitions[partition], true
}

// must is a partition that a test names.
func (c *Cluster) must(topic string, partition int32) *partition {
	p, ok := c.partition(topic, partition)
	if !ok {
		panic(fmt.Sprintf("kafkamodel: there is no %s-%d", topic, partition))
	}
	return p
}

// isDown reports that a broker does not answer, as one that does not exist; nobody always does.
func (c *Cluster) isDown(id int32) bool {
	for _, b := range c.brokers {
		if b.id == id {
			return b.down
		}
	}
	return id != nobody
}

func (c *Cluster) mustBroker(id int32) *broker {
	for _, b := range c.brokers {
		if b.id == id {
			return b
		}
	}
	panic(fmt.Sprintf("kafkamodel: there is no broker %d", id))
}
