package kafka

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"microbatch/ident"
	"microbatch/internal/errcode"
)

func TestOffsetTextIsSparksByteForByte(t *testing.T) {
	p := position{"b": {10: 5, 2: 7, 0: 0}, "a": {0: 12}}
	if have := text(p); have != `{"a":{"0":12},"b":{"0":0,"2":7,"10":5}}` {
		t.Fatal(have)
	}
	scrambled := ident.Offset(`{"b":{"2":7, "10":5,"0":0},"a":{"0":12}}`)
	q, err := parsePosition(scrambled)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(p, q); d != "" {
		t.Fatal(d)
	}
	if have := keepText(scrambled, q, q); have != scrambled {
		t.Errorf("an unchanged position is rewritten as %s", have)
	}
}

func TestOffsetsThatAreNoPositionsAreRefused(t *testing.T) {
	for _, o := range []ident.Offset{"", "5", "null", `{"a":5}`, `{"a":{"x":1}}`, `{"a":{"0":-1}}`, `{"a":{"-1":0}}`, `{"a":{"0":1.5}}`, `{"a":{"0":1}`} {
		if _, err := parsePosition(o); !errcode.Has(err, errcode.KafkaOffsetUnreadable) {
			t.Errorf("%q: %v", o, err)
		}
	}
}

func TestInitialPositionFileIsReadInBothOfSparksForms(t *testing.T) {
	for _, form := range []string{"\x00v1\n{\"a\":{\"0\":3}}", "0{\"a\":{\"0\":3}}"} {
		p, err := readInitial([]byte(form))
		if err != nil || text(p) != `{"a":{"0":3}}` {
			t.Errorf("%q: %v %v", form, p, err)
		}
	}
	for _, form := range []string{"", "\x00v2\n{\"a\":{\"0\":3}}", "\x00v1\n", "\x00"} {
		if _, err := readInitial([]byte(form)); !errcode.Has(err, errcode.KafkaOffsetUnreadable) {
			t.Errorf("%q: %v", form, err)
		}
	}
}

func TestFactsSurviveTheOffsetsEntry(t *testing.T) {
	f := newFacts()
	f.topicIDs["a"] = topicID{1, 2, 0xff}
	f.epochs.set("a", 0, 7)
	f.starts.set("a", 11, 0)
	f.lost.set("a", 0, span{50, 100})
	aux, err := f.encode()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		auxTopicIDs: `{"a":"0102ff00-0000-0000-0000-000000000000"}`,
		auxEpochs:   `{"a":{"0":7}}`, auxStarts: `{"a":{"11":0}}`, auxLost: `{"a":{"0":[50,100]}}`,
	}
	if d := cmp.Diff(want, aux); d != "" {
		t.Error(d)
	}
	g, err := parseFacts(aux)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(f, g, cmp.AllowUnexported(facts{})); d != "" {
		t.Error(d)
	}
	for key, damaged := range map[string]string{auxTopicIDs: `{"a":"x"}`, auxEpochs: "5", auxStarts: "{", auxLost: `{"a":[]}`} {
		if _, err := parseFacts(map[string]string{key: damaged}); !errcode.Has(err, errcode.KafkaOffsetUnreadable) {
			t.Errorf("%s %s: %v", key, damaged, err)
		}
	}
}

func TestALimitIsSharedByBacklogAndEachPartitionMakesProgress(t *testing.T) {
	for _, c := range []struct{ waiting, total, limit, want int64 }{
		{50, 100, 0, 50}, // no limit
		{50, 100, 100, 50},
		{50, 100, 10, 5},
		{1, 10_001, 100, 1}, // a hundred times hotter neighbours
		{10_000, 10_001, 100, 99},
		{0, 100, 10, 0},
		{3, 100, 99, 2},
	} {
		if have := share(c.waiting, c.total, c.limit); have != c.want {
			t.Errorf("share(%d of %d, limit %d) = %d, want %d", c.waiting, c.total, c.limit, have, c.want)
		}
	}
	for range 1000 {
		waiting := make([]int64, 1+rand.IntN(20))
		total := int64(0)
		for i := range waiting {
			waiting[i] = rand.Int64N(1000)
			total += waiting[i]
		}
		limit := 1 + rand.Int64N(500)
		taken := int64(0)
		for _, w := range waiting {
			n := share(w, total, limit)
			if n > w || w > 0 && n == 0 {
				t.Fatalf("share(%d of %d, limit %d) = %d", w, total, limit, n)
			}
			taken += n
		}
		if taken > max(limit, 0)+int64(len(waiting)) {
			t.Fatalf("%v, limit %d: %d rows", waiting, limit, taken)
		}
	}
}
