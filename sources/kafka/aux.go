package kafka

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"microbatch/internal/bugs"
	"microbatch/internal/errcode"
)

// The keys of Planned.Aux; doc.go shows the values.
const (
	auxTopicIDs = "topic_ids"
	auxEpochs   = "leader_epochs"
	auxStarts   = "starts"
	auxLost     = "lost"
)

// facts is Planned.Aux, read.
type facts struct {
	topicIDs map[string]topicID
	epochs   byPartition[int32]
	starts   position
	lost     byPartition[span]
}

func newFacts() facts {
	return facts{topicIDs: map[string]topicID{}, epochs: byPartition[int32]{}, starts: position{}, lost: byPartition[span]{}}
}

// topicID is the identity of a topic; zero from a broker that has none.
type topicID [16]byte

// String is the id as a UUID.
func (t topicID) String() string {
	h := hex.EncodeToString(t[:])
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}

// differs reports whether two ids are known and not the same.
func (t topicID) differs(other topicID) bool {
	if bugs.Is(bugs.ForgetTopicID) {
		return false
	}
	return t != topicID{} && other != topicID{} && t != other
}

func parseTopicID(s string) (t topicID, err error) {
	b, err := hex.DecodeString(strings.ReplaceAll(s, "-", ""))
	if err != nil || len(b) != len(t) {
		return t, fmt.Errorf("%.60q is not a topic id", s)
	}
	return topicID(b), nil
}

func (f facts) encode() (map[string]string, error) {
	ids := map[string]string{}
	for topic, id := range f.topicIDs {
		if id != (topicID{}) {
			ids[topic] = id.String()
		}
	}
	aux := map[string]string{}
	if len(ids) > 0 {
		b, err := json.Marshal(ids)
		if err != nil {
			return nil, fmt.Errorf("kafka: topic ids: %w", err)
		}
		aux[auxTopicIDs] = string(b)
	}
	if len(f.epochs) > 0 {
		aux[auxEpochs] = string(appendJSON(nil, f.epochs, func(b []byte, v int32, _ int) []byte { return strconv.AppendInt(b, int64(v), 10) }))
	}
	if len(f.starts) > 0 {
		aux[auxStarts] = string(text(f.starts))
	}
	if len(f.lost) > 0 {
		aux[auxLost] = string(appendJSON(nil, f.lost, func(b []byte, v span, _ int) []byte { return fmt.Appendf(b, "[%d,%d]", v[0], v[1]) }))
	}
	return aux, nil
}

// parseFacts reads what encode has written; all of it may be absent, as in an entry that Spark wrote.
func parseFacts(aux map[string]string) (facts, error) {
	f := newFacts()
	ids := map[string]string{}
	for key, into := range map[string]any{auxTopicIDs: &ids, auxEpochs: &f.epochs, auxStarts: &f.starts, auxLost: &f.lost} {
		if aux[key] == "" {
			continue
		}
		if err := json.Unmarshal([]byte(aux[key]), into); err != nil {
			return f, errcode.KafkaOffsetUnreadable.Wrap(err, key, "%.200q", aux[key])
		}
	}
	for topic, s := range ids {
		id, err := parseTopicID(s)
		if err != nil {
			return f, errcode.KafkaOffsetUnreadable.Wrap(err, auxTopicIDs, "topic %s", topic)
		}
		f.topicIDs[topic] = id
	}
	return f, nil
}
