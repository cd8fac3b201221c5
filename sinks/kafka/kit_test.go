package kafka

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"microbatch/codec"
	jsoncodec "microbatch/codec/json"
	"microbatch/sinks"
	"microbatch/sinks/sinktest"
)

// kit is a cluster to write to, and who reads it.
type kit struct {
	*testing.T
	addr    string
	cluster *kfake.Cluster // nil: it is a real one
	admin   *kadm.Client
	n       int // topics made
}

// fake is a kit on a fake cluster of one broker.
func fake(t *testing.T) *kit {
	t.Helper()
	return fakeOf(t, 1)
}

func fakeOf(t *testing.T, brokers int) *kit {
	t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(brokers))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	k := newKit(t, c.ListenAddrs()[0])
	k.cluster = c
	return k
}

func newKit(t *testing.T, addr string) *kit {
	t.Helper()
	k := &kit{T: t, addr: addr}
	k.admin = kadm.NewClient(k.client())
	return k
}

func (k *kit) client(opts ...kgo.Opt) *kgo.Client {
	k.Helper()
	cl, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(k.addr), kgo.DisableClientMetrics()}, opts...)...)
	if err != nil {
		k.Fatal(err)
	}
	k.Cleanup(cl.Close)
	return cl
}

// topic makes a fresh topic.
func (k *kit) topic(partitions int32) string {
	k.Helper()
	k.n++
	name := fmt.Sprintf("out-%d", k.n)
	if _, err := k.admin.CreateTopic(k.Context(), partitions, 1, nil, name); err != nil {
		k.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; <-time.After(5 * time.Millisecond) { // the broker answers before it knows
		list, err := k.admin.ListEndOffsets(k.Context(), name)
		if ends := list[name]; err == nil && list.Error() == nil && len(ends) == int(partitions) {
			return name
		}
		if time.Now().After(deadline) {
			k.Fatalf("topic %s does not appear: %v, %v", name, list, err)
		}
	}
}

func (k *kit) config(topic string) Config {
	return Config{Brokers: []string{k.addr}, Topic: topic, Format: "json", Encoder: jsonEncoder, RetryFor: 10 * time.Second, Timeout: time.Minute}
}

func jsonEncoder(rows *arrow.Schema) (codec.Encoder, error) { return jsoncodec.NewEncoder(rows) }

func (k *kit) sink(c Config) *Sink {
	k.Helper()
	s, err := New(c)
	if err != nil {
		k.Fatal(err)
	}
	return s
}

// records are all records of a topic that a reader of committed ones sees, or of all if so asked, in the order of partitions and offsets.
func (k *kit) records(topic string, isolation kgo.IsolationLevel) (out []*kgo.Record) {
	k.Helper()
	ctx, cancel := context.WithTimeout(k.Context(), 30*time.Second)
	defer cancel()
	list := k.admin.ListEndOffsets
	if isolation == kgo.ReadCommitted() {
		list = k.admin.ListCommittedOffsets
	}
	ends, err := list(ctx, topic)
	if err != nil {
		k.Fatal(err)
	}
	starts := map[int32]kgo.Offset{}
	left := map[int32]int64{}
	ends.Each(func(o kadm.ListedOffset) {
		starts[o.Partition] = kgo.NewOffset().At(0)
		if o.Offset > 0 {
			left[o.Partition] = o.Offset
		}
	})
	cl := k.client(kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: starts}), kgo.FetchIsolationLevel(isolation), kgo.KeepControlRecords(), kgo.FetchMaxWait(100*time.Millisecond))
	defer cl.Close()
	for len(left) > 0 {
		fetches := cl.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			k.Fatalf("read %s to %v: %v", topic, left, err)
		}
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			for _, r := range p.Records {
				if end, ok := left[p.Partition]; ok && r.Offset+1 >= end {
					delete(left, p.Partition)
				}
				if !r.Attrs.IsControl() {
					out = append(out, r)
				}
			}
		})
	}
	slices.SortStableFunc(out, func(a, b *kgo.Record) int {
		if a.Partition != b.Partition {
			return int(a.Partition - b.Partition)
		}
		return int(a.Offset - b.Offset)
	})
	return out
}

// settle waits until no transaction is about to end: the broker answers EndTxn before readers see it.
func (k *kit) settle() {
	k.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; <-time.After(5 * time.Millisecond) {
		list, err := k.admin.ListTransactions(k.Context(), nil, []string{"PrepareCommit", "PrepareAbort"})
		if err != nil {
			k.Fatal(err)
		}
		if len(list) == 0 {
			return
		}
		if time.Now().After(deadline) {
			k.Fatalf("transactions do not end: %v", list)
		}
	}
}

// ids are the ids of the rows of sinktest that stand in committed records.
func (k *kit) ids(topic string) (ids []int64) {
	k.Helper()
	k.settle()
	for _, r := range k.records(topic, kgo.ReadCommitted()) {
		var row struct{ ID int64 }
		if err := json.Unmarshal(r.Value, &row); err != nil {
			k.Fatalf("%q: %v", r.Value, err)
		}
		ids = append(ids, row.ID)
	}
	return ids
}

// state is what a reader of committed records sees, and all markers at the topic.
func (k *kit) state(topic string) string {
	k.Helper()
	k.settle()
	var b strings.Builder
	for _, r := range k.records(topic, kgo.ReadCommitted()) {
		fmt.Fprintf(&b, "%d %s\n", r.Partition, r.Value)
	}
	groups, err := k.admin.ListGroups(k.Context())
	if err != nil {
		k.Fatal(err)
	}
	for _, group := range groups.Groups() {
		offsets, err := k.admin.FetchOffsets(k.Context(), group)
		if err != nil {
			k.Fatal(err)
		}
		offsets.Each(func(o kadm.OffsetResponse) {
			if o.Topic == topic {
				fmt.Fprintf(&b, "%s %d %d %s\n", group, o.Partition, o.At, o.Metadata)
			}
		})
	}
	return b.String()
}

// harness is a place on the cluster.
func (k *kit) harness(t *testing.T) sinktest.Harness {
	here := *k
	here.T = t
	topic := here.topic(2)
	k.n = here.n
	faults := &ends{}
	return sinktest.Harness{
		Open: func(t *testing.T) sinks.Sink {
			own := here
			own.T = t
			c := own.config(topic)
			cluster, err := newBrokers(c.withDefaults())
			if err != nil {
				t.Fatal(err)
			}
			c.Cluster = losing{cluster, faults}
			return own.sink(c)
		},
		Rows:  func(*testing.T) []int64 { return here.ids(topic) },
		State: func(*testing.T) string { return here.state(topic) },
		LoseAnswer: func(_ *testing.T, landed bool) {
			faults.lose, faults.landed = true, landed
		},
	}
}

// ends is what happens to the next end of a transaction that is to be committed.
type ends struct{ lose, landed bool }

var errLost = errors.New("the answer was lost")

// losing is a cluster that loses answers.
type losing struct {
	Cluster
	ends *ends
}

// Producer implements Cluster.
func (l losing) Producer(ctx context.Context, id string) (Producer, error) {
	p, err := l.Cluster.Producer(ctx, id)
	if err != nil {
		return nil, err
	}
	return losingProducer{p, l.ends}, nil
}

type losingProducer struct {
	Producer
	ends *ends
}

// End implements Producer.
func (p losingProducer) End(ctx context.Context, commit bool) error {
	if !commit || !p.ends.lose {
		return p.Producer.End(ctx, commit)
	}
	p.ends.lose = false
	if p.ends.landed {
		if err := p.Producer.End(ctx, commit); err != nil {
			return err
		}
	}
	return errLost
}
