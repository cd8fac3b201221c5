package kafkamodel

import (
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fetchOrWait answers at once if there is anything to say, and else after MaxWait, with what there is then.
func (c *Cluster) fetchOrWait(ctx context.Context, broker int32, req *kmsg.FetchRequest) (kmsg.Response, error) {
	resp, idle, err := c.fetch(broker, req)
	if err != nil || !idle {
		return resp, err
	}
	if err := wait(ctx, time.Duration(req.MaxWaitMillis)*time.Millisecond); err != nil {
		return nil, err
	}
	resp, _, err = c.fetch(broker, req)
	return resp, err
}

// fetch answers for each partition in the order of the request. idle: there was not a byte, and no error, and the client wants to wait for some.
func (c *Cluster) fetch(broker int32, req *kmsg.FetchRequest) (resp *kmsg.FetchResponse, idle bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isDown(broker) {
		return nil, false, ErrCut
	}
	c.tick()
	resp = kmsg.NewPtrFetchResponse()
	idle = req.MinBytes > 0
	room := int(req.MaxBytes)
	for _, t := range req.Topics {
		rt := kmsg.NewFetchResponseTopic()
		rt.TopicID = t.TopicID
		name, known := c.nameOf(t.TopicID)
		for _, asked := range t.Partitions {
			rp := kmsg.NewFetchResponseTopicPartition()
			rp.Partition = asked.Partition
			if !known {
				rp.ErrorCode = kerr.UnknownTopicID.Code
			} else if p, code := c.led(broker, name, asked.Partition, asked.CurrentLeaderEpoch); code != 0 {
				rp.ErrorCode = code
			} else {
				first := room == int(req.MaxBytes) // an answer has at least one batch, if there is one, whatever the limits
				p.log.fill(&rp, asked.FetchOffset, min(room, int(asked.PartitionMaxBytes)), req.IsolationLevel == 1, first)
				if c.config.AbortedBackwards {
					slices.Reverse(rp.AbortedTransactions)
				}
			}
			room -= len(rp.RecordBatches)
			idle = idle && rp.ErrorCode == 0 && len(rp.RecordBatches) == 0
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp, idle, nil
}

func (c *Cluster) nameOf(id [16]byte) (string, bool) {
	for _, name := range c.names() {
		if c.topics[name].id == id {
			return name, true
		}
	}
	return "", false
}

// fill puts batches into an answer, from that which holds an offset or the first after it.
func (l *log) fill(rp *kmsg.FetchResponseTopicPartition, from int64, most int, committed, first bool) {
	if from < l.begin || from > l.end {
		rp.ErrorCode = kerr.OffsetOutOfRange.Code
		rp.HighWatermark, rp.LastStableOffset, rp.LogStartOffset = -1, -1, -1
		return
	}
	rp.HighWatermark, rp.LastStableOffset, rp.LogStartOffset = l.end, l.stable(), l.begin
	limit := l.limit(committed)
	served := from
	for _, b := range l.batches {
		if b.last < from || b.base >= limit {
			continue
		}
		room := most - len(rp.RecordBatches)
		if len(rp.RecordBatches) == 0 {
			if len(b.bytes) > room && !first {
				break
			}
			room = max(room, len(b.bytes))
		}
		rp.RecordBatches = append(rp.RecordBatches, b.bytes[:min(max(room, 0), len(b.bytes))]...) // the last may be cut off
		served = b.last + 1
		if room <= len(b.bytes) {
			break
		}
	}
	if committed {
		rp.AbortedTransactions = l.abortedIn(from, served)
	}
}

func (l *log) abortedIn(from, to int64) []kmsg.FetchResponseTopicPartitionAbortedTransaction {
	list := []kmsg.FetchResponseTopicPartitionAbortedTransaction{}
	if from == to {
		return list
	}
	for _, t := range l.aborted(from, to) {
		a := kmsg.NewFetchResponseTopicPartitionAbortedTransaction()
		a.ProducerID, a.FirstOffset = t.producer, t.first
		list = append(list, a)
	}
	return list
}
