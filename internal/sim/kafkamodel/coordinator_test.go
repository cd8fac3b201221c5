//go:build services

package kafkamodel

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"microbatch/internal/services"
)

// requests are those of one transactional id, to a topic of two partitions and a group of one position.
type requests interface {
	init() (identity, error)
	addPartition(who identity, n int32) error
	produce(who identity, n, first int32, value string) error
	addOffsets(who identity) error
	commit(who identity, offset int64) error
	end(who identity, commit bool) error
	position(stable bool) (int64, error)
	open() bool
	settle()         // waits for what is about to end
	visible() string // to a reader of committed records
}

// onModel asks the model.
type onModel struct {
	*Cluster
	id string
}

func (m onModel) locked(f func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tick()
	return f()
}

func (m onModel) init() (who identity, err error) {
	err = m.locked(func() (err error) { who, err = m.initProducerID(m.id, time.Minute); return err })
	return who, err
}

func (m onModel) addPartition(who identity, n int32) error {
	return m.locked(func() error { return m.addPartitions(m.id, who, []place{{m.id, n}}) })
}

func (m onModel) produce(who identity, n, first int32, value string) error {
	return m.locked(func() error {
		return m.Cluster.produce(m.id, who, place{m.id, n}, first, []Record{{Value: []byte(value), Time: time.Now()}})
	})
}

func (m onModel) addOffsets(who identity) error {
	return m.locked(func() error { return m.Cluster.addOffsets(m.id, who, m.id) })
}

func (m onModel) commit(who identity, offset int64) error {
	return m.locked(func() error {
		return m.commitInTransaction(m.id, who, m.id, []place{{m.id, 0}}, []position{{offset: offset}})
	})
}

func (m onModel) end(who identity, commit bool) error {
	return m.locked(func() error { return m.endTransaction(m.id, who, commit) })
}

func (m onModel) position(stable bool) (at int64, err error) {
	err = m.locked(func() error {
		p, err := m.Cluster.position(m.id, place{m.id, 0}, stable)
		at = p.offset
		return err
	})
	return at, err
}

func (m onModel) open() bool {
	open, err := m.Writer(WriterConfig{}).Open(context.Background(), m.id)
	return open && err == nil
}

func (m onModel) settle() { m.Settle() }

func (m onModel) visible() string {
	var b strings.Builder
	for n := range int32(2) {
		for _, r := range m.Records(m.id, n) {
			fmt.Fprintf(&b, "%d %s, ", n, r.Value)
		}
	}
	return b.String()
}

// onBroker asks a broker, in the versions that the sink keeps to.
type onBroker struct {
	*testing.T
	client *kgo.Client
	id     string
}

func newOnBroker(t *testing.T, addr, id string) onBroker {
	t.Helper()
	v := kversion.Stable()
	for key, most := range map[kmsg.Key]int16{kmsg.Produce: 11, kmsg.EndTxn: 4, kmsg.TxnOffsetCommit: 4, kmsg.AddPartitionsToTxn: 3, kmsg.OffsetFetch: 7} {
		v.SetMaxKeyVersion(int16(key), most)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DisableClientMetrics(), kgo.MaxVersions(v))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	if _, err := kadm.NewClient(client).CreateTopic(t.Context(), 2, 1, nil, id); err != nil {
		t.Fatal(err)
	}
	return onBroker{t, client, id}
}

// notYet are the answers about what was made just now, and is not known everywhere at once.
var notYet = []*kerr.Error{kerr.CoordinatorNotAvailable, kerr.NotCoordinator, kerr.CoordinatorLoadInProgress, kerr.UnknownTopicOrPartition, kerr.NotLeaderForPartition}

