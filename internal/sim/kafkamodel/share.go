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

// share sends each broker its part of a request about the partitions of some topics: those that it leads. in says what a topic's entry is about, ask makes a request of some.
func share[T, P any](
	ctx context.Context, cl *Client, topics []T, in func(*T) (name string, partitions *[]P), number func(P) int32, ask func([]T) kmsg.Request, join func(kmsg.Response),
) error {
	return cl.eachBroker(ctx, func(broker int32) kmsg.Request {
		var some []T
		for _, t := range topics {
			name, partitions := in(&t)
			var led []P
			for _, p := range *partitions {
				if cl.leaderOf(name, number(p)) == broker {
					led = append(led, p)
				}
			}
			if *partitions = led; len(led) > 0 {
				some = append(some, t)
			}
		}
		if len(some) == 0 {
			return nil
		}
		return ask(some)
	}, join)
}

func (cl *Client) shareListOffsets(ctx context.Context, req *kmsg.ListOffsetsRequest) (kmsg.Response, error) {
	all := kmsg.NewPtrListOffsetsResponse()
	err := share(ctx, cl, req.Topics,
		func(t *kmsg.ListOffsetsRequestTopic) (string, *[]kmsg.ListOffsetsRequestTopicPartition) {
			return t.Topic, &t.Partitions
		},
		func(p kmsg.ListOffsetsRequestTopicPartition) int32 { return p.Partition },
		func(some []kmsg.ListOffsetsRequestTopic) kmsg.Request { part := *req; part.Topics = some; return &part },
		func(resp kmsg.Response) { all.Topics = append(all.Topics, resp.(*kmsg.ListOffsetsResponse).Topics...) })
	return all, err
}

func (cl *Client) shareEpochs(ctx context.Context, req *kmsg.OffsetForLeaderEpochRequest) (kmsg.Response, error) {
	all := kmsg.NewPtrOffsetForLeaderEpochResponse()
	err := share(ctx, cl, req.Topics,
		func(t *kmsg.OffsetForLeaderEpochRequestTopic) (string, *[]kmsg.OffsetForLeaderEpochRequestTopicPartition) {
			return t.Topic, &t.Partitions
		},
		func(p kmsg.OffsetForLeaderEpochRequestTopicPartition) int32 { return p.Partition },
		func(some []kmsg.OffsetForLeaderEpochRequestTopic) kmsg.Request {
			part := *req
			part.Topics = some
			return &part
		},
		func(resp kmsg.Response) {
			all.Topics = append(all.Topics, resp.(*kmsg.OffsetForLeaderEpochResponse).Topics...)
		})
	return all, err
}

func (cl *Client) shareProducers(ctx context.Context, req *kmsg.DescribeProducersRequest) (kmsg.Response, error) {
	all := kmsg.NewPtrDescribeProducersResponse()
	err := share(ctx, cl, req.Topics,
		func(t *kmsg.DescribeProducersRequestTopic) (string, *[]int32) { return t.Topic, &t.Partitions },
		func(p int32) int32 { return p },
		func(some []kmsg.DescribeProducersRequestTopic) kmsg.Request {
			part := *req
			part.Topics = some
			return &part
		},
		func(resp kmsg.Response) {
			all.Topics = append(all.Topics, resp.(*kmsg.DescribeProducersResponse).Topics...)
		})
	return all, err
}
