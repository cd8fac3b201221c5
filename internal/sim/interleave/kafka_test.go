package interleave_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"microbatch/batch"
	jsoncodec "microbatch/codec/json"
	"microbatch/engine"
	"microbatch/ident"
	"microbatch/internal/sim/gate"
	"microbatch/internal/sim/interleave"
	"microbatch/internal/sim/kafkamodel"
	"microbatch/internal/sim/world"
	"microbatch/schema"
	"microbatch/sinks/lakehouse"
	"microbatch/sources"
	"microbatch/sources/kafka"
	"microbatch/table"
	"microbatch/table/datafile"
)

// kafkaScenes read a topic of one partition on a model of Kafka.
func kafkaScenes() []scene {
	return []scene{
		{"start: latest, and batch 0 runs again: it begins where the first attempt began", both, func(s *interleave.Stage) {
			k := newTopic(s, kafka.Start{Latest: true})
			k.produce(4) // nobody wants these
			a := s.Start("a")
			a.Until(claim) // the position is 4, in memory
			k.produce(3)
			a.DiesAfter("checkpoint putifabsent offsets/0")
			k.produce(2)
			s.Start("b").Ends()
			k.exact(4, 9)
		}},
		{"start: latest, and the first driver dies before its position is durable: there is nothing yet to go on from", both, func(s *interleave.Stage) {
			k := newTopic(s, kafka.Start{Latest: true})
			k.produce(4)
			a := s.Start("a")
			a.Dies("checkpoint putifabsent sources/0/0")
			k.produce(3)
			b := s.Start("b")
			b.Until(claim)
			k.produce(2)
			b.Ends()
			k.exact(7, 9)
		}},
		{"a topic of one partition is read in parallel: each reader gets its rows in order, and each batch what follows the one before", objects, func(s *interleave.Stage) {
			k := newTopic(s, kafka.Start{})
			readers := &readers{Stage: s}
			query := s.Query
			s.Query = func(p *gate.Process) engine.Query {
				q := query(p)
				q.Parallelism, q.Limit.Rows = 4, 150_000
				q.Sources[0] = watched{q.Sources[0], readers}
				sink, err := lakehouse.New(lakehouse.Config{Store: p.Store(world.Table, s.World.Store(world.Table)), Parallel: 4})
				s.Must(err)
				q.Sink = sink
				return q
			}
			for range 100 {
				k.produce(2_000)
			}
			s.Start("a").DiesAfter("checkpoint putifabsent offsets/1")
			s.Start("b").Ends() // the second batch is read by others, perhaps for a second time
			k.exact(0, 200_000)
			k.inOrder()
			if readers.busy < 4 {
				s.T.Errorf("%d readers had rows: the topic was not read in parallel", readers.busy)
			}
		}},
	}
}

// watched is a source each of whose readers must rise.
type watched struct {
	sources.Source
	readers *readers
}

// readers counts those that had rows.
type readers struct {
	*interleave.Stage
	mu   sync.Mutex
	busy int
}

func (w watched) Splits(ctx context.Context, from, to ident.Offset, aux map[string]string, want int) ([]sources.Split, error) {
	splits, err := w.Source.Splits(ctx, from, to, aux, want)
	for i := range splits {
		splits[i] = watchedSplit{splits[i], w.readers}
	}
	return splits, err
}

type watchedSplit struct {
	sources.Split
	readers *readers
}

func (w watchedSplit) Records(ctx context.Context) batch.Stream {
	return func(yield func(batch.Chunk, error) bool) {
		last := int64(-1)
		for c, err := range w.Split.Records(ctx) {
			if err == nil && c.Record != nil {
				for _, seq := range c.Record.Column(2).(*array.Int64).Int64Values() {
					if seq <= last {
						w.readers.T.Errorf("a reader got position %d after %d", seq, last)
					}
					last = seq
				}
			}
			if !yield(c, err) {
				break
			}
		}
		if last >= 0 {
			w.readers.mu.Lock()
			w.readers.busy++
			w.readers.mu.Unlock()
		}
	}
}

const topicName = "events"

// topic is a topic on a model of Kafka.
type topic struct {
	*interleave.Stage
	cluster *kafkamodel.Cluster
	end     int64
}

// newTopic makes the stage's query read it.
func newTopic(s *interleave.Stage, start kafka.Start) *topic {
	k := &topic{Stage: s, cluster: kafkamodel.New(kafkamodel.Config{})}
	k.cluster.Create(topicName, 1)
	values, err := schema.ParseDDL("id STRING, part INT, seq BIGINT, key STRING")
	s.Must(err)
	query := s.Query
	s.Query = func(p *gate.Process) engine.Query {
		source, err := kafka.New(kafka.Config{
			Client: k.cluster.Client(p.Name, nil), Topics: []string{topicName}, Start: start, Format: jsoncodec.New(jsoncodec.Options{}), Schema: values,
		})
		s.Must(err)
		q := query(p)
		q.Sources = []sources.Source{source}
		return q
	}
	return k
}

func (k *topic) produce(n int64) {
	var records []kafkamodel.Record
	for ; n > 0; n-- {
		records = append(records, kafkamodel.Record{Value: fmt.Appendf(nil, `{"id":%q,"part":0,"seq":%d,"key":"k"}`, world.RowID(0, k.end), k.end)})
		k.end++
	}
	k.cluster.Produce(topicName, 0, nil, records...)
}

// exact requires that the table holds the records [from, to) once each, and nothing else.
func (k *topic) exact(from, to int64) {
	k.T.Helper()
	var want []string
	for ; from < to; from++ {
		want = append(want, world.RowID(0, from))
	}
	slices.Sort(want)
	if got := k.Rows(world.Table, "id"); !slices.Equal(got, want) {
		k.T.Errorf("the table's rows (-want +got):\n%s", cmp.Diff(want[:min(len(want), 20)], got[:min(len(got), 20)]))
	}
}

// inOrder requires that the positions of a batch are above those of the batch before.
func (k *topic) inOrder() {
	ctx := context.Background()
	t, err := table.Open(ctx, k.World.Store(world.Table), table.Options{})
	k.Must(err)
	adds, err := t.Snapshot().Files(ctx)
	k.Must(err)
	reader := datafile.Reader{Store: k.World.Store(world.Table), Schema: t.Snapshot().Schema(), Alloc: memory.DefaultAllocator}
	lowest, highest := map[string]int64{}, map[string]int64{} // by batch
	for _, add := range adds {
		batch := strings.Split(add.Path, "-")[3]
		for rec, err := range reader.Read(ctx, add) {
			k.Must(err)
			for _, seq := range rec.Column(2).(*array.Int64).Int64Values() {
				if low, ok := lowest[batch]; !ok || seq < low {
					lowest[batch] = seq
				}
				highest[batch] = max(highest[batch], seq)
			}
		}
	}
	if highest["0"] >= lowest["1"] {
		k.T.Errorf("batch 0 goes up to %d, batch 1 begins at %d", highest["0"], lowest["1"])
	}
}
