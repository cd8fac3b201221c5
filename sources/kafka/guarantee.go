package kafka

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"microbatch/guarantee"
)

// Guarantee is exactly once, unless records that are gone may be skipped. After Open the brokers are asked how long the topics keep records.
func (s *Source) Guarantee(ctx context.Context) guarantee.Link {
	l := guarantee.Link{
		Name:   "Kafka topics " + strings.Join(s.config.Topics, ", "),
		Reason: "a batch is a range of offsets that is fixed before it is read, and the same range is read again after a crash",
	}
	if s.pattern != nil {
		l.Name = "Kafka topics like " + s.config.Pattern
	}
	if kind, _, _ := strings.Cut(s.config.Format.Kind(), " "); kind != "json" {
		l.Name += " as " + kind
	}
	if s.config.OnDataLoss == Skip {
		l.Level = guarantee.AtMostOnce
		l.Reason = "records that retention removes before they are read are left out, with a notice (on_data_loss: skip)"
		l.Remedy = "on_data_loss: fail stops the query instead, with the range that is lost"
	}
	if s.config.Isolation == ReadUncommitted {
		l.Warnings = append(l.Warnings, "isolation: read_uncommitted also takes records that their producer takes back, by aborting the transaction")
	}
	if s.client != nil {
		s.addRetention(ctx, &l)
	}
	return l
}

// What the brokers are asked about a topic.
const (
	retentionTime = "retention.ms"
	cleanupPolicy = "cleanup.policy"
)

// retentionPatience is how long the brokers have to answer: the answer makes a warning and nothing else.
const retentionPatience = 5 * time.Second

// addRetention notes the shortest retention of the topics, and which are compacted. Who may read a topic need not be allowed to see its settings: then nothing is noted.
func (s *Source) addRetention(ctx context.Context, l *guarantee.Link) {
	ctx, cancel := context.WithTimeout(ctx, retentionPatience)
	defer cancel()
	req := kmsg.NewPtrDescribeConfigsRequest()
	for topic := range s.lastSeen().leaders {
		r := kmsg.NewDescribeConfigsRequestResource()
		r.ResourceType, r.ResourceName, r.ConfigNames = kmsg.ConfigResourceTypeTopic, topic, []string{retentionTime, cleanupPolicy}
		req.Resources = append(req.Resources, r)
	}
	if len(req.Resources) == 0 {
		return
	}
	resp, err := req.RequestWith(ctx, s.client)
	if err != nil {
		return
	}
	var compacted []string
	for _, r := range resp.Resources {
		settings := settingsOf(r)
		if strings.Contains(settings[cleanupPolicy], "compact") {
			compacted = append(compacted, r.ResourceName)
		}
		ms, err := strconv.ParseInt(settings[retentionTime], 10, 64)
		if kept := time.Duration(ms) * time.Millisecond; err == nil && ms > 0 && ms < int64(time.Duration(1<<63-1)/time.Millisecond) && strings.Contains(settings[cleanupPolicy], "delete") && (l.Retention == 0 || kept < l.Retention) {
			l.Retention = kept
		}
	}
	if slices.Sort(compacted); len(compacted) > 0 {
		l.Warnings = append(l.Warnings, fmt.Sprintf("compaction keeps the newest record of each key: a query that is behind does not see the ones before (%s)", strings.Join(compacted, ", ")))
	}
}

// settingsOf are the settings of a topic that the brokers tell; none if they refuse.
func settingsOf(r kmsg.DescribeConfigsResponseResource) map[string]string {
	out := map[string]string{}
	for _, c := range r.Configs {
		if r.ErrorCode == 0 && c.Value != nil {
			out[c.Name] = *c.Value
		}
	}
	return out
}
