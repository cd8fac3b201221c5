package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"microbatch/ident"
	"microbatch/internal/errcode"
	"microbatch/objstore"
	"microbatch/objstore/mem"
	"microbatch/sources"
)

func TestEachFileIsReadOnceInOrderOfTimeThenName(t *testing.T) {
	r := newRig(t)
	r.write("b", 3)
	r.write("a", 2)
	s := r.start()
	one := sources.Limit{Files: 1}
	first := r.plan(s, "", one)
	if first != `{"logOffset":0}` {
		t.Fatal(first)
	}
	second := r.plan(s, first, one)
	if got := r.read(s, "", first, 2); !slices.Equal(got, linesOf(3, "b")) {
		t.Error("the older file first:", got)
	}
	if got := r.read(s, first, second, 2); !slices.Equal(got, linesOf(2, "a")) {
		t.Error(got)
	}
	if got := r.plan(s, second, one); got != second {
		t.Error("nothing new, but", got)
	}
	r.write("c/d", 1)
	if rows, _, n := r.all(s, second, sources.Limit{}); n != 1 || !slices.Equal(rows, linesOf(1, "c/d")) {
		t.Error(n, rows)
	}
	if got := r.read(s, "", second, 4); len(got) != 5 {
		t.Error("two entries as one range:", got)
	}
}

func TestLimitsOfFilesBytesAndRows(t *testing.T) {
	r := newRig(t)
	for i := range 10 {
		r.write(fmt.Sprintf("f%d", i), 25) // 25 lines of 5 or 6 bytes
	}
	for _, c := range []struct {
		limit sources.Limit
		want  int
	}{
		{sources.Limit{}, 1},
		{sources.Limit{Files: 3}, 4},
		{sources.Limit{Bytes: 300}, 5},
		{sources.Limit{Bytes: 1}, 10},
		{sources.Limit{Rows: 1}, 10},
	} {
		r.own = mem.New()
		rows, _, n := r.all(r.start(), "", c.limit)
		if n != c.want || len(rows) != 250 {
			t.Errorf("%+v: %d batches, want %d; %d rows", c.limit, n, c.want, len(rows))
		}
	}
}

func TestRowsAreLimitedByTheMeanSizeSoFar(t *testing.T) {
	r := newRig(t)
	r.write("f0", 100)
	s := r.start()
	_, at, _ := r.all(s, "", sources.Limit{})
	for i := range 10 {
		r.write(fmt.Sprintf("g%d", i), 100)
	}
	if _, _, n := r.all(s, at, sources.Limit{Rows: 250}); n != 5 {
		t.Errorf("%d batches of 10 files of 100 rows under a limit of 250", n)
	}
}

func TestAFileIsEstimatedAtOneRowAtLeast(t *testing.T) {
	r := newRig(t)
	r.writeText("a", "x\n")
	p, err := r.start().Plan(t.Context(), "", sources.Limit{})
	must0(t, err)
	if p.Rows != 1 {
		t.Errorf("%+v: a range of no rows counts as nothing new", p)
	}
}

func TestARestartKnowsWhatWasSeen(t *testing.T) {
	r := newRig(t)
	r.write("a", 2)
	_, at, _ := r.all(r.start(), "", sources.Limit{})
	r.write("b", 2)
	rows, _, _ := r.all(r.start(), at, sources.Limit{})
	if !slices.Equal(rows, linesOf(2, "b")) {
		t.Error(rows)
	}
}

func TestAnOrphanEntryIsTheNextRangeAsItStands(t *testing.T) {
	r := newRig(t)
	r.write("a", 2)
	planned := r.plan(r.start(), "", sources.Limit{}) // then the process dies: no offsets entry was written
	r.write("b", 2)
	s := r.start()
	again := r.plan(s, "", sources.Limit{})
	if again != planned {
		t.Errorf("%s, then %s", planned, again)
	}
	if got := r.read(s, "", again, 1); !slices.Equal(got, linesOf(2, "a")) {
		t.Error(got)
	}
	if rows, _, _ := r.all(s, again, sources.Limit{}); !slices.Equal(rows, linesOf(2, "b")) {
		t.Error(rows)
	}
}

