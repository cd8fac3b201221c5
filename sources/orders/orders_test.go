package orders

import (
	"context"

	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/google/go-cmp/cmp"

	"microbatch/ident"
	"microbatch/sources"
)

func newSource(t *testing.T, config Config) *Source {
	t.Helper()
	alloc := memory.NewCheckedAllocator(memory.DefaultAllocator)
	t.Cleanup(func() { alloc.AssertSize(t, 0) })
	config.Alloc = alloc
	s, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// rows reads a range as one text a row, in the order of the splits.
func rows(t *testing.T, s *Source, from, to ident.Offset, want int) []string {
	t.Helper()
	splits, err := s.Splits(t.Context(), from, to, nil, want)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	var covered int64
	for _, split := range splits {
		for chunk, err := range split.Records(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			for i := range int(chunk.Record.NumRows()) {
				var cells []string
				for _, column := range chunk.Record.Columns() {
					cells = append(cells, column.ValueStr(i))
				}
				all = append(all, strings.Join(cells, "|"))
			}
			chunk.Release()
		}
		p := split.Reached()
		covered += p.Units[0].Covered
		if p.Units[0].Want != int64(number(t, to)-number(t, from)) {
			t.Errorf("want %d units, not the range", p.Units[0].Want)
		}
	}
	if covered != int64(len(all)) {
		t.Errorf("%d rows, but %d covered", len(all), covered)
	}
	return all
}

func number(t *testing.T, o ident.Offset) int64 {
	n, err := parseOffset(o)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestAnyRangeInAnyNumberOfSplitsIsTheSameEvents(t *testing.T) {
	s := newSource(t, Config{Total: 50_000, Seed: 7})
	whole := rows(t, s, "", "50000", 1)
	if d := cmp.Diff(whole, rows(t, s, "0", "50000", 4)); d != "" {
		t.Error(d)
	}
	var pieces []string
	for _, cut := range [][2]ident.Offset{{"0", "33"}, {"33", "20001"}, {"20001", "50000"}} {
		pieces = append(pieces, rows(t, s, cut[0], cut[1], 3)...)
	}
	if d := cmp.Diff(whole, pieces); d != "" {
		t.Error(d)
	}
	if other := rows(t, newSource(t, Config{Total: 10, Seed: 8}), "", "10", 1); cmp.Equal(other, whole[:10]) {
		t.Error("another seed gives the same events")
	}
}

func TestExpectIsWhatTheEventsComeTo(t *testing.T) {
	for _, n := range []int64{0, 1, 60, 99, 100, 12_345} {
		s := newSource(t, Config{Total: n + 1, Seed: 3})
		var got Expected
		ids := map[string]bool{}
		for _, split := range must(s.Splits(t.Context(), "0", formatOffset(n), nil, 2)) {
			for chunk, err := range split.Records(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				count(chunk.Record, &got, ids)
				chunk.Release()
			}
		}
		want := Expect(3, n)
		got.Orders, got.Duplicates, got.Late = int64(len(ids)), got.Events-int64(len(ids)), want.Late
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%d events (-want +got):\n%s", n, d)
		}
	}
}

func count(r arrow.RecordBatch, x *Expected, ids map[string]bool) {
	for i := range int(r.NumRows()) {
		cents := int64(r.Column(4).(*array.Decimal128).Value(i).LowBits())
		x.Events++
		x.Cents += cents
		if id := r.Column(0).ValueStr(i); !ids[id] {
			ids[id] = true
			x.OrderCents += cents
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestOneInAHundredIsADuplicateAndTwoAreLate(t *testing.T) {
	x := Expect(1, 100_000)
	if x.Duplicates != 1000 || x.Late < 2000 || x.Late > 3000 {
		t.Errorf("%+v", x)
	}
	g := newGenerator(1)
	for b := range int64(1000) {
		l := g.layout(b)
		i := b*block + l.duplicate
		d, o := g.at(i, l), g.at(b*block+l.original, l)
		d.duplicate = false
		if d != o {
			t.Fatalf("event %d repeats %+v as %+v", i, o, d)
		}
		if l.lateA == l.lateB || !g.at(b*block+l.lateA, l).late {
			t.Fatalf("block %d: layout %+v", b, l)
		}
	}
}

func TestEventsBecomeAvailableAtThePace(t *testing.T) {
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	s := newSource(t, Config{RowsPerSecond: 100, Total: 1000, Now: func() time.Time { return now }})
	plan := func(from ident.Offset, limit sources.Limit) sources.Planned {
		return must(s.Plan(context.Background(), from, limit))
	}
	if p := plan("", sources.Limit{}); p.To != "100" {
		t.Errorf("first second: %+v", p)
	}
	if p := plan("100", sources.Limit{}); p.To != "100" {
		t.Errorf("nothing new: %+v", p)
	}
	now = now.Add(3 * time.Second)
	if p := plan("100", sources.Limit{Rows: 250}); p.To != "350" || p.Behind != 50 || p.Available != "400" {
		t.Errorf("limited: %+v", p)
	}
	if err := s.Freeze(t.Context()); err != nil {
		t.Fatal(err)
	}
	if p := plan("350", sources.Limit{}); p.To != "1000" {
		t.Errorf("a run that stops when it has caught up generates everything: %+v", p)
	}
	if p := plan("1000", sources.Limit{}); p.To != "1000" {
		t.Errorf("the end: %+v", p)
	}
}

func TestAnEndlessSourceFreezesAtWhatIsAvailable(t *testing.T) {
	s := newSource(t, Config{RowsPerSecond: 10})
	if err := s.Freeze(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := must(s.Plan(t.Context(), "5000", sources.Limit{}))
	if p.To != "5010" {
		t.Errorf("%+v", p)
	}
	if p = must(s.Plan(t.Context(), p.To, sources.Limit{})); p.To != "5010" {
		t.Errorf("passed the end: %+v", p)
	}
}

func TestConfigurationFaultsAreListedAtOnce(t *testing.T) {
	_, err := New(Config{RowsPerSecond: -1, Total: -1})
	if err == nil || !strings.Contains(err.Error(), "rows_per_second") || !strings.Contains(err.Error(), "total") {
		t.Error(err)
	}
	if _, err := New(Config{}); err == nil {
		t.Error("endless at once was accepted")
	}
}

func TestAForeignOffsetIsRefused(t *testing.T) {
	s := newSource(t, Config{Total: 1})
	for _, bad := range []ident.Offset{`{"orders":{"0":1}}`, "-1", "007", "x"} {
		if _, err := s.Plan(t.Context(), bad, sources.Limit{}); err == nil || !strings.Contains(err.Error(), "MB2108") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func BenchmarkOrders(b *testing.B) {
	g := newGenerator(1)
	c := newColumns(g, 0, Schema(), memory.DefaultAllocator)
	defer c.release()
	b.SetBytes(8192)
	for i := 0; b.Loop(); i++ {
		c.record(int64(i)*8192, int64(i+1)*8192).Release()
	}
}