// ask sends a request until the broker can answer it.
func ask[R any](b onBroker, send func() (R, error), code func(R) int16) (R, error) {
	b.Helper()
	for {
		resp, err := send()
		if err == nil {
			err = kerr.ErrorForCode(code(resp))
		} else if _, answered := errors.AsType[*kerr.Error](err); !answered {
			b.Fatal(err)
		}
		if !slices.ContainsFunc(notYet, func(e *kerr.Error) bool { return errors.Is(err, e) }) {
			return resp, err
		}
		select {
		case <-b.Context().Done():
			b.Fatal(err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func (b onBroker) init() (identity, error) {
	req := kmsg.NewPtrInitProducerIDRequest()
	req.TransactionalID, req.TransactionTimeoutMillis, req.ProducerID, req.ProducerEpoch = &b.id, 60_000, -1, -1
	resp, err := ask(b, func() (*kmsg.InitProducerIDResponse, error) { return req.RequestWith(b.Context(), b.client) }, func(r *kmsg.InitProducerIDResponse) int16 { return r.ErrorCode })
	return identity{resp.ProducerID, resp.ProducerEpoch}, err
}

func (b onBroker) addPartition(who identity, n int32) error {
	req := kmsg.NewPtrAddPartitionsToTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch = b.id, who.producer, who.epoch
	t := kmsg.NewAddPartitionsToTxnRequestTopic()
	t.Topic, t.Partitions = b.id, []int32{n}
	req.Topics = append(req.Topics, t)
	_, err := ask(b, func() (*kmsg.AddPartitionsToTxnResponse, error) { return req.RequestWith(b.Context(), b.client) },
		func(r *kmsg.AddPartitionsToTxnResponse) int16 { return r.Topics[0].Partitions[0].ErrorCode })
	return err
}

func (b onBroker) produce(who identity, n, first int32, value string) error {
	batch := stored{producer: who.producer, producerEpoch: who.epoch, transactional: true, records: []Record{{Value: []byte(value), Time: time.Now()}}}
	batch.encode()
	binary.BigEndian.PutUint32(batch.bytes[53:], uint32(first)) // the sequence of the first record
	binary.BigEndian.PutUint32(batch.bytes[17:], crc32.Checksum(batch.bytes[afterCRC:], castagnoli))
	req := kmsg.NewPtrProduceRequest()
	req.TransactionID, req.Acks, req.TimeoutMillis = &b.id, -1, 5000
	t, p := kmsg.NewProduceRequestTopic(), kmsg.NewProduceRequestTopicPartition()
	p.Partition, p.Records = n, batch.bytes
	t.Topic, t.Partitions = b.id, append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	_, err := ask(b, func() (*kmsg.ProduceResponse, error) { return req.RequestWith(b.Context(), b.client) },
		func(r *kmsg.ProduceResponse) int16 { return r.Topics[0].Partitions[0].ErrorCode })
	return err
}

func (b onBroker) addOffsets(who identity) error {
	req := kmsg.NewPtrAddOffsetsToTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group = b.id, who.producer, who.epoch, b.id
	_, err := ask(b, func() (*kmsg.AddOffsetsToTxnResponse, error) { return req.RequestWith(b.Context(), b.client) }, func(r *kmsg.AddOffsetsToTxnResponse) int16 { return r.ErrorCode })
	return err
}

func (b onBroker) commit(who identity, offset int64) error {
	req := kmsg.NewPtrTxnOffsetCommitRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Group, req.Generation = b.id, who.producer, who.epoch, b.id, -1
	t, p := kmsg.NewTxnOffsetCommitRequestTopic(), kmsg.NewTxnOffsetCommitRequestTopicPartition()
	p.Offset = offset
	t.Topic, t.Partitions = b.id, append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	_, err := ask(b, func() (*kmsg.TxnOffsetCommitResponse, error) { return req.RequestWith(b.Context(), b.client) },
		func(r *kmsg.TxnOffsetCommitResponse) int16 { return r.Topics[0].Partitions[0].ErrorCode })
	return err
}

func (b onBroker) end(who identity, commit bool) error {
	req := kmsg.NewPtrEndTxnRequest()
	req.TransactionalID, req.ProducerID, req.ProducerEpoch, req.Commit = b.id, who.producer, who.epoch, commit
	_, err := ask(b, func() (*kmsg.EndTxnResponse, error) { return req.RequestWith(b.Context(), b.client) }, func(r *kmsg.EndTxnResponse) int16 { return r.ErrorCode })
	return err
}

func (b onBroker) position(stable bool) (int64, error) {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group, req.RequireStable = b.id, stable
	t := kmsg.NewOffsetFetchRequestTopic()
	t.Topic, t.Partitions = b.id, []int32{0}
	req.Topics = append(req.Topics, t)
	resp, err := ask(b, func() (*kmsg.OffsetFetchResponse, error) { return req.RequestWith(b.Context(), b.client) }, func(r *kmsg.OffsetFetchResponse) int16 { return r.ErrorCode })
	if errors.Is(err, kerr.GroupIDNotFound) {
		return -1, nil
	}
	if err == nil {
		err = kerr.ErrorForCode(resp.Topics[0].Partitions[0].ErrorCode)
	}
	if err != nil {
		return 0, err
	}
	return resp.Topics[0].Partitions[0].Offset, nil
}

func (b onBroker) state() string {
	req := kmsg.NewPtrDescribeTransactionsRequest()
	req.TransactionalIDs = []string{b.id}
	resp, _ := ask(b, func() (*kmsg.DescribeTransactionsResponse, error) { return req.RequestWith(b.Context(), b.client) },
		func(r *kmsg.DescribeTransactionsResponse) int16 { return r.TransactionStates[0].ErrorCode })
	return resp.TransactionStates[0].State
}

func (b onBroker) open() bool { return b.state() == "Ongoing" }

func (b onBroker) settle() {
	for strings.HasPrefix(b.state(), "Prepare") {
		select {
		case <-b.Context().Done():
			b.Fatal("it does not end")
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (b onBroker) visible() string {
	ends, err := kadm.NewClient(b.client).ListCommittedOffsets(b.Context(), b.id)
	if err != nil {
		b.Fatal(err)
	}
	var text [2]string
	for n := range int32(2) {
		end := ends[b.id][n].Offset
		if end == 0 {
			continue
		}
		at := map[string]map[int32]kgo.Offset{b.id: {n: kgo.NewOffset().At(0)}}
		cl, err := kgo.NewClient(kgo.SeedBrokers(b.client.OptValue(kgo.SeedBrokers).([]string)...), kgo.DisableClientMetrics(), kgo.ConsumePartitions(at), kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.KeepControlRecords(), kgo.FetchMaxWait(100*time.Millisecond))
		if err != nil {
			b.Fatal(err)
		}
		for done := false; !done; {
			for _, r := range cl.PollFetches(b.Context()).Records() {
				if !r.Attrs.IsControl() {
					text[n] += fmt.Sprintf("%d %s, ", n, r.Value)
				}
				done = r.Offset+1 >= end
			}
		}
		cl.Close()
	}
	return text[0] + text[1]
}

// talk is a conversation by chance: each request comes from one of the producers that there were, mostly the newest. What was answered is told in lines.
func talk(to requests, seed uint64, steps int) (told []string) {
	random := rand.New(rand.NewPCG(seed, 1))
	var who []identity
	next := map[string]int32{} // sequence, by producer and partition
	for step := range steps {
		kind := random.IntN(14)
		if len(who) == 0 {
			kind = 0
		}
		i := len(who) - 1
		if i > 0 && random.IntN(4) == 0 {
			i = random.IntN(i)
		}
		n, commit := int32(random.IntN(2)), random.IntN(3) > 0
		line := ""
		switch kind {
		case 0:
			is, err := to.init()
			for errors.Is(err, kerr.ConcurrentTransactions) {
				to.settle()
				is, err = to.init()
			}
			line = fmt.Sprintf("init: %v", err)
			if len(who) > 0 {
				line += fmt.Sprintf(", epoch %d later, the same producer: %v", is.epoch-who[len(who)-1].epoch, is.producer == who[0].producer)
			}
			who = append(who, is)
		case 1, 2, 3:
			line = fmt.Sprintf("producer %d adds partition %d: %v", i, n, to.addPartition(who[i], n))
		case 4, 5, 6:
			key := fmt.Sprint(i, n)
			err := to.produce(who[i], n, next[key], fmt.Sprint("value ", step))
			if line = fmt.Sprintf("producer %d writes to %d: %v", i, n, err); err == nil {
				next[key]++
			}
		case 7, 8:
			line = fmt.Sprintf("producer %d adds the group: %v", i, to.addOffsets(who[i]))
		case 9, 10:
			line = fmt.Sprintf("producer %d commits %d: %v", i, step, to.commit(who[i], int64(step)))
		default:
			line = fmt.Sprintf("producer %d ends, commit %v: %v", i, commit, to.end(who[i], commit))
			to.settle()
		}
		at, err := to.position(false)
		_, unstable := to.position(true)
		told = append(told, fmt.Sprintf("%d: %s; open %v, position %d, %v, %v", step, line, to.open(), at, err, unstable))
	}
	return append(told, to.visible())
}

// TestTheCoordinatorAnswersAsARealBrokerDoes holds the model against a broker, in conversations by chance.
func TestTheCoordinatorAnswersAsARealBrokerDoes(t *testing.T) {
	const seeds, steps = 10, 60
	addr := services.Kafka(t, services.KafkaOptions{}).Addr
	for seed := range uint64(seeds) {
		id := fmt.Sprintf("talk-%d", seed)
		model := New(Config{Settling: time.Millisecond})
		model.Create(id, 2)
		mine, theirs := talk(onModel{model, id}, seed, steps), talk(newOnBroker(t, addr, id), seed, steps)
		for i := range mine {
			if mine[i] != theirs[i] {
				t.Fatalf("seed %d:\n%s\nbroker %s\nmodel  %s", seed, strings.Join(mine[:i], "\n"), theirs[i], mine[i])
			}
		}
	}
}
