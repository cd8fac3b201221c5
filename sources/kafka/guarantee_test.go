package kafka

import (
	"strings"
	"testing"
	"time"

	"microbatch/guarantee"
)

// TestTheGuaranteeKnowsHowLongTopicsAreKept: the shortest of the topics counts, once the brokers can be asked; for ever is no time.
func TestTheGuaranteeKnowsHowLongTopicsAreKept(t *testing.T) {
	k := newKit(t)
	k.topic("long", 1, "retention.ms", "604800000")
	k.topic("short", 1, "retention.ms", "3600000")
	k.topic("forever", 1, "retention.ms", "-1")
	k.topic("compacted", 1, "cleanup.policy", "compact", "retention.ms", "1000")
	for _, c := range []struct {
		topics    []string
		want      time.Duration
		compacted bool
	}{
		{[]string{"long", "short", "forever"}, time.Hour, false},
		{[]string{"long"}, 168 * time.Hour, false},
		{[]string{"forever"}, 0, false},
		{[]string{"compacted", "long"}, 168 * time.Hour, true},
	} {
		s := k.new(k.config(c.topics...))
		if l := s.Guarantee(t.Context()); l.Retention != 0 || l.Level != guarantee.ExactlyOnce {
			t.Errorf("%v, not open: %+v", c.topics, l)
		}
		if err := s.Open(t.Context(), k.own); err != nil {
			t.Fatal(err)
		}
		l := s.Guarantee(t.Context())
		if l.Retention != c.want || strings.Contains(strings.Join(l.Warnings, ""), "compaction") != c.compacted {
			t.Errorf("%v: kept for %s, want %s; warnings %q", c.topics, l.Retention, c.want, l.Warnings)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestSkippingLostRecordsIsAtMostOnce(t *testing.T) {
	k := newKit(t)
	c := k.config("orders")
	c.OnDataLoss = Skip
	if l := k.new(c).Guarantee(t.Context()); l.Level != guarantee.AtMostOnce || l.Remedy == "" {
		t.Errorf("%+v", l)
	}
}