func TestTwoDriversAgreeOnEveryEntry(t *testing.T) {
	r := newRig(t)
	r.write("a", 1)
	older, newer := r.start(), r.start()
	first := r.plan(older, "", sources.Limit{})
	r.write("b", 1)
	if got := r.plan(newer, "", sources.Limit{}); got != first {
		t.Fatalf("%s, and %s", first, got)
	}
	if got := r.read(newer, "", first, 1); !slices.Equal(got, linesOf(1, "a")) {
		t.Error("the entry that was there first counts:", got)
	}
	rows, _, _ := r.all(newer, first, sources.Limit{})
	if !slices.Equal(rows, linesOf(1, "b")) {
		t.Error(rows)
	}
	rows, _, _ = r.all(older, first, sources.Limit{})
	if !slices.Equal(rows, linesOf(1, "b")) {
		t.Error("the older driver sees the same:", rows)
	}
}

func TestARangeThatAnotherDriverPlannedAfterWeReadTheLogCanBeRead(t *testing.T) {
	r := newRig(t)
	r.write("a", 1)
	older, newer := r.start(), r.start()
	to := r.plan(older, "", sources.Limit{}) // the older driver fixes one more batch while the newer one takes over
	if got := r.read(newer, "", to, 1); !slices.Equal(got, linesOf(1, "a")) {
		t.Error(got)
	}
	if rows, _, _ := r.all(newer, to, sources.Limit{}); len(rows) > 0 {
		t.Errorf("files came twice: %v", rows)
	}
}

func TestAnAppendOfUnknownOutcomeNeitherLosesNorDoublesFiles(t *testing.T) {
	for _, persisted := range []bool{false, true} {
		r := newRig(t)
		r.write("a", 1)
		lossy := &lossyStore{Store: r.own, persist: persisted}
		r.own = lossy
		s := r.start()
		lossy.lose = true
		if _, err := s.Plan(t.Context(), "", sources.Limit{}); !errors.Is(err, objstore.ErrUncertain) {
			t.Fatal(err)
		}
		lossy.lose = false
		r.write("b", 1)
		rows, _, _ := r.all(s, "", sources.Limit{Files: 1})
		if !slices.Equal(rows, linesOf(1, "a", "b")) {
			t.Errorf("persisted %v: %v", persisted, rows)
		}
	}
}

// lossyStore loses the answers of puts, or the puts.
type lossyStore struct {
	objstore.Store
	lose, persist bool
}

func (l *lossyStore) PutIfAbsent(ctx context.Context, key string, data []byte) error {
	if !l.lose {
		return l.Store.PutIfAbsent(ctx, key, data)
	}
	if l.persist {
		if err := l.Store.PutIfAbsent(ctx, key, data); err != nil {
			return err
		}
	}
	return objstore.ErrUncertain
}

func TestTheSeenLogIsSparks(t *testing.T) {
	r := newRig(t)
	r.writeText("a b.json", "x\n")
	r.writeText("c.json", "yy\n")
	s := r.start()
	r.plan(s, "", sources.Limit{})
	data, err := r.own.Get(t.Context(), "0")
	must0(t, err)
	want := fmt.Sprintf("v1\n"+
		`{"path":"file://%[1]s/a%%20b.json","timestamp":1772323201000,"batchId":0,"size":2,"crc":X}`+"\n"+
		`{"path":"file://%[1]s/c.json","timestamp":1772323202000,"batchId":0,"size":3,"crc":X}`, r.dir)
	if d := cmp.Diff(want, regexp.MustCompile(`"crc":\d+`).ReplaceAllString(string(data), `"crc":X`)); d != "" {
		t.Error(d)
	}
}

func TestASeenLogOfSparkIsTakenOver(t *testing.T) {
	r := newRig(t)
	r.write("a", 2)
	r.write("b", 2)
	must0(t, r.own.PutIfAbsent(t.Context(), "0", fmt.Appendf(nil, "v1\n"+`{"path":"file:%s/a","timestamp":1772323201000,"batchId":0}`, r.dir)))
	s := r.start()
	if got := r.read(s, "", `{"logOffset":0}`, 1); !slices.Equal(got, linesOf(2, "a")) {
		t.Error("rerun of Spark's batch:", got)
	}
	if rows, _, _ := r.all(s, `{"logOffset":0}`, sources.Limit{}); !slices.Equal(rows, linesOf(2, "b")) {
		t.Error(rows)
	}
}

