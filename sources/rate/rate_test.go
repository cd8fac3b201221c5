package rate

import (
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"microbatch/ident"
	"microbatch/objstore"
	"microbatch/objstore/mem"
	"microbatch/sources"
)

var start = time.UnixMilli(1_700_000_000_123)

// clock is a settable time.
type clock struct{ now time.Time }

func newSource(t *testing.T, own objstore.Store, c *clock, rows int64) *Source {
	t.Helper()
	alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
	t.Cleanup(func() { alloc.AssertSize(t, 0) })
	s, err := New(Config{RowsPerSecond: rows, Alloc: alloc, Now: func() time.Time { return c.now }})
	must(t, err)
	must(t, s.Open(t.Context(), own))
	must(t, s.Pin(t.Context()))
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type row struct{ Millis, Value int64 }

func read(t *testing.T, s *Source, from, to ident.Offset, want int) (rows []row) {
	t.Helper()
	splits, err := s.Splits(t.Context(), from, to, nil, want)
	must(t, err)
	var covered int64
	for _, split := range splits {
		for chunk, err := range split.Records(t.Context()) {
			must(t, err)
			ts, value := chunk.Record.Column(0).(*array.Timestamp), chunk.Record.Column(1).(*array.Int64)
			for i := range ts.Len() {
				rows = append(rows, row{int64(ts.Value(i)) / 1000, value.Value(i)})
			}
			chunk.Release()
		}
		covered += split.Reached().Units[0].Covered
	}
	if covered != splits[0].Reached().Units[0].Want || covered != int64(len(rows)) {
		t.Errorf("covered %d of %d rows", covered, len(rows))
	}
	return rows
}

func TestRowsAreAFunctionOfTheOffset(t *testing.T) {
	c := &clock{start}
	s := newSource(t, mem.New(), c, 3)
	ms := start.UnixMilli()
	want := []row{{ms + 1000, 3}, {ms + 1333, 4}, {ms + 1667, 5}, {ms + 2000, 6}, {ms + 2333, 7}, {ms + 2667, 8}}
	if d := cmp.Diff(want, read(t, s, "1", "3", 2)); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(want[3:], read(t, s, "2", "3", 1)); d != "" {
		t.Error(d)
	}
}

func TestAnyNumberOfSplitsGivesTheSameRows(t *testing.T) {
	s := newSource(t, mem.New(), &clock{start}, 100_001)
	whole := read(t, s, "", "5", 1)
	if d := cmp.Diff(whole, read(t, s, "0", "5", 7)); d != "" {
		t.Error(d)
	}
	if len(whole) != 500_005 || whole[500_004].Value != 500_004 {
		t.Error(len(whole))
	}
}

func TestTheStartIsPinnedAsSparkDoes(t *testing.T) {
	own, c := mem.New(), &clock{start}
	first := read(t, newSource(t, own, c, 10), "", "2", 1)
	data, err := own.Get(t.Context(), "0")
	must(t, err)
	if string(data) != "v1\n1700000000123" {
		t.Errorf("%q", data)
	}
	c.now = start.Add(time.Hour)
	if d := cmp.Diff(first, read(t, newSource(t, own, c, 10), "", "2", 1)); d != "" {
		t.Error(d)
	}
}

func TestOfTwoDriversThatStartAtOnceTheFirstPinCounts(t *testing.T) {
	own := mem.New()
	late, err := New(Config{RowsPerSecond: 10})
	must(t, err)
	must(t, late.Open(t.Context(), own))
	newSource(t, own, &clock{start}, 10)
	must(t, late.Pin(t.Context()))
	if got := read(t, late, "", "1", 1)[0].Millis; got != start.UnixMilli() {
		t.Error(got)
	}
}

func TestPlansTakeWholeSecondsWithinTheLimits(t *testing.T) {
	c := &clock{start}
	s := newSource(t, mem.New(), c, 10)
	plan := func(from ident.Offset, limit sources.Limit) sources.Planned {
		p, err := s.Plan(t.Context(), from, limit)
		must(t, err)
		return p
	}
	if p := plan("", sources.Limit{}); p.To != "" {
		t.Error("before the first second:", p)
	}
	c.now = start.Add(10_999 * time.Millisecond)
	if p := plan("", sources.Limit{Rows: 35}); p.To != "3" || p.Available != "10" || p.Rows != 30 || p.Behind != 70 {
		t.Errorf("%+v", p)
	}
	if p := plan("3", sources.Limit{Rows: 5}); p.To != "4" {
		t.Error("at least one second:", p)
	}
	must(t, s.Freeze(t.Context()))
	c.now = start.Add(time.Hour)
	if p := plan("4", sources.Limit{}); p.To != "10" {
		t.Error("passed the end:", p)
	}
	c.now = start.Add(-time.Hour)
	if p := plan("20", sources.Limit{}); p.To != "20" {
		t.Error("went back:", p)
	}
}

func TestForeignOffsetsAndADamagedPinAreRefused(t *testing.T) {
	own := mem.New()
	s := newSource(t, own, &clock{start}, 10)
	for _, bad := range []ident.Offset{`{"logOffset":1}`, "-1", "01", "99999999999999999"} {
		if _, err := s.Plan(t.Context(), bad, sources.Limit{}); err == nil || !strings.Contains(err.Error(), "MB2108") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	for _, bad := range []string{"", "v2\n1", "v1\nx", "v1"} {
		must(t, own.Put(t.Context(), "0", []byte(bad)))
		if err := s.Open(t.Context(), own); err == nil || !strings.Contains(err.Error(), "MB2110") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	if _, err := New(Config{}); err == nil {
		t.Error("no rows per second were accepted")
	}
}
