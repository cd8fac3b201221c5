package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	jsoncodec "microbatch/codec/json"
	"microbatch/ident"
	"microbatch/internal/sim/gate"
	"microbatch/internal/sim/kafkamodel"
	"microbatch/internal/sim/world"
	"microbatch/schema"
	"microbatch/sources"
	"microbatch/sources/kafka"
)

// input is where rows come from: a partitioned log.
type input interface {
	// source is the input as a process reads it.
	source(a *actor) sources.Source
	partitions() int
	grow()
	// produce appends n rows to a partition, one way or another.
	produce(r *rand.Rand, partition int, n int64) (how string)
	// settle ends what is open, so that everything can be read.
	settle()
	// ends are where everything that can be read ends.
	ends() []int64
	// parse reads an offset.
	parse(o ident.Offset) ([]int64, error)
	// each calls f for each row of a partition between two offsets that a reader sees: its number in the partition and its position.
	each(partition int, from, to int64, f func(seq int64, position string))
}

// topicInput is the world's topic.
type topicInput struct{ *world.Topic }

func (t topicInput) source(a *actor) sources.Source { return t.Topic.Source(a.Process) }
func (t topicInput) partitions() int                { return len(t.Ends) }
func (t topicInput) grow()                          { t.Topic.Ends = append(t.Topic.Ends, 0) }
func (t topicInput) settle()                        {}
func (t topicInput) ends() []int64                  { return t.Ends }

func (t topicInput) produce(_ *rand.Rand, partition int, n int64) string {
	t.Topic.Produce(partition, n)
	return ""
}

func (t topicInput) parse(o ident.Offset) ([]int64, error) { return world.ParseOffset(o) }

func (t topicInput) each(partition int, from, to int64, f func(int64, string)) {
	for ; from < to; from++ {
		f(from, world.RowID(partition, from))
	}
}

// kafkaInput is a topic on a model of Kafka, and what was put there.
type kafkaInput struct {
	*kafkamodel.Cluster
	options
	written [][]written // by partition
	open    map[int]*transaction
	txns    int64
}

// written is a record of the topic.
type written struct {
	offset int64
	seq    int64
	txn    *transaction // nil: none
}

// transaction is one of a producer.
type transaction struct {
	*kafkamodel.Txn
	aborted bool
}

const topicName = "events"

func newKafkaInput(o options) *kafkaInput {
	k := &kafkaInput{Cluster: kafkamodel.New(kafkamodel.Config{Brokers: 3, Latency: time.Millisecond, AbortedBackwards: o.Seed%2 == 0}), options: o, open: map[int]*transaction{}}
	k.Create(topicName, o.Partitions)
	k.written = make([][]written, o.Partitions)
	return k
}

func (k *kafkaInput) partitions() int { return len(k.written) }

func (k *kafkaInput) grow() {
	k.AddPartitions(topicName, 1)
	k.written = append(k.written, nil)
}

// produce writes rows alone, or in a transaction that is ended at once, aborted, or left open until the partition gets the next.
func (k *kafkaInput) produce(r *rand.Rand, partition int, n int64) (how string) {
	k.close(r, partition)
	var txn *transaction
	fate := r.IntN(10)
	if fate > 5 {
		k.txns++
		txn = &transaction{Txn: k.Begin(k.txns)}
	}
	for n > 0 {
		m := min(n, 1+r.Int64N(n))
		k.write(partition, m, txn)
		n -= m
	}
	switch {
	case fate > 8:
		k.open[partition] = txn
		return "in a transaction that stays open"
	case fate > 7:
		txn.aborted = true
		txn.Abort()
		return "in a transaction that is aborted"
	case fate > 5:
		txn.Commit()
		return "in a transaction"
	}
	return ""
}

func (k *kafkaInput) write(partition int, n int64, txn *transaction) {
	var records []kafkamodel.Record
	first := int64(len(k.written[partition]))
	for seq := first; seq < first+n; seq++ {
		value := fmt.Appendf(nil, `{"id":%q,"part":%d,"seq":%d,"key":"k%d"}`, world.RowID(partition, seq), partition, seq, seq%4)
		if k.bad(partition, seq) {
			value = value[:len(value)/2]
		}
		records = append(records, kafkamodel.Record{Value: value})
	}
	var inner *kafkamodel.Txn
	if txn != nil {
		inner = txn.Txn
	}
	offset := k.Produce(topicName, int32(partition), inner, records...)
	for i := range n {
		k.written[partition] = append(k.written[partition], written{offset + i, first + i, txn})
	}
}

