package kafkamodel

import (
	"context"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// nobody stands for the broker of partitions that have no leader or do not exist.
const nobody = -1

// leaderOf is the broker that a part of a request goes to.
func (cl *Client) leaderOf(topic string, partition int32) int32 {
	c := cl.cluster
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, ok := c.partition(topic, partition); ok {
		return p.leader
	}
	return nobody
}

// eachBroker sends each broker its part, if it has one. What is for nobody is answered in place, with errors.
func (cl *Client) eachBroker(ctx context.Context, part func(broker int32) kmsg.Request, join func(kmsg.Response)) error {
	if req := part(nobody); req != nil {
		resp, err := cl.cluster.reply(nobody, req)
		if err != nil {
			return err
		}
		join(resp)
	}
	for _, b := range cl.cluster.brokers {
		req := part(b.id)
		if req == nil {
			continue
		}
		resp, err := cl.send(ctx, int(b.id), req)
		if err != nil {
			return err
		}
		join(resp)
	}
	return nil
}

// led are the partitions of a topic that a broker leads.
func led[P any](cl *Client, broker int32, topic string, partitions []P, number func(P) int32) []P {
	var some []P
	for _, p := range partitions {
		if cl.leaderOf(topic, number(p)) == broker {
			some = append(some, p)
		}
	}
	return some
}

func (cl *Client) shareListOffsets(ctx context.Context, req *kmsg.ListOffsetsRequest) (kmsg.Response, error) {
	all := kmsg.NewPtrListOffsetsResponse()
	err := cl.eachBroker(ctx, func(broker int32) kmsg.Request {
		part := *req
		part.Topics = nil
		for _, t := range req.Topics {
			t.Partitions = led(cl, broker, t.Topic, t.Partitions, func(p kmsg.ListOffsetsRequestTopicPartition) int32 { return p.Partition })
			if len(t.Partitions) > 0 {
				part.Topics = append(part.Topics, t)
			}
		}
		if len(part.Topics) == 0 {
			return nil
		}
		return &part
	}, func(resp kmsg.Response) { all.Topics = append(all.Topics, resp.(*kmsg.ListOffsetsResponse).Topics...) })
	return all, err
}

func (cl *Client) shareEpochs(ctx context.Context, req *kmsg.OffsetForLeaderEpochRequest) (kmsg.Response, error) {
	all := kmsg.NewPtrOffsetForLeaderEpochResponse()
	err := cl.eachBroker(ctx, func(broker int32) kmsg.Request {
		part := *req
		part.Topics = nil
		for _, t := range req.Topics {
			t.Partitions = led(cl, broker, t.Topic, t.Partitions, func(p kmsg.OffsetForLeaderEpochRequestTopicPartition) int32 { return p.Partition })
			if len(t.Partitions) > 0 {
				part.Topics = append(part.Topics, t)
			}
		}
		if len(part.Topics) == 0 {
			return nil
		}
		return &part
	}, func(resp kmsg.Response) {
		all.Topics = append(all.Topics, resp.(*kmsg.OffsetForLeaderEpochResponse).Topics...)
	})
	return all, err
}

func (cl *Client) shareProducers(ctx context.Context, req *kmsg.DescribeProducersRequest) (kmsg.Response, error) {
	all := kmsg.NewPtrDescribeProducersResponse()
	err := cl.eachBroker(ctx, func(broker int32) kmsg.Request {
		part := *req
		part.Topics = nil
		for _, t := range req.Topics {
			t.Partitions = led(cl, broker, t.Topic, t.Partitions, func(p int32) int32 { return p })
			if len(t.Partitions) > 0 {
				part.Topics = append(part.Topics, t)
			}
		}
		if len(part.Topics) == 0 {
			return nil
		}
		return &part
	}, func(resp kmsg.Response) {
		all.Topics = append(all.Topics, resp.(*kmsg.DescribeProducersResponse).Topics...)
	})
	return all, err
}
