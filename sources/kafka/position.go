package kafka

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"microbatch/ident"
	"microbatch/internal/errcode"
)

// byPartition holds something for each partition of each topic.
type byPartition[T any] map[string]map[int32]T

// position is the next offset to read of each partition.
type position = byPartition[int64]

func (m byPartition[T]) get(topic string, partition int32) (T, bool) {
	v, ok := m[topic][partition]
	return v, ok
}

func (m byPartition[T]) set(topic string, partition int32, v T) {
	if m[topic] == nil {
		m[topic] = map[int32]T{}
	}
	m[topic][partition] = v
}

// all yields everything, topics sorted and partitions in numeric order.
func (m byPartition[T]) all(yield func(partitionName, T) bool) {
	for _, topic := range slices.Sorted(maps.Keys(m)) {
		for _, p := range slices.Sorted(maps.Keys(m[topic])) {
			if !yield(partitionName{topic, p}, m[topic][p]) {
				return
			}
		}
	}
}

// partitionName names a partition.
type partitionName struct {
	topic     string
	partition int32
}

func (n partitionName) String() string { return n.topic + "-" + strconv.Itoa(int(n.partition)) }

// text is the canonical JSON of an offset.
func text(p position) ident.Offset { return ident.Offset(appendJSON(nil, p, strconv.AppendInt)) }

// appendJSON writes a map by topic and partition, sorted, without spaces; the numbers' map would come in the order of their digits otherwise.
func appendJSON[T any](b []byte, m byPartition[T], value func([]byte, T, int) []byte) []byte {
	b = append(b, '{')
	for i, topic := range slices.Sorted(maps.Keys(m)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendName(b, topic), ':', '{')
		for j, partition := range slices.Sorted(maps.Keys(m[topic])) {
			if j > 0 {
				b = append(b, ',')
			}
			b = append(b, '"')
			b = strconv.AppendInt(b, int64(partition), 10)
			b = append(b, '"', ':')
			b = value(b, m[topic][partition], 10)
		}
		b = append(b, '}')
	}
	return append(b, '}')
}

// appendName writes a topic's name as JSON. Kafka allows none that needs an escape, but a broker may send any.
func appendName(b []byte, topic string) []byte {
	name, err := json.Marshal(topic)
	if err != nil {
		return strconv.AppendQuote(b, topic) // not reached: every string can be encoded
	}
	return append(b, name...)
}

// parsePosition reads an offset, in any order of topics and partitions.
func parsePosition(o ident.Offset) (position, error) {
	var p position
	if err := json.Unmarshal([]byte(o), &p); err != nil || p == nil {
		return nil, errcode.KafkaOffsetUnreadable.Wrap(err, "", "%.200q is not a position like {\"topic\":{\"0\":12}}", string(o))
	}
	for name, offset := range p.all {
		if name.partition < 0 || offset < 0 {
			return nil, errcode.KafkaOffsetUnreadable.New("", "%.200q: %s has the offset %d", string(o), name, offset)
		}
	}
	return p, nil
}

// Positions implements sources.Positioner: an offset is a position of a consumer group as it stands.
func (s *Source) Positions(o ident.Offset) (map[string]map[int32]int64, error) {
	return parsePosition(o)
}

func clonePosition(p position) position {
	c := position{}
	for name, offset := range p.all {
		c.set(name.topic, name.partition, offset)
	}
	return c
}

// span is a range of offsets, the end exclusive.
type span [2]int64

func (s span) String() string { return fmt.Sprintf("[%d, %d)", s[0], s[1]) }