func TestTheSeenLogIsCompactedEveryTenEntries(t *testing.T) {
	r := newRig(t)
	for i := range 35 {
		r.write(fmt.Sprintf("f%02d", i), 2)
	}
	rows, at, n := r.all(r.start(), "", sources.Limit{Files: 1})
	if n != 35 || len(rows) != 70 {
		t.Fatal(n, len(rows))
	}
	var names []string
	for info := range r.own.List(t.Context(), "", "") {
		names = append(names, info.Key)
	}
	want := []string{"19.compact", "20", "21", "22", "23", "24", "25", "26", "27", "28", "29.compact", "30", "31", "32", "33", "34"}
	if d := cmp.Diff(want, names); d != "" {
		t.Error(d)
	}
	s := r.start()
	if got := r.plan(s, at, sources.Limit{}); got != at {
		t.Error("a restart reads files again:", got)
	}
	if got := r.read(s, `{"logOffset":4}`, `{"logOffset":6}`, 1); !slices.Equal(got, linesOf(2, "f05", "f06")) {
		t.Error("an old range, from the compact file:", got)
	}
}

func TestHiddenTemporaryAndEmptyFilesAreIgnoredAndContentLaterIsFound(t *testing.T) {
	r := newRig(t)
	for _, key := range []string{".hidden", "_SUCCESS", "_tmp/x", "a/.b/c", "d._COPYING_", "e.tmp", "f.crc"} {
		r.write(key, 1)
	}
	r.writeText("empty", "")
	r.write("data", 1)
	s := r.start()
	rows, at, _ := r.all(s, "", sources.Limit{})
	if !slices.Equal(rows, linesOf(1, "data")) {
		t.Error(rows)
	}
	r.write("empty", 1)
	if rows, _, _ = r.all(s, at, sources.Limit{}); !slices.Equal(rows, linesOf(1, "empty")) {
		t.Error(rows)
	}
}

func TestOnlyMatchingFilesAreRead(t *testing.T) {
	r := newRig(t)
	r.config.Glob = "2026-*/*.json"
	for _, key := range []string{"2026-1/a.json", "2026-1/a.csv", "2025-1/a.json", "2026-2/x/a.json", "2026-2/b.json"} {
		r.write(key, 1)
	}
	if rows, _, _ := r.all(r.start(), "", sources.Limit{}); !slices.Equal(rows, linesOf(1, "2026-1/a.json", "2026-2/b.json")) {
		t.Error(rows)
	}
}

func TestAfterFreezeOnlyWhatWasThereIsPlanned(t *testing.T) {
	r := newRig(t)
	r.config.SettleAge = time.Hour
	r.write("a", 1)
	r.write("b", 1)
	r.clock = time.Now()
	r.write("young", 1)
	s := r.start()
	must0(t, s.Freeze(t.Context()))
	r.write("late", 1)
	must0(t, os.Remove(filepath.Join(r.dir, "b")))
	rows, _, n := r.all(s, "", sources.Limit{Files: 1})
	if want := append(linesOf(1, "a"), linesOf(1, "young")...); !slices.Equal(rows, want) || n != 2 {
		t.Error(n, rows)
	}
}

func TestARunOnAnEmptyOrMissingDirectoryEnds(t *testing.T) {
	r := newRig(t)
	must0(t, os.Remove(r.dir))
	s := r.start()
	must0(t, s.Freeze(t.Context()))
	if rows, to, _ := r.all(s, "", sources.Limit{}); rows != nil || to != "" {
		t.Error(rows, to)
	}
}

func TestYoungFilesSettleFirst(t *testing.T) {
	r := newRig(t)
	now := r.clock.Add(3 * time.Second)
	r.config.SettleAge = 2 * time.Second
	r.config.Now = func() time.Time { return now }
	r.write("a", 1) // 2 s ago
	r.write("b", 1) // 1 s ago
	s := r.start()
	rows, at, _ := r.all(s, "", sources.Limit{})
	if !slices.Equal(rows, linesOf(1, "a")) {
		t.Error(rows)
	}
	now = now.Add(time.Second)
	if rows, _, _ = r.all(s, at, sources.Limit{}); !slices.Equal(rows, linesOf(1, "b")) {
		t.Error(rows)
	}
}

