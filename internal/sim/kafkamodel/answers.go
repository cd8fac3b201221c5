package kafkamodel

import (
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// metadata names topics, sorted unless the request has an order.
func (c *Cluster) metadata(req *kmsg.MetadataRequest) *kmsg.MetadataResponse {
	resp := kmsg.NewPtrMetadataResponse()
	resp.ClusterID, resp.ControllerID = kmsg.StringPtr("model"), c.brokers[0].id
	for _, b := range c.brokers {
		if !b.down {
			rb := kmsg.NewMetadataResponseBroker()
			rb.NodeID, rb.Host, rb.Port = b.id, "model", 9092
			resp.Brokers = append(resp.Brokers, rb)
		}
	}
	if req.Topics == nil {
		for _, name := range c.names() {
			if t := c.topics[name]; !spend(&t.hidden) {
				resp.Topics = append(resp.Topics, t.describe())
			}
		}
	}
	for _, asked := range req.Topics {
		if t := c.topics[*asked.Topic]; t != nil && !spend(&t.hidden) {
			resp.Topics = append(resp.Topics, t.describe())
			continue
		}
		unknown := kmsg.NewMetadataResponseTopic()
		unknown.Topic, unknown.ErrorCode = asked.Topic, kerr.UnknownTopicOrPartition.Code
		resp.Topics = append(resp.Topics, unknown)
	}
	return resp
}

// spend takes one of a number of times.
func spend(times *int) bool {
	if *times == 0 {
		return false
	}
	*times--
	return true
}

func (t *topic) describe() kmsg.MetadataResponseTopic {
	rt := kmsg.NewMetadataResponseTopic()
	rt.Topic, rt.TopicID = kmsg.StringPtr(t.name), t.id
	for i, p := range t.partitions {
		if spend(&p.hidden) {
			continue
		}
		rp := kmsg.NewMetadataResponseTopicPartition()
		rp.Partition, rp.Leader, rp.LeaderEpoch = int32(i), p.leader, p.log.epoch()
		if p.leader < 0 {
			rp.ErrorCode = kerr.LeaderNotAvailable.Code
		}
		rt.Partitions = append(rt.Partitions, rp)
	}
	return rt
}

// led is a partition, if a broker leads it and the client's epoch is the current one; -1: the client says none.
func (c *Cluster) led(broker int32, topic string, partition, epoch int32) (*partition, int16) {
	p, ok := c.partition(topic, partition)
	switch {
	case !ok:
		return nil, kerr.UnknownTopicOrPartition.Code
	case p.leader == nobody:
		return nil, kerr.LeaderNotAvailable.Code
	case p.leader != broker:
		return nil, kerr.NotLeaderForPartition.Code
	case epoch >= 0 && epoch < p.log.epoch():
		return nil, kerr.FencedLeaderEpoch.Code
	case epoch > p.log.epoch():
		return nil, kerr.UnknownLeaderEpoch.Code
	}
	return p, 0
}

func (c *Cluster) listOffsets(broker int32, req *kmsg.ListOffsetsRequest) *kmsg.ListOffsetsResponse {
	resp := kmsg.NewPtrListOffsetsResponse()
	for _, t := range req.Topics {
		rt := kmsg.NewListOffsetsResponseTopic()
		rt.Topic = t.Topic
		for _, asked := range t.Partitions {
			rp := kmsg.NewListOffsetsResponseTopicPartition()
			rp.Partition = asked.Partition
			p, code := c.led(broker, t.Topic, asked.Partition, asked.CurrentLeaderEpoch)
			if rp.ErrorCode = code; code == 0 {
				rp.Timestamp, rp.Offset, rp.LeaderEpoch = p.find(asked.Timestamp, req.IsolationLevel == 1)
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

// What ListOffsets takes for a time.
const (
	earliest = -2
	latest   = -1
)

// find is the offset of a time.
func (p *partition) find(at int64, committed bool) (time, offset int64, epoch int32) {
	l := &p.log
	switch at {
	case earliest:
		return -1, l.begin, l.epochAt(l.begin)
	case latest:
		end := l.limit(committed)
		if spend(&p.lies) {
			end = max(l.begin, end-p.understated)
		}
		return -1, end, l.epoch()
	}
	r, ok := l.at(at)
	if !ok || r.Offset >= l.limit(committed) {
		return -1, -1, -1
	}
	return r.Time.UnixMilli(), r.Offset, l.epochAt(r.Offset)
}

func (c *Cluster) endsOfEpochs(broker int32, req *kmsg.OffsetForLeaderEpochRequest) *kmsg.OffsetForLeaderEpochResponse {
	resp := kmsg.NewPtrOffsetForLeaderEpochResponse()
	for _, t := range req.Topics {
		rt := kmsg.NewOffsetForLeaderEpochResponseTopic()
		rt.Topic = t.Topic
		for _, asked := range t.Partitions {
			rp := kmsg.NewOffsetForLeaderEpochResponseTopicPartition()
			rp.Partition = asked.Partition
			p, code := c.led(broker, t.Topic, asked.Partition, asked.CurrentLeaderEpoch)
			if rp.ErrorCode = code; code == 0 {
				rp.LeaderEpoch, rp.EndOffset = p.log.endOf(asked.LeaderEpoch)
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

func (c *Cluster) describeProducers(broker int32, req *kmsg.DescribeProducersRequest) *kmsg.DescribeProducersResponse {
	resp := kmsg.NewPtrDescribeProducersResponse()
	for _, t := range req.Topics {
		rt := kmsg.NewDescribeProducersResponseTopic()
		rt.Topic = t.Topic
		for _, asked := range t.Partitions {
			rp := kmsg.NewDescribeProducersResponseTopicPartition()
			rp.Partition = asked
			p, code := c.led(broker, t.Topic, asked, -1)
			if rp.ErrorCode = code; code == 0 {
				rp.ActiveProducers = p.log.producers()
			}
			rt.Partitions = append(rt.Partitions, rp)
		}
		resp.Topics = append(resp.Topics, rt)
	}
	return resp
}

// producers are those with an open transaction.
func (l *log) producers() []kmsg.DescribeProducersResponseTopicPartitionActiveProducer {
	var list []kmsg.DescribeProducersResponseTopicPartitionActiveProducer
	for _, t := range l.txns {
		if t.marker == open {
			p := kmsg.NewDescribeProducersResponseTopicPartitionActiveProducer()
			p.ProducerID, p.CurrentTxnStartOffset = t.producer, t.first
			list = append(list, p)
		}
	}
	return list
}
