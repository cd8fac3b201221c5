package targets

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"microbatch/checker"
	"microbatch/internal/errcode"
	"microbatch/internal/kafkaclient"
	"microbatch/internal/retry"
)

// Kafka is a cluster that a query writes to in transactions.
type Kafka struct {
	unread
	Access kafkaclient.Access
	Topic  string // whose partition 0 the marker is at
	Shard  string // "" unless the query is split
}

// group is the consumer group whose position is the marker.
func (k Kafka) group(query string) string {
	name := "microbatch-" + query
	if k.Shard != "" {
		name += "-" + k.Shard
	}
	return name
}

// Position reads the marker. It waits while a transaction of the query is about to end, whose marker nobody knows yet.
func (k Kafka) Position(ctx context.Context, query string) (checker.Position, error) {
	client, err := kgo.NewClient(append(k.Access.Options(), kgo.RetryTimeout(kafkaclient.DialTimeout), kgo.RequestRetries(2))...)
	if err != nil {
		return nowhere, fmt.Errorf("kafka client: %w", err)
	}
	defer client.Close()
	group := k.group(query)
	var at kadm.OffsetResponse
	err = retry.Do(ctx, retry.Policy{Budget: patience, Max: time.Second}, func(err error) bool {
		return !errors.Is(err, kerr.GroupIDNotFound) && errcode.ClassOf(k.Access.Explain(err, "")) == errcode.Retry
	}, func(ctx context.Context) (err error) {
		at, err = k.read(ctx, kadm.NewClient(client), group)
		return err
	})
	switch {
	case errors.Is(err, kerr.GroupIDNotFound), err == nil && at.At < 0:
		return nowhere, nil
	case errors.Is(err, kerr.UnstableOffsetCommit):
		return nowhere, errcode.KafkaBrokerError.Wrap(err, "group "+group, "a transaction of the query is about to end, and nobody knows yet how").
			Advise("Check again: it ends in a moment, unless brokers are away.")
	case err != nil:
		return nowhere, k.Access.Explain(err, "read the position of group "+group)
	}
	return parseMarker(group, at.At, at.Metadata)
}

// read reads the position of the group when nothing is under way. Beside a transaction whose end nobody has asked for it is the one that was committed last: all
// before that one has ended.
func (k Kafka) read(ctx context.Context, admin *kadm.Client, group string) (at kadm.OffsetResponse, err error) {
	all, err := admin.FetchOffsets(kadm.RequireStable(ctx), group)
	if at = k.marker(all); errors.Is(errors.Join(err, at.Err), kerr.UnstableOffsetCommit) {
		open, oerr := admin.DescribeTransactions(ctx, group)
		if oerr == nil && open[group].State == "Ongoing" {
			all, err = admin.FetchOffsets(ctx, group)
			at = k.marker(all)
		}
	}
	return at, cmp.Or(err, at.Err)
}

// marker is the position that matters; offset -1 if there is none.
func (k Kafka) marker(all kadm.OffsetResponses) kadm.OffsetResponse {
	if at, ok := all.Lookup(k.Topic, 0); ok {
		return at
	}
	return kadm.OffsetResponse{Offset: kadm.Offset{At: -1}}
}

// parseMarker reads a position of the group: its offset is the next batch, its metadata say the rest.
func parseMarker(group string, next int64, metadata string) (checker.Position, error) {
	var m struct {
		V      int    `json:"v"`
		Batch  *int64 `json:"batch"`
		Digest string `json:"digest"`
		Epoch  int64  `json:"epoch"`
		Entry  string `json:"entry"`
	}
	if err := json.Unmarshal([]byte(metadata), &m); err != nil {
		return nowhere, errcode.KafkaSinkMarker.Wrap(err, "group "+group, "its metadata are %.200q", metadata)
	}
	if m.V != 1 || m.Batch == nil || *m.Batch != next-1 || next < 0 {
		return nowhere, errcode.KafkaSinkMarker.New("group "+group, "offset %d and metadata %.400q do not fit each other, or are of a newer version", next, metadata)
	}
	return checker.Position{Keeps: true, Batch: *m.Batch, Digest: m.Digest, Epoch: m.Epoch, Entry: m.Entry}, nil
}