// close ends the open transaction of a partition.
func (k *kafkaInput) close(r *rand.Rand, partition int) {
	txn := k.open[partition]
	if txn == nil {
		return
	}
	delete(k.open, partition)
	if r != nil && r.IntN(2) == 0 {
		txn.aborted = true
		txn.Abort()
		return
	}
	txn.Commit()
}

func (k *kafkaInput) settle() {
	for p := range k.written {
		k.close(nil, p)
	}
	for b := range int32(3) {
		k.Start(b + 1)
	}
}

func (k *kafkaInput) ends() (out []int64) {
	for p := range k.written {
		_, stable, _ := k.Offsets(topicName, int32(p))
		out = append(out, stable)
	}
	return out
}

func (k *kafkaInput) parse(o ident.Offset) (out []int64, err error) {
	if o == "" {
		return nil, nil
	}
	var ends map[string]map[string]int64
	if err := json.Unmarshal([]byte(o), &ends); err != nil {
		return nil, err
	}
	for name, end := range ends[topicName] {
		p, err := strconv.Atoi(name)
		if err != nil || p < 0 || p >= len(k.written) {
			return nil, fmt.Errorf("offset %s has a partition %q", o, name)
		}
		for len(out) <= p {
			out = append(out, 0) // a new partition that was hidden when others were found: nothing of it is read yet
		}
		out[p] = end
	}
	return out, nil
}

func (k *kafkaInput) each(partition int, from, to int64, f func(int64, string)) {
	for _, w := range k.written[partition] {
		if w.offset >= from && w.offset < to && (w.txn == nil || !w.txn.aborted) {
			f(w.seq, fmt.Sprintf("%s-%d-%d", topicName, partition, w.offset))
		}
	}
}

// source reads over a client whose requests are operations of the process.
func (k *kafkaInput) source(a *actor) sources.Source {
	values, err := schema.ParseDDL("id STRING, part INT, seq BIGINT, key STRING")
	if err != nil {
		panic(err)
	}
	client := k.Client(a.Name, func(ctx context.Context, broker int, req kmsg.Request, serve func() (kmsg.Response, error)) (resp kmsg.Response, err error) {
		err = a.Do(ctx, "kafka", strings.ToLower(kmsg.NameForKey(req.Key())), strconv.Itoa(broker), func() (err error) {
			resp, err = serve()
			return err
		})
		return resp, err
	})
	s, err := kafka.New(kafka.Config{
		Client: client, Topics: []string{topicName}, Format: jsoncodec.New(jsoncodec.Options{}), Schema: values, Alloc: a.alloc, RetryFor: 20 * time.Second, GroupID: "lag", FetchBytes: 2000,
	})
	if err != nil {
		panic(err)
	}
	return s
}

// calamity is what happens to the cluster.
func (k *kafkaInput) calamity(r *rand.Rand, kind kind, arg int, recorded []int64) string {
	p := r.IntN(len(k.written))
	switch kind {
	case leader:
		to := int32(1 + r.IntN(3))
		k.MoveLeader(topicName, int32(p), to)
		return fmt.Sprintf("partition %d is led by broker %d", p, to)
	case hide:
		k.Hide(topicName, 1+arg, int32(p))
		return fmt.Sprintf("partition %d is hidden", p)
	case lie:
		k.Understate(topicName, int32(p), int64(1+arg), 1+arg)
		return fmt.Sprintf("partition %d is said to end earlier", p)
	case compact:
		k.Compact(topicName, int32(p), func(kafkamodel.Record) bool { return true }, true)
		return fmt.Sprintf("partition %d loses its markers", p)
	case retention:
		if p < len(recorded) {
			k.DeleteRecords(topicName, int32(p), recorded[p])
			return fmt.Sprintf("partition %d begins at %d", p, recorded[p])
		}
	}
	return "nothing"
}

// isKafka is for operations on the model.
func isKafka(op gate.Op) bool { return op.Place == "kafka" }
