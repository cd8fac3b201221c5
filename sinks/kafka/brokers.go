package kafka

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"

	"microbatch/internal/kafkaclient"
)

// brokers is a Cluster of the client library's.
type brokers struct {
	config Config
	client *kgo.Client // for everything but records
	extra  []kgo.Opt   // of tests
	sizes  sync.Map    // topic: its largest batch of records in bytes, int32, as far as known
}

func newBrokers(c Config, extra ...kgo.Opt) (*brokers, error) {
	b := &brokers{config: c, extra: extra}
	var err error
	b.client, err = kgo.NewClient(append(b.options(), kgo.RequestRetries(2), kgo.RetryTimeout(kafkaclient.DialTimeout))...) // the patience is ours: ask
	if err != nil {
		return nil, fmt.Errorf("kafka: client: %w", err)
	}
	return b, nil
}

func (b *brokers) options() []kgo.Opt {
	return append(append(b.config.access().Options(), kgo.MaxVersions(versions())), b.extra...)
}

// versions keeps transactions to the protocol that all brokers since 2.5 know, in which a transaction has the epoch of its producer from begin to end. In the newer one
// (KIP-890) each end of a transaction gives the producer another epoch, which the library notes only of ends that it has asked for: those of transactions without
// records are asked for here. Positions and their topics go by name.
func versions() *kversion.Versions {
	v := kversion.Stable()
	v.SetMaxKeyVersion(int16(kmsg.Produce), 11)
	v.SetMaxKeyVersion(int16(kmsg.OffsetFetch), 9)
	v.SetMaxKeyVersion(int16(kmsg.EndTxn), 4)
	v.SetMaxKeyVersion(int16(kmsg.TxnOffsetCommit), 4)
	return v
}

// Topic implements Cluster.
func (b *brokers) Topic(ctx context.Context, name string) (Topic, error) {
	req := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = kmsg.StringPtr(name)
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, b.client)
	if err != nil {
		return Topic{}, err
	}
	for _, t := range resp.Topics {
		err := kerr.ErrorForCode(t.ErrorCode)
		if errors.Is(err, kerr.UnknownTopicOrPartition) || t.Topic == nil || *t.Topic != name {
			break
		}
		if err != nil {
			return Topic{}, err
		}
		out := Topic{Partitions: int32(len(t.Partitions))}
		if t.TopicID != ([16]byte{}) {
			out.ID = fmt.Sprintf("%x", t.TopicID)
		}
		settings, err := b.settings(ctx, kmsg.ConfigResourceTypeTopic, name, "max.message.bytes")
		if n, perr := strconv.ParseInt(settings["max.message.bytes"], 10, 32); perr == nil {
			out.MaxBytes = int32(n)
			b.sizes.Store(name, out.MaxBytes)
		}
		return out, err
	}
	return Topic{}, fmt.Errorf("topic %s: %w", name, fs.ErrNotExist)
}

// Limits implements Cluster. The settings are asked of one broker: they are the same on all, or should be.
func (b *brokers) Limits(ctx context.Context) (l Limits, err error) {
	req := kmsg.NewPtrMetadataRequest()
	req.Topics = []kmsg.MetadataRequestTopic{}
	resp, err := req.RequestWith(ctx, b.client)
	if err != nil || len(resp.Brokers) == 0 {
		return l, err
	}
	settings, err := b.settings(ctx, kmsg.ConfigResourceTypeBroker, strconv.Itoa(int(resp.Brokers[0].NodeID)), "transaction.max.timeout.ms", "offsets.retention.minutes")
	if ms, perr := strconv.ParseInt(settings["transaction.max.timeout.ms"], 10, 64); perr == nil {
		l.Transaction = time.Duration(ms) * time.Millisecond
	}
	if minutes, perr := strconv.ParseInt(settings["offsets.retention.minutes"], 10, 64); perr == nil {
		l.Retention = time.Duration(minutes) * time.Minute
	}
	return l, err
}

