package checkpointlog

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"microbatch/objstore"
	"microbatch/objstore/mem"
)

// readCompact opens a log and returns it with all its lines.
func readCompact(t *testing.T, store objstore.Store, interval int64) (*CompactLog, []string) {
	t.Helper()
	var lines []string
	l, err := OpenCompact(t.Context(), store, interval, func(line []byte) error {
		lines = append(lines, string(line))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return l, lines
}

func TestCompactLogKeepsEveryLineThroughCompactionAndPurge(t *testing.T) {
	store := mem.New()
	l, _ := readCompact(t, store, 3)
	var want []string
	for i := range int64(40) {
		lines := [][]byte{fmt.Appendf(nil, "%d a", i), fmt.Appendf(nil, "%d b", i)}
		id, err := l.Append(t.Context(), lines)
		if err != nil || id != i || l.Last() != i {
			t.Fatal(id, err)
		}
		if err := l.Purge(t.Context()); err != nil {
			t.Fatal(err)
		}
		want = append(want, string(lines[0]), string(lines[1]))
		reopened, got := readCompact(t, store, 3)
		if d := cmp.Diff(want, got); d != "" || reopened.Last() != i {
			t.Fatalf("after entry %d (last %d): %s", i, reopened.Last(), d)
		}
	}
	var have []string
	for info := range store.List(t.Context(), "", "") {
		have = append(have, info.Key)
	}
	if len(have) > 20 {
		t.Errorf("purged too little: %v", have)
	}
	for _, id := range []int64{0, 20, 38, 39} {
		found := false
		if err := l.Read(t.Context(), id, func(line []byte) error {
			found = found || string(line) == fmt.Sprintf("%d b", id)
			return nil
		}); err != nil || !found {
			t.Errorf("entry %d: found %v, %v", id, found, err)
		}
	}
	if err := l.Read(t.Context(), 40, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestCompactLogOfTwoWritersHasOneWinner(t *testing.T) {
	store := mem.New()
	a, _ := readCompact(t, store, 10)
	b, _ := readCompact(t, store, 10)
	if _, err := a.Append(t.Context(), [][]byte{[]byte("a")}); err != nil {
		t.Fatal(err)
	}
	if behind, err := b.Behind(t.Context()); !behind || err != nil {
		t.Error(behind, err)
	}
	if _, err := b.Append(t.Context(), [][]byte{[]byte("b")}); !errors.Is(err, fs.ErrExist) || b.Last() != -1 {
		t.Error(err, b.Last())
	}
	if behind, err := a.Behind(t.Context()); behind || err != nil {
		t.Error(behind, err)
	}
}

func TestCompactLogKeepsTheIntervalItWasWrittenWith(t *testing.T) {
	for _, c := range []struct {
		compacts   []int64
		wish, want int64
	}{{[]int64{9, 19}, 5, 10}, {[]int64{99}, 10, 10}, {[]int64{11}, 5, 6}, {[]int64{4}, 10, 5}, {[]int64{12}, 5, 13}} {
		if got := intervalOf(c.compacts, c.wish); got != c.want {
			t.Errorf("%v, wish %d: %d, want %d", c.compacts, c.wish, got, c.want)
		}
	}
}

func TestCompactLogWithAHoleOrAForeignVersionIsRefused(t *testing.T) {
	for _, files := range []map[string]string{{"0": "v1", "2": "v1"}, {"0": "v2\nx"}, {"0": ""}, {"9.compact": "v1\nx", "11": "v1\ny"}} {
		store := mem.New()
		for name, data := range files {
			if err := store.Put(t.Context(), name, []byte(data)); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := OpenCompact(t.Context(), store, 10, func([]byte) error { return nil }); err == nil || !strings.Contains(err.Error(), "entry") {
			t.Errorf("%v: %v", files, err)
		}
	}
}

// A single compact file leaves a choice of intervals: the smallest divisor that is not below the wish, found in time for any name.
func TestTheIntervalOfASingleCompactFile(t *testing.T) {
	for newest, want := range map[int64]int64{9: 10, 19: 10, 14: 15, 16: 17, 29: 10, 33: 17, 5: 6, 1<<62 - 1: 16, 2036854775806: 2036854775807} {
		if got := intervalOf([]int64{newest}, 10); got < 10 && got != newest+1 || (newest+1)%got != 0 || want != got && newest < 1<<40 {
			t.Errorf("%d.compact: interval %d, want %d", newest, got, want)
		}
	}
}
