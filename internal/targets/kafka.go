package targets

import (
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
	var found bool
	err = retry.Do(ctx, retry.Policy{Budget: patience, Max: time.Second}, func(err error) bool {
		return !errors.Is(err, kerr.GroupIDNotFound) && errcode.ClassOf(k.Access.Explain(err, "")) == errcode.Retry
	}, func(ctx context.Context) error {
		all, err := kadm.NewClient(client).FetchOffsets(kadm.RequireStable(ctx), group)
		if err != nil {
			return err
		}
		at, found = all.Lookup(k.Topic, 0)
		return at.Err
	})
	switch {
	case errors.Is(err, kerr.GroupIDNotFound), err == nil && (!found || at.At < 0):
		return nowhere, nil
	case err != nil:
		return nowhere, k.Access.Explain(err, "read the position of group "+group)
	}
	return parseMarker(group, at.At, at.Metadata)
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
