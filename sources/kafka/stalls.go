package kafka

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

const (
	stallAfter = time.Minute // a last stable offset that stands still for so long, with records behind it, is worth a notice
	stallCheck = 10 * time.Second
)

// stalls watches for transactions that were never ended: they hold the last stable offset, and with it this query, however many records come after.
type stalls struct {
	mu      sync.Mutex
	checked time.Time
	since   byPartition[stall]
}

type stall struct {
	at    int64
	since time.Time
	told  bool
}

// watchStalls looks now and then at partitions that have nothing new to read. It is only a help: what it cannot find out it leaves.
func (s *Source) watchStalls(ctx context.Context, v survey, start position) {
	if s.config.Isolation != ReadCommitted || !s.stalls.due(s.now()) {
		return
	}
	idle := cluster{leaders: byPartition[leader]{}}
	for name, end := range v.ends.all {
		if start[name.topic][name.partition] >= end.offset {
			idle.leaders.set(name.topic, name.partition, v.leaders[name.topic][name.partition])
		}
	}
	tops, err := s.listOffsets(ctx, idle, everywhere(atLatest), ReadUncommitted)
	if err != nil {
		return
	}
	for _, name := range s.stalls.update(v.ends, tops, s.now()) {
		at := v.ends[name.topic][name.partition].offset
		s.config.Notice(fmt.Sprintf("kafka: %s: an open transaction has held the last stable offset at %d for %s; %d records wait behind it%s",
			name, at, stallAfter, tops[name.topic][name.partition].offset-at, s.culprits(ctx, name, at)))
	}
}

func (st *stalls) due(now time.Time) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	if now.Sub(st.checked) < stallCheck {
		return false
	}
	st.checked = now
	return true
}

// update returns the partitions that have newly stood still for long.
func (st *stalls) update(stable, tops byPartition[mark], now time.Time) []partitionName {
	st.mu.Lock()
	defer st.mu.Unlock()
	former := st.since
	st.since = byPartition[stall]{}
	var long []partitionName
	for name, top := range tops.all {
		at := stable[name.topic][name.partition].offset
		if top.offset <= at {
			continue
		}
		entry, ok := former.get(name.topic, name.partition)
		if !ok || entry.at != at {
			entry = stall{at: at, since: now}
		}
		if !entry.told && now.Sub(entry.since) >= stallAfter {
			entry.told = true
			long = append(long, name)
		}
		st.since.set(name.topic, name.partition, entry)
	}
	return long
}

// culprits names the producers whose transaction begins at an offset.
func (s *Source) culprits(ctx context.Context, name partitionName, at int64) string {
	req := kmsg.NewPtrDescribeProducersRequest()
	topic := kmsg.NewDescribeProducersRequestTopic()
	topic.Topic, topic.Partitions = name.topic, []int32{name.partition}
	req.Topics = append(req.Topics, topic)
	resp, err := req.RequestWith(ctx, s.client)
	if err != nil {
		return ""
	}
	var who []string
	for _, t := range resp.Topics {
		for _, partition := range t.Partitions {
			for _, p := range partition.ActiveProducers {
				if p.CurrentTxnStartOffset == at {
					who = append(who, fmt.Sprintf("producer id %d, epoch %d", p.ProducerID, p.ProducerEpoch))
				}
			}
		}
	}
	if len(who) == 0 {
		return ""
	}
	return " (" + strings.Join(who, ", ") + ")"
}