// settings asks for settings of a topic or broker; none if that is not allowed.
func (b *brokers) settings(ctx context.Context, kind kmsg.ConfigResourceType, name string, keys ...string) (map[string]string, error) {
	req := kmsg.NewPtrDescribeConfigsRequest()
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName, r.ConfigNames = kind, name, keys
	req.Resources = append(req.Resources, r)
	resp, err := req.RequestWith(ctx, b.client)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, r := range resp.Resources {
		if err := kerr.ErrorForCode(r.ErrorCode); err != nil && !kafkaclient.NotAuthorized(err) {
			return nil, err
		}
		for _, c := range r.Configs {
			if c.Value != nil {
				out[c.Name] = *c.Value
			}
		}
	}
	return out, nil
}

// Committed implements Cluster.
func (b *brokers) Committed(ctx context.Context, group string, at Partition, stable bool) (Position, error) {
	req := kmsg.NewPtrOffsetFetchRequest()
	req.Group, req.RequireStable = group, stable
	t := kmsg.NewOffsetFetchRequestTopic()
	t.Topic, t.Partitions = at.Topic, []int32{at.Number}
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, b.client)
	if err != nil {
		return Position{}, err
	}
	switch err := kerr.ErrorForCode(resp.ErrorCode); {
	case errors.Is(err, kerr.GroupIDNotFound):
		return Position{Offset: -1}, nil
	case err != nil:
		return Position{}, unstable(err)
	}
	for _, t := range resp.Topics {
		for _, p := range t.Partitions {
			if t.Topic != at.Topic || p.Partition != at.Number {
				continue
			}
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return Position{}, unstable(err)
			}
			position := Position{Offset: p.Offset}
			if p.Metadata != nil {
				position.Metadata = *p.Metadata
			}
			return position, nil
		}
	}
	return Position{}, fmt.Errorf("the brokers did not say the position of group %s at %s", group, at)
}

func unstable(err error) error {
	if errors.Is(err, kerr.UnstableOffsetCommit) {
		return fmt.Errorf("%w: %w", ErrUnstable, err)
	}
	return err
}

// Open implements Cluster.
func (b *brokers) Open(ctx context.Context, transactionalID string) (bool, error) {
	req := kmsg.NewPtrDescribeTransactionsRequest()
	req.TransactionalIDs = []string{transactionalID}
	resp, err := req.RequestWith(ctx, b.client)
	if err != nil {
		return false, err
	}
	for _, t := range resp.TransactionStates {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil && !errors.Is(err, kerr.TransactionalIDNotFound) {
			return false, err
		}
		if t.TransactionalID == transactionalID && t.State == "Ongoing" {
			return true, nil
		}
	}
	return false, nil
}

// Groups implements Cluster.
func (b *brokers) Groups(ctx context.Context, prefix string) (out []string, err error) {
	groups, err := b.groups(ctx)
	for _, g := range groups {
		if strings.HasPrefix(g.Group, prefix) {
			out = append(out, g.Group)
		}
	}
	slices.Sort(out)
	return out, err
}

// Consumed implements Cluster. Brokers before 2.6 list no states: nobody is seen there.
func (b *brokers) Consumed(ctx context.Context, group string) (bool, error) {
	groups, err := b.groups(ctx)
	return slices.ContainsFunc(groups, func(g kmsg.ListGroupsResponseGroup) bool {
		return g.Group == group && !slices.Contains([]string{"", "Empty", "Dead"}, g.GroupState)
	}), err
}

// groups are those that may be seen.
func (b *brokers) groups(ctx context.Context) ([]kmsg.ListGroupsResponseGroup, error) {
	resp, err := kmsg.NewPtrListGroupsRequest().RequestWith(ctx, b.client)
	if err != nil {
		return nil, err
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil && !kafkaclient.NotAuthorized(err) {
		return nil, err
	}
	return resp.Groups, nil
}

// Close implements Cluster.
func (b *brokers) Close() { b.client.Close() }