func TestABacklogIsLookedAtAgainBeforeItIsPlanned(t *testing.T) {
	r := newRig(t)
	for _, key := range []string{"a", "b", "c", "d"} {
		r.write(key, 1)
	}
	s := r.start()
	at := r.plan(s, "", sources.Limit{Files: 1})
	must0(t, os.Remove(filepath.Join(r.dir, "b"))) // gone before it was promised to anybody
	r.write("c", 3)                                // replaced
	rows, _, _ := r.all(s, at, sources.Limit{Files: 1})
	if want := append(linesOf(3, "c"), linesOf(1, "d")...); !slices.Equal(rows, want) {
		t.Error(rows)
	}
}

func TestAnUnsortedListingThatNamesFilesTwiceIsTolerated(t *testing.T) {
	r := newRig(t)
	for _, key := range []string{"a", "b", "c"} {
		r.write(key, 1)
	}
	r.config.Store = messyStore{r.config.Store}
	if rows, _, n := r.all(r.start(), "", sources.Limit{Files: 2}); n != 2 || !slices.Equal(rows, linesOf(1, "a", "b", "c")) {
		t.Error(n, rows)
	}
}

type messyStore struct{ objstore.Store }

func (m messyStore) List(ctx context.Context, prefix, after string) iter.Seq2[objstore.Info, error] {
	return func(yield func(objstore.Info, error) bool) {
		var all []objstore.Info
		for info, err := range m.Store.List(ctx, prefix, after) {
			if err != nil {
				yield(info, err)
				return
			}
			all = append(all, info)
		}
		slices.Reverse(all)
		for _, info := range append(all, all...) {
			if !yield(info, nil) {
				return
			}
		}
	}
}

// TestTheSeenLogIsNoCopyOfAnythingElse: a repair must know that offsets alone do not bring it back.
func TestTheSeenLogIsNoCopyOfAnythingElse(t *testing.T) {
	var source sources.Source = newRig(t).open()
	if k, ok := source.(sources.LogKeeper); !ok || !k.KeepsLog() {
		t.Error("the source does not say that it keeps a log")
	}
}

func TestBeforePinNothingIsWritten(t *testing.T) {
	r := newRig(t)
	r.config.Schema = nil
	r.write("a", 1)
	r.write("b", 1)
	s := r.open()
	rows, at, n := r.all(s, "", sources.Limit{Files: 1})
	if n != 2 || len(rows) != 2 || at != `{"logOffset":1}` {
		t.Error(n, rows, at)
	}
	for info := range r.own.List(t.Context(), "", "") {
		t.Error("written:", info.Key)
	}
	must0(t, s.Pin(t.Context()))
	if rows, _, _ = r.all(s, "", sources.Limit{}); len(rows) != 2 {
		t.Error("forgotten by Pin, and planned anew:", rows)
	}
}

func TestASchemaLeftOutIsInferredFromTheFirstFileAndPinned(t *testing.T) {
	r := newRig(t)
	r.config.Schema = nil
	s, err := New(r.config)
	must0(t, err)
	if err := s.Open(t.Context(), r.own); !errcode.Has(err, errcode.NoSample) {
		t.Error("no file yet:", err)
	}
	r.write("a", 1)
	s = r.start()
	if !s.Schema().Equal(linesSchema()) || s.Describe().Learned["schema"] != "line STRING" {
		t.Error(s.Schema(), s.Describe())
	}
	must0(t, os.Remove(filepath.Join(r.dir, "a")))
	if s = r.start(); !s.Schema().Equal(linesSchema()) {
		t.Error("from the pin:", s.Schema())
	}
	must0(t, r.own.Put(t.Context(), pinKey, []byte("v1\n{}\n00000000")))
	if err := s.Open(t.Context(), r.own); !errcode.Has(err, errcode.PinDamaged) {
		t.Error(err)
	}
}

