package kafka

import (
	"regexp"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/twmb/franz-go/pkg/kgo"

	"microbatch/sources"
	"microbatch/sources/sourcetest"
)

func TestKafkaSourceConforms(t *testing.T) {
	k := newKit(t)
	topic, fed := "", 0
	reset := func(t *testing.T) {
		topic, fed = strings.ReplaceAll(t.Name(), "/", "."), 0
		topic = regexp.MustCompile("[^a-zA-Z0-9.]").ReplaceAllString(topic, "-")
		k.topic(topic, 3)
	}
	sourcetest.Run(t, sourcetest.Subject{
		New: func(t *testing.T, alloc memory.Allocator) sources.Source {
			c := k.config(topic)
			c.Alloc, c.Metadata = alloc, []string{"topic", "partition", "offset", "timestamp", "key", "headers"}
			return k.new(c)
		},
		Feed: func(t *testing.T, n int) {
			k.produce(topic, 0, fed, fed+n/2)
			k.transaction("t", topic, 1, fed+n/2, fed+n/2+n/4, kgo.TryCommit)
			k.transaction("t", topic, 1, 0, n/4, kgo.TryAbort)
			k.produce(topic, 2, fed+n/2+n/4, fed+n)
			if err := k.client.ProduceSync(t.Context(), &kgo.Record{Topic: topic, Value: []byte(`{"id":`)}).FirstErr(); err != nil {
				t.Fatal(err)
			}
			fed += n
		},
		Reset: reset,
	})
}
