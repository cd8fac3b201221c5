package guarantee

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestTheWeakestLinkDecides: what a chain promises is what all of its links promise, and the two ways to fail a row add up.
func TestTheWeakestLinkDecides(t *testing.T) {
	levels := []Level{ExactlyOnce, AtLeastOnce, AtMostOnce, Neither}
	for _, a := range levels {
		for _, b := range levels {
			for _, atMostOnce := range []bool{false, true} {
				c := Chain{Links: []Link{{Part: "source", Name: "a", Level: a, Reason: "of a"}, {Part: "sink", Name: "b", Level: b, Reason: "of b"}}, AtMostOnce: atMostOnce}
				want := a | b
				if atMostOnce { // nothing runs again, so nothing repeats
					want &= AtMostOnce
				}
				r := Compute(c)
				if r.Level != want || (len(r.Weakest) == 0) != (want == ExactlyOnce) || !strings.HasPrefix(r.Sentence, want.String()) {
					t.Errorf("%s, then %s, recorded first %v: %s, %v, %q", a, b, atMostOnce, r.Level, r.Weakest, r.Sentence)
				}
				for _, l := range r.Links {
					if l.Level == ExactlyOnce {
						continue
					}
					if !slices.Contains(r.Weakest, l.Part) || !strings.Contains(r.Sentence, l.Name) || !strings.Contains(r.Sentence, l.Reason) {
						t.Errorf("%q does not name %s", r.Sentence, l.Name)
					}
				}
			}
		}
	}
}

// TestASinkThatRepeatsRowsByItself does so also where no recorded batch runs again.
func TestASinkThatRepeatsRowsByItself(t *testing.T) {
	r := Compute(Chain{AtMostOnce: true, Links: []Link{{Part: "batches", Level: AtMostOnce}, {Part: "sink", Level: AtLeastOnce, Repeats: true}}})
	if r.Level != Neither || len(r.Weakest) != 2 {
		t.Errorf("%s, %v", r.Level, r.Weakest)
	}
}

func TestWarningsOfLinksTogether(t *testing.T) {
	for _, c := range []struct {
		name  string
		chain Chain
		want  string // "": no warning
	}{
		{"a service gives batches up, and no batch_timeout", Chain{Links: []Link{{Part: "sink", BatchLimit: 15 * time.Minute}}}, "sink: a batch that takes longer than 15m"},
		{"a service gives batches up before batch_timeout", Chain{BatchTimeout: 20 * time.Minute, Links: []Link{{Part: "sink", BatchLimit: 15 * time.Minute}}}, "sink: a batch that takes longer than 15m"},
		{"batch_timeout comes first", Chain{BatchTimeout: time.Minute, Links: []Link{{Part: "sink", BatchLimit: 15 * time.Minute}}}, ""},
		{"a short retention", Chain{BatchTimeout: 1, Links: []Link{{Part: "source", Retention: 24 * time.Hour}}}, "source: rows are kept for 24h"},
		{"a long one", Chain{BatchTimeout: 1, Links: []Link{{Part: "source", Retention: 168 * time.Hour}}}, ""},
		{"a window below the retention", Chain{BatchTimeout: 1, Links: []Link{{Part: "source", Retention: 168 * time.Hour}, {Part: "transform 1", Window: 24 * time.Hour}}}, "transform 1: equal rows are recognised within 24h"},
		{"a window above it", Chain{BatchTimeout: 1, Links: []Link{{Part: "source", Retention: 168 * time.Hour}, {Part: "transform 1", Window: 169 * time.Hour}}}, ""},
		{"a window, and a source that keeps rows for ever", Chain{BatchTimeout: 1, Links: []Link{{Part: "source"}, {Part: "transform 1", Window: 24 * time.Hour}}}, "transform 1: equal rows are recognised within 24h"},
		{"rows are dropped", Chain{BatchTimeout: 1, DropsRows: true}, "on_error: drop"},
		{"no batch_timeout", Chain{}, "batch_timeout is not set"},
		{"a link's own", Chain{BatchTimeout: 1, Links: []Link{{Part: "sink", Warnings: []string{"sweep is off"}}}}, "sink: sweep is off"},
	} {
		got := Compute(c.chain).Warnings
		found := slices.ContainsFunc(got, func(w string) bool { return c.want != "" && strings.Contains(w, c.want) })
		if c.want == "" && len(got) > 0 || c.want != "" && !found {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestWhenRowsAreVisible(t *testing.T) {
	sink := []Link{{Visible: "all at once"}}
	for want, c := range map[string]Chain{
		"within 30s":     {Links: sink, Every: 30 * time.Second},
		"when the batch": {Links: sink},
		"in this run":    {Links: sink, Once: true},
	} {
		if got := Compute(c).Visible; !strings.Contains(got, want) || !strings.HasSuffix(got, "; all at once") {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestShortDurations(t *testing.T) {
	for d, want := range map[time.Duration]string{72 * time.Hour: "72h", 90 * time.Minute: "1h30m", 15 * time.Minute: "15m", 30 * time.Second: "30s", 0: "0s", time.Hour + time.Second: "1h0m1s", 20 * time.Minute: "20m", 10 * time.Hour: "10h"} {
		if got := short(d); got != want {
			t.Errorf("%v: %s, want %s", int64(d), got, want)
		}
	}
}