func TestACheckpointThatDoesNotFitIsRefused(t *testing.T) {
	r := newRig(t)
	r.write("a", 1)
	s := r.start()
	for offset, code := range map[ident.Offset]errcode.Code{
		`{"logOffset":3}`:    errcode.SeenLogBehind,
		`{"logOffset": 3}`:   errcode.OffsetForeign,
		`{"events":{"0":1}}`: errcode.OffsetForeign,
		"12":                 errcode.OffsetForeign,
	} {
		if _, err := s.Plan(t.Context(), offset, sources.Limit{}); !errcode.Has(err, code) {
			t.Errorf("%s: %v", offset, err)
		}
	}
	if _, err := s.Splits(t.Context(), "", `{"logOffset":0}`, nil, 1); !errcode.Has(err, errcode.SeenLogBehind) {
		t.Error(err)
	}
	for content, code := range map[string]errcode.Code{
		"v2\n":                             errcode.SeenLogDamaged,
		"v1\n{\"path\":\"file:///in":       errcode.SeenLogDamaged,
		"v1\n{\"nextBatchWatermarkMs\":0}": errcode.SeenLogDamaged,
		"v1\n" + `{"path":"file:///elsewhere/a","timestamp":1,"batchId":0}`: errcode.SeenLogForeign,
	} {
		own := mem.New()
		must0(t, own.Put(t.Context(), "0", []byte(content)))
		if err := s.Open(t.Context(), own); !errcode.Has(err, code) {
			t.Errorf("%q: %v", content, err)
		}
	}
	own := mem.New()
	must0(t, own.Put(t.Context(), "1", []byte("v1")))
	if err := s.Open(t.Context(), own); !errcode.Has(err, errcode.SeenLogDamaged) || !strings.Contains(err.Error(), "entry 0 is missing") {
		t.Error(err)
	}
}

// TestAnEntryInThePlaceOfAnotherIsRefused: whatever hides an entry's lines would let its files come again.
func TestAnEntryInThePlaceOfAnotherIsRefused(t *testing.T) {
	r := newRig(t)
	for i := range 13 {
		r.write(fmt.Sprintf("f%02d", i), 1)
	}
	r.all(r.start(), "", sources.Limit{Files: 1})
	text := map[string][]byte{}
	for info := range r.own.List(t.Context(), "", "") {
		data, err := r.own.Get(t.Context(), info.Key)
		must0(t, err)
		text[info.Key] = data
	}
	compact := text["9.compact"]
	for name, damage := range map[string]map[string][]byte{
		"a copy of the next":        {"11": text["12"]},
		"a copy of the one before":  {"11": text["10"]},
		"two swapped":               {"10": text["11"], "11": text["10"]},
		"emptied":                   {"11": []byte("v1")},
		"the last emptied":          {"12": []byte("v1")},
		"compact without an end":    {"9.compact": compact[:bytes.LastIndexByte(compact, '\n')]},
		"compact without its begin": {"9.compact": append([]byte("v1"), compact[bytes.IndexByte(compact[3:], '\n')+3:]...)},
		"a new one, copied":         {"13": text["12"]},
	} {
		own := mem.New()
		for key, data := range text {
			must0(t, own.Put(t.Context(), key, data))
		}
		must0(t, r.openOn(own))
		for key, data := range damage {
			must0(t, own.Put(t.Context(), key, data))
		}
		if err := r.openOn(own); !errcode.Has(err, errcode.SeenLogDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestConfigurationFaultsAreListedAtOnce(t *testing.T) {
	_, err := New(Config{SettleAge: -1, MaxInflation: -1})
	for _, want := range []string{"store and format", "root", "settle", "max_inflation"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %s", err, want)
		}
	}
}

func TestTenThousandFilesArePlannedFast(t *testing.T) {
	r := newRig(t)
	store := mem.New()
	for i := range 10_000 {
		must0(t, store.Put(t.Context(), fmt.Sprintf("day=%02d/part-%05d", i%30, i), []byte("x\n")))
	}
	r.config.Store, r.config.Root = store, "s3://bucket/in"
	began := time.Now()
	rows, at, n := r.all(r.start(), "", sources.Limit{Files: 100})
	if n != 100 || len(rows) != 10_000 {
		t.Error(n, len(rows))
	}
	s := r.start()
	if got := r.plan(s, at, sources.Limit{}); got != at {
		t.Error(got)
	}
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("took %s", took)
	}
}
